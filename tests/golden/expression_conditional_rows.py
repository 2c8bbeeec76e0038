# python: >=3.8
# Up to 3.9 the first arm's return is a copy on its own row, the other one stands on the statement's: no `if` is written like that.
def method_calls(self):
    return (
        g.point.create() if self.empty else super().create()
    )


def loads(self):
    return (
        g.point.create
        if self.empty and self.plain
        else super().create
    )


def arms_of_a_statement(self):
    if (
        self.empty
    ):
        return g.point.create()
    return super().create()
