# python: >=3.11
# except* (PEP 654).
def f(a):
    try:
        a()
    except* ValueError:
        print(1)
    except* (KeyError, IndexError) as group:
        print(group.exceptions)
    try:
        a()
    except* ValueError as group:
        raise
    else:
        print(2)
    finally:
        print(3)
