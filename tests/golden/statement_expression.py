# Expressions whose value is dropped.
def f(a):
    a
    a.b
    a[0]
    a + 1
    a()
    a < 1
    -a
    [a]
    a if a() else a.b
    a and a()
    a or a()
    [b for b in a]
