# python: >=3.9
# A loop over one item is an assignment, which the variable of a condition that is never met follows.
class C:
    y = (b for a in x for b in [y] if False)


def f():
    return [b for a in x for b in [y] if False], {c: c for a in x if a for c in [y] if False}
