# python: >=3.10
# What leads nowhere but out of the loop is a case of its own where other bodies go on to the loop's next turn.
def f(rs, s):
    if not rs:
        s.a()
    else:
        for r in rs:
            match r.value:
                case N(value=None) | None:
                    pass
                case _:
                    break
        else:
            s.b()


def g(rs, s):
    for r in rs:
        match r.value:
            case 1:
                pass
            case _:
                break
    else:
        s.b()
    s.c()


def m(rs, s):
    for r in rs:
        match r:
            case 1:
                s.a()
            case 2:
                s.b()
            case _:
                return s


def q(rs, s):
    for r in rs:
        match r:
            case 1:
                s.a()
            case 2:
                s.b()
            case 3:
                raise Y
            case _:
                raise X
    s.z()


def t(rs, s):
    for r in rs:
        try:
            match r:
                case 1:
                    s.a()
                case 2:
                    continue
                case _:
                    break
        finally:
            s.q()
        s.x()
    s.z()
