# python: ==3.8
# the body of the `with` also ends in front of a `break`: both leave a loop that never comes around
def leaves(self):
    while True:
        with self:
            self.x()
            if self:
                break
            self.w()
        break
    self.y()


def inside(self):
    while self:
        while True:
            with self:
                self.x()
                if self:
                    break
                self.w()
            break
        self.z()
    self.y()
