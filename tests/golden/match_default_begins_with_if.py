# python: >=3.10
# The body of a last `case _` begins with an `if` and goes on: its test is no guard.
def in_loop(items, g):
    for item in items:
        match item:
            case {'k': 1}:
                pass
            case _:
                if g(item):
                    g(1)
                g(2)
        g(3)


def in_handler(v, total, x):
    try:
        raise x
    except ValueError as e:
        match v:
            case {'k': key, **rest}:
                pass
            case _:
                if x:
                    print(x)
                elif v and total:
                    print(v)
                else:
                    print(e)
                total += x
        return total


def in_with(item, g):
    with g:
        match item:
            case [x, y]:
                print(x, y)
            case 1 | 2 as x:
                print(x)
            case _:
                if g(item) and item:
                    g(1)
                g(2)
        g(3)


def guard_of_last(item, g):
    match item:
        case [x, y]:
            print(x, y)
        case _ if g(item):
            g(1)
    g(3)
