# Assertions with and without a message.
def f(a, b):
    assert a
    assert a, 'message'
    assert a == b, (a, b)
    assert a and b
    assert a or b, f'{a}'
    assert not a
    assert not (a and b), a
    return a
