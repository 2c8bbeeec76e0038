# raise in its three forms.
def f(a, b):
    if a == 1:
        raise
    if a == 2:
        raise ValueError
    if a == 3:
        raise ValueError('message')
    if a == 4:
        raise ValueError from b
    if a == 5:
        raise ValueError(a) from None
    raise b
