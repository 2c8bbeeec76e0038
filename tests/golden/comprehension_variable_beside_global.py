# What functions inside read is the global, not the variable of a comprehension beside them.
def f(x):
    log([a for iter in (x, 1)], iter, list(b for c in x if iter))
    return lambda: iter
