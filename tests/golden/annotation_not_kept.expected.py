# python: >=3.14
x.y: ... = 2
x.z = 3


class C:
    a: int
    if a:
        x[1]: ... = 3
    else:
        x[2] = 4
