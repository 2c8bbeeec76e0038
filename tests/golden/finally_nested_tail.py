# python: >=3.8
def f(self):
    try:
        if self.a:
            self.a()
    finally:
        self.x()
        try:
            del self.y
        except AttributeError:
            pass
        try:
            if self.b and not self.c:
                self.b()
        finally:
            if self.c:
                try:
                    self.d()
                except OSError:
                    pass
            self.e = False
