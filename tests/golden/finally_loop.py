# python: >=3.9
def f(self):
    self.a()
    try:
        while True:
            self.b()
            if self.c:
                break
    finally:
        self.d()
    self.e()
