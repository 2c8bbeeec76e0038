# Chained comparisons of constants, and of operands with control flow inside.
def called(a, b):
    print((1, 2) == (1, 2) != 3)
    print('a' < 'b' < a, 0 == 0 != a, a, 'a' in 'abc' in b)
    return not 1 < 2 < a


def compared(a, b, c):
    if b == 1 not in c == a:
        return 1
    while 0 == 0 != a:
        a = b()
    assert a < () < b < 3, a
    b < a in c is not a


def in_the_middle(a, b, c):
    x = a if a == 1 in (a or 3) not in 1 else b
    c(a, x=a not in b not in (a or 3) != a)
    return a and a < (a or 3) is a


def at_the_end(a, c):
    x = a < a != c == (1 if a else 2)
    return a and a >= c not in (1 if a else 2), x


def in_each_arm(a, b):
    x = a != (1, 2) in a if a else b != (1, 2) in (b or 3)


def raised(a):
    raise a is not a in (1 if a else 2) not in a


print((1, 2) == (1, 2) != 3)
