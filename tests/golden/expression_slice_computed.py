# python: >=3.14
# A slice of literals is a constant, one of a number that was computed is not.
def f(s):
    return s[:240], s[:+24], s[-1:], s[1:2:3]
