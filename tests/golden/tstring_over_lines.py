# python: >=3.14
# A field whose text has a string over several lines.
def f(a):
    x = t"{'''b
c'''}"
    x = t"{a + '''b
    c'''!r} d"
    return x
