# Both arms are the same: the test stays.
def f(model):
    map(lambda i: i if isinstance(i, model) else i)
    return lambda x: 1 if x else 1
