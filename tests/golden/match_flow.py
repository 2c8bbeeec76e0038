# python: >=3.10
# Match statements with loops, `try` and other statements around and inside them.
def f(items):
    while True:
        match items:
            case [1, *_]:
                items = g(items)
            case {'a': {'b': c}}:
                try:
                    c()
                except ValueError:
                    pass
            case _:
                return items


def g(x, y):
    match x:
        case 'a':
            r = 1
        case 'b' | 'c':
            r = 2
        case 'd' if y:
            r = 3
        case _:
            raise ValueError(x)
    return r


def h(x):
    match x:
        case [a, b]:
            match a:
                case 1:
                    print(b)
                case 2:
                    print(a)
        case int():
            for i in range(x):
                print(i)
        case _:
            while x:
                x = g(x, 1)
    print('end')
