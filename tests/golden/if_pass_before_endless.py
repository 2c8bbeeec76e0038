# A jump of `pass` is one statement, whichever operand of the condition leads to it.
def f(x):
    if x.a and (x.b or x.c):
        pass
    else:
        x.p = None
    while True:
        x.d()


def g(x):
    while x:
        if x.a and (x.b or x.c) or x.d:
            pass
        else:
            x.p = None
        x.e()
