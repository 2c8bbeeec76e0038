# with and try around each other.
def f(a):
    try:
        with a as b:
            b()
    except ValueError as error:
        print(error)
    with a as b:
        try:
            b()
        finally:
            print(1)
    return a
