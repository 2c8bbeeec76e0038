# python: >=3.10
# A match right behind one whose cases all leave: no `case _` stands between them.
def f(p, q):
    match p:
        case {3: x}:
            return x
    match q:
        case {1024: x}:
            return x


def g(p, q):
    match p:
        case [x]:
            return x
        case _ if q:
            return q
    match q:
        case P(x=x) | [x]:
            return x


def h(p, q):
    for x in p:
        match x:
            case [p]:
                continue
        match q:
            case [q, x, *_]:
                continue
        print(x)
