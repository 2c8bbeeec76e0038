# with of one item.
def f(a):
    with a:
        print(1)
    with a as b:
        print(b)
    with a() as b.c:
        pass
    with a as (b, c):
        print(b, c)
    print(2)


def returning(a):
    with a as b:
        return b


def conditional(a):
    with a as b:
        if b:
            return 1
    return 2
