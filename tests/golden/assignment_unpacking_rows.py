# python: >=3.13
# Two stores to one variable in a row: on one row the first of them is dropped, on rows of their own it is not.
def on_rows(self, x):
    (
        self.a,
        _,
        _,
        self.b,
    ) = x


def on_one_row(self, x):
    self.a, _, _, self.b = x


def in_loops(x):
    for (
        a,
        _,
        _,
    ) in x:
        print(a)
    return [a for a, _, _ in x]


def in_comprehension(x):
    return [
        (number, address)
        for number, _, _, _, address in read_addresses(x, family=x.family, kind=x.stream, more=x)
    ]
