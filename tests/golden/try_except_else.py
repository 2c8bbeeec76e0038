# else after handlers.
def f(a):
    try:
        x = a()
    except ValueError:
        x = None
    else:
        x += 1
    try:
        a()
    except ValueError as error:
        raise RuntimeError from error
    else:
        print(x)
    return x
