# python: >=3.10
# Where no case matches and control leaves the loop, a case of its own stands, when other bodies go on behind the statement.
def f(rs, s):
    if not rs:
        s.a()
    else:
        for r in rs:
            match r.value:
                case N(value=None) | None:
                    pass
# if ==3.10
                case _:
                    return
        s.b()
# end
# if >=3.11
                case _:
                    break
        else:
            s.b()
# end


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


def u(rs, s):
    for r in rs:
        match r:
            case 1 if s.x:
                s.a()
            case [2, y]:
                s.b(y)
            case _:
                break
        s.c()
    s.z()
