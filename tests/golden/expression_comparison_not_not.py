# python: >=3.13
# The compiler leaves out `not not` where a comparison's result is made a bool by the comparison itself.
def f(a, b):
    g(not not a == b)
    x = not not a < b
    not not a < b
    if a == b:
        return not not a >= b
    return not not a < b < x
