# python: >=3.11
# What stands behind a match whose cases all leave begins left of the patterns: it is no `case _ if`.
def f(s, x):
    match s:
        case [] | [X.a]:
            return
    if x:
        g()


def h(s, x):
    while x:
        match s:
            case 1 | X.a:
                return 5
        if x:
            g()
