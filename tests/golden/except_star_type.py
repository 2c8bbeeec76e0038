# python: >=3.11
# The type of a clause may have control flow inside.
try:
    a()
except* E if b else F as e:
    pass
try:
    a()
except* f(E if b else F):
    c
except* [k for k in b] or G as e:
    c(e)
except* H:
    pass


def in_function(a, b):
    try:
        a()
    except* a and f(b):
        pass
    except* tuple([k for k in b if k]) as e:
        f(e)
    except* H:
        b()
    return a
