# python: <=3.9
# what leaves a `finally` or `with` around it stands where it was written, by its offset
def leaves_loop(self):
    while True:
        try:
            with self.open() as f:
                f.write()
        except OSError:
            self.stop += 1
        else:
            break
        finally:
            self.count = None
        self.z()
    self.last()


def behind_the_handlers(self, f):
    try:
        with f:
            try:
                f.send()
            except OSError:
                return False
            return True
    finally:
        if self is not None:
            self.close()


def behind_finally(self):
    for f in self:
        try:
            f.send()
        except OSError:
            raise ValueError
        finally:
            self.close()
        break
    self.last()


def in_the_body(self, f):
    with f:
        try:
            f.send()
            return True
        except OSError:
            return False
