# Raising again inside handlers.
def f(a):
    try:
        a()
    except ValueError:
        raise
    try:
        a()
    except ValueError as error:
        print(error)
        raise
    try:
        a()
    except:
        print(1)
        raise
    return a
