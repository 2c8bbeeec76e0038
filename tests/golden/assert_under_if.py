# The exception of an `assert` has the row of the statement; conditions before it are those of an `if`.
def one(a):
    if a:
        assert a.b


def with_message(a, b):
    if a.kind:
        assert a.first(), (a, b)
    if a and b:
        assert a.second()
    if a:
        assert a.b or a.c, 'neither'


def on_one_row(a, b):
    assert not a or a.b
    assert not (a and b)
    assert a or b, 'none'


def in_a_loop(a):
    for b in a:
        if b:
            assert b.c and b.d
        print(b)


def with_else(a):
    if a:
        assert a.b
    else:
        print(a)
