# What a constant decides needs no value: both ways of the test before it lead to one place. In the middle of an
# expression that is no statement.
print('a' if DEBUG or True else None)
print(1, x.y(2) if a() and b or True else None)
print(f"{'a' if b or True else None}{c}", k=f'{d}e' if b or True else None)
print([e(x if a or True else None) for x in y if b or True])
print(lambda x: f(x + 1 if x.y or True else None))
print(1 if a < b < c or True else None, 2 if d(3 if e or True else None) or True else None)
print(1 if c and (b if a or True else None) else 5, c and (x if a or True else None))
print(1 if c else x if a or True else None)
a[1 if b or True else None:2] = c
a()[b if c or True else None] += d[1 if e or True else None]
# if <3.10
print(1 if not a or True else None, 1 if a and False else 2, 3 if (a or b) and False else 4)
# end
# if >=3.10
print(None if a and False else 2, None if (a or b) and False else 4)
# end
# if >=3.11
print([x if a or True else None, 1], [x, 1] if a or True else None)
# end


class Body(a, b if c or True else None, k=1 if d or True else None):
    x = str(1 if a or True else None)
    y, z = str(x), 1 if a or True else None


@decorate(1 if a or True else None)
def function(x, y=1 if a or True else None, *, z: int if a or True else None = 2):
    # if <3.10
    if not y:
        pass
    # end
    # if >=3.10
    if y:
        pass
    # end
    with x:
        y()
        # if <3.10
        if not y:
            pass
        # end
        # if >=3.10
        if y:
            pass
        # end
    x(y if z or True else None)
    raise x(z) from y if z or True else None


def generator(x):
    x((yield 1 if y or True else None))
    while x and (y if x.z or True else None):
        x(1)
    assert x, 1 if y or True else None
    try:
        return x()
    finally:
        # if <3.10
        if not y:
            pass
        # end
        # if >=3.10
        if y:
            pass
        # end
        x(1 if y or True else None)


def constant_arms(a, b, c, d):
    # if >=3.10
    a(b if (True if c is None else b) else None)
    for x in a:
        y = a(b, 1 if (True if c else b(x)) else d)
        a(y)
    # end
    a(b)
