# python: >=3.11
# The items of a constant have no columns of their own: those of the whole say nothing of a number's base.
def f(p, q):
    a = [1, 2, 256]
    b = {2, 4, 16}
    c = p[:4] + q[16:32]
    d = {1: p, 15: q}
    match p:
        case {3: x, 7: y}:
            return a, b, c, d, x, y
