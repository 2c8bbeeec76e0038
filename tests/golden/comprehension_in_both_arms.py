# The two arms of a conditional expression are inlined comprehensions whose value a local gets.


def arms(p, q, r):
    v = [x for x in p] if p else [a for a in q]
    w = {x for x in p} if p else {a: 1 for a in q}
    u = [x for x in p] if p else [a for a in q] if q else [z for z in r]
    x = [x for x in p] if p else [x for x in q]
    while r:
        w = [x for x in p] or [a for a in q]
        u = [[y for y in x] if x else [k for k in x] for x in p] if p else [a for a in q]
    return v, w, u, x


def rows(p, q):
    try:
        w = [x for x in p] if p else [a for a in q]
    finally:
        x = [a for a in p] if p else [b for b in q]
    return w, x
