# None, True, False and Ellipsis.
def f(a=None, b=True, *, c=False):
    x = ...
    x = None
    if a is None or b is True or c is not False:
        return None
    return ...
