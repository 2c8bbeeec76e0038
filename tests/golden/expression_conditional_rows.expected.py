# python: >=3.8
def method_calls(self):
    return g.point.create() if self.empty else super().create()


def loads(self):
    return g.point.create if self.empty and self.plain else super().create


def arms_of_a_statement(self):
    if self.empty:
        return g.point.create()
    return super().create()
