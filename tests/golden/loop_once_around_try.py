# A loop that never comes around, left by `break` out of a statement in front of its end.
def f(a):
    for i in a:
        if a():
            try:
                if b():
                    break
            except E as t:
                pass
        c()
        break
    return d()


def g(a):
    while True:
        if a():
            try:
                if b():
                    break
            except E as t:
                log(t)
        c()
        break
    for i in d:
        e()


def without_try(a):
    while True:
        if a():
            x()
            if b():
                break
            y()
        c()
        break
    for i in d:
        e()


while True:
    if a():
        try:
            if b():
                break
        except E as t:
            log(t)
    c()
    break
d()
