# `break` leads out of the body of a `finally` in a loop that never comes around
def behind_the_statement(self):
    while True:
        try:
            self.x()
            if self:
                break
        finally:
            self.z()
        self.a()
        break
    self.c()


def behind_a_return(self):
    while True:
        try:
            self.x()
            if self:
                break
        finally:
            self.z()
        self.a()
        return
    self.b()


def in_a_loop(self):
    for a in self:
        while True:
            try:
                self.x()
                if self:
                    break
            finally:
                self.z()
            self.a()
            break
        self.d()
    self.c()
