# python: >=3.10
# The compiler turns the test round in one copy of the body, and copies the end of a choice in
# another.
def turned(a, resp):
    while a:
        try:
            a = b
        except E:
            break
        finally:
            if a and resp is not None:
                g()
    c()


def chosen(a, b, c, d):
    try:
        x = a
    finally:
        x = a and (c if b else d)
