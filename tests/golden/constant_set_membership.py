# A set or list of constants after `in` becomes a constant; the source form comes back.
def f(a):
    if a in {1, 2, 3}:
        return 1
    if a not in {'x', 'y'}:
        return 2
    return [b for b in a if b in {None}]
