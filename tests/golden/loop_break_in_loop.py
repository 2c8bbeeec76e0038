# A loop that ends in `if …: break`, and after it a loop's test of its own: the jump tells where the
# inner loop ends.
def endless(c, w, x):
    for level in c:
        while True:
            if w.a and w.b:
                continue
            if w.d:
                break
        if not w.e:
            break
    if x:
        w.f()


def chained(c, w, x):
    for level in c:
        while True:
            if w.a:
                continue
            if x < w.d < x:
                break
        if not w.e:
            break
    w.f()


def short_end(c, w, x):
    for level in c:
        while True:
            if w.a:
                continue
            if x < w.d < x:
                break
        w.e()
    w.f()


def two_breaks(a, w):
    for x in a:
        for y in x:
            for z in y:
                if z.p:
                    break
                if z.q:
                    break
            else:
                continue
            if x.h:
                w.k()


def else_continues(a, w):
    for x in a:
        for y in x:
            for z in y:
                if z.p:
                    break
            else:
                continue
            if x.h:
                break
