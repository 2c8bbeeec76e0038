# python: >=3.10
# The compiler copies a body of one statement to each alternative where both are on one row.
def returns(e):
    match e:
        case int() | str(): return e
        case {'a': x} | {'b': x}: return x


def three(e):
    match e:
        case int() | str() | list(): return e.a


def raises(e):
    match e:
        case C() | D(): raise ValueError(e)
        case E(): return e
        case F(): return e


def inside(e):
    match e:
        case A(x=1) | B(y=[]): return e
        case [] | E(): return not e
        case A(x=int()) | B(y=str()) if e: return e


def in_a_loop(es):
    for e in es:
        match e:
            case int() | str(): return e
            case C() | D(): raise ValueError(e)
            case [] | {}: return e
