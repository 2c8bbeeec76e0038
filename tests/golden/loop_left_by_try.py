# A loop that never loops: `break` in a `try` leads past what the handlers go on with.
def after_test(x, y):
    while x:
        try:
            y(1)
            break
        except KeyError:
            pass
        y(2)
        break
    y(3)


def endless(x, y):
    while True:
        try:
            y(1)
            break
        except KeyError:
            pass
        y(2)
        break
    y(3)


def handler_breaks(x, y):
    while x:
        try:
            y(1)
            break
        except KeyError:
            if y(4):
                break
        y(2)
        break
    y(3)


def in_with(x, y):
    with x:
        while x:
            try:
                y(1)
                break
            except KeyError:
                pass
            y(2)
            break
        y(3)
