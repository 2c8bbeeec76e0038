# python: >=3.12
# A comprehension without variables of its own, and without an element that is ever made.
def f(q, a):
    return [None for q.x in a if False], {None: None for q.x in a if False}
