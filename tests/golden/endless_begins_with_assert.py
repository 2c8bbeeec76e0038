# assert begins an endless loop, which break leaves out of a with.
def a(x):
    while True:
        assert x
        if x.a:
            break
        x.b()
    x.e()


def c(x):
    while True:
        assert x
        if x.a:
            with x.b as y:
                break
    x.e()


def d(x):
    while True:
        x.t()
        if x.a:
            try:
                with x.b as y:
                    break
            finally:
                x.d()
    x.e()
