# A loop that is left by `return`, and code behind it: no `break` with all the rest in an `else`.
def one(xs):
    for x in xs:
        if x.y:
            return
    z()


def several(xs):
    for x in xs:
        if x.y:
            w()
            return
        if x.z:
            return
    z()


def in_while(xs):
    while xs:
        if x.y:
            w()
            return
        if x.z:
            return
    z()


# if >=3.10
def cases(node):
    for value in node.values:
        match value:
            case A(left=B()) | C():
                return
            case E():
                pass
            case _:
                return
    z(x)
# end


# if >=3.10
def in_nested_if(self):
    if self.p is not None:
        w(self)
        if self.c():
            return
        self.r()
        if self.t is not None:
            self.s = 1
        self.k()
# end
