# python: >=3.10
# Or-patterns whose last alternative takes anything, alone and before further parts of the pattern.
def f(v):
    match v:
        case [x] | x:
            print(x)


def g(v):
    match v:
        case {'x': x} | x:
            print(x)


def h(v):
    match v:
        case [0 | _, 1, [2] | None | _]:
            print(1)
        case 0 | _:
            print(v)


def i(v):
    match v:
        case [0 | [1] | _, *_, 1] if x:
            f()
        case [[y] | y, 2] if y:
            g(y)
        case 0 | _:
            h()
