def handlers_behind_an_inner_loop(a, x):
    for y in a:
        while True:
            x = a.c(y)
            if x is None:
                break
        try:
            a.d(x)
        except ValueError as e:
            a.d(x, e)


def finally_behind_an_inner_loop(a, x):
    for y in a:
        while True:
            x = a.c(y)
            if x is None:
                break
        try:
            a.d(x)
        except ValueError:
            a.e(x)
        finally:
            a.close()
