# python: >=3.12
# A comprehension without variables of its own is inlined with no handler, here as an operand.
def f(b, a, box):
    x = a if b else [None for box.v in a]
    g(x)


def h(b, a, box):
    x = b or {None for box.v in a}
    y = [1 for box[0] in a] if b else x
    return g(x, y, b and {1: 2 for box.v in x})
