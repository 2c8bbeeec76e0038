class C:
    if x:
        y = 1
    assert False, 'text'


if z:
    y = 2
assert False
