# python: >=3.14
# Several exceptions without brackets (PEP 758).
def f():
    try:
        a()
    except ValueError, TypeError:
        b()


def g():
    try:
        a()
    except* ValueError, TypeError:
        b()
