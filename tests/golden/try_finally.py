# finally alone, and with handlers.
def f(a):
    try:
        a()
    finally:
        print(1)
    try:
        a()
    except ValueError:
        print(2)
    finally:
        print(3)
    try:
        a()
    except ValueError:
        print(4)
    else:
        print(5)
    finally:
        print(6)
    return a
