# python: >=3.11
# How far apart two operands stand on a row tells `not (a or b)` from `not a and not b`.
def around(a, b, c):
    if not (a.first or b.first):
        print(a)
    if not (a and b and c):
        print(b)
    if a and not (b.first or c.first):
        print(c)
    assert not (a or b)


def each(a, b, c):
    if not a.first and not b.first:
        print(a)
    if not a or not b or not c:
        print(b)
    if a and not b.first and not c.first:
        print(c)
    assert not a and not b
