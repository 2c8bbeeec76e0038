# del of every kind of target.
def f(a, b, c):
    del a
    del b.x
    del c[0]
    del c[1:2]
    del b
    del c
