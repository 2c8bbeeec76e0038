# A dictionary display as the keyword arguments of a call is no list of keywords.
def f(self, a, defaults, kwargs):
    a(**{'x': 1, **kwargs})
    a(**{**defaults, **kwargs})
    a(x=1, **kwargs)
    a(**defaults, **kwargs)
    a(**{**kwargs})
    a(*self, **{'x': 1, **kwargs})
