# The opposite of `or` is written with `and`, unless a comparison would get a `not` in front of it.
def f(a, b, c):
    if not a and not b:
        print(1)
    if not a or not b.x:
        print(2)
    while not a() and b is not None:
        print(3)
    if not (a < b or c > a):
        print(4)
    if not (a == b and c):
        print(5)
    return [x for x in c if not x.y and not x.z]
