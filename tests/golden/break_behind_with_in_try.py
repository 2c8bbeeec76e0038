# break behind a with, in a try with a finally, in a loop.
def a(x):
    while x.t:
        try:
            with x:
                x.a()
            break
        except E:
            x.b()
        finally:
            x.c()
        x.d()
    x.e()


def e(x):
    while x.t:
        try:
            with x:
                x.a()
            x.z()
            break
        except E:
            x.b()
        finally:
            x.c()
        x.d()
    x.e()


def f(x):
    for y in x.t:
        try:
            with x:
                x.a()
            break
        except E:
            x.b()
        finally:
            x.c()
        x.d()
    x.e()
