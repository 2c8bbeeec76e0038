def training(a, b, c):
    if not a.t == b.t == c.t:
        raise AssertionError('both must be in the same mode')
    print(a)


def verified(a, keys):
    public = a()
    for i in a:
        assert a.key() == public == keys[i] == a[2:]
        a.append(i)


def empty(s):
    return s is None or (not s.names if isinstance(s, Schema) else not s)


def dimensions(y, w):
    if w is None:
        x = 1
    else:
        if not (y.ndim == w.ndim == 1 and y.shape[0] == w.shape[0]):
            raise ValueError('must have one dimension')
        if any(w <= 0):
            raise ValueError('must be positive')
        x = 2
    return x


# if <=3.9
def natively(x):
    if iterable(x):
        for t in x:
            if t is masked:
                continue
            return isinstance(t, Number) and not isinstance(t, Decimal)
    else:
        return isinstance(x, Number) and not isinstance(x, Decimal)
# end
