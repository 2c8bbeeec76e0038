# python: >=3.10
# What follows an `if` whose other branches leave: its rows are behind theirs.
def tail(self):
    if self.s == 'b':
        self.s = 'c'
    else:
        raise ValueError
    self.f()
    return self


def no_return(self):
    if self.s == 'b':
        self.s = 'c'
    else:
        raise ValueError
    self.f()


def in_loop(self):
    for x in self:
        if x:
            print(x)
        else:
            raise ValueError
        self.f()


def chain_2(self):
    if self.s == 'a':
        x = 1
    elif self.s == 'b':
        return 2
    elif self.s == 'c':
        raise TypeError
    else:
        raise ValueError
    return x


def with_if(self):
    if self.a:
        x = 1
        if self.b:
            x = 2
    else:
        raise ValueError
    return x


def no_else(self):
    if self.s == 'a':
        x = 1
    elif self.s == 'b':
        raise TypeError
    print(x)
    return x
# if >=3.11


def chain(self):
    if self.s == 'a':
        return None
    elif self.s == 'b':
        self.s = 'c'
    else:
        raise ValueError
    for x in self:
        print(x)
    return self


def inside(self):
    if self:
        print(1)
        return self
    else:
        raise ValueError
# end
