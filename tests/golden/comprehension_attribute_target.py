def plain(q, a):
    r = [q.x + 1 for q.x in a]
    return r, sorted(locals())


def several(q, a, b):
    print({q.x for q.x in a if q.x}, {q[0]: 1 for q[0] in a if q[0] and b})
    return [[y for y in b] for q.x in a], [[q.y for q.y in b] for x in a]


def nested(q, a, b):
    return [[q.y for q.y in q.x] for q.x in a]


def two(q, a):
    return f(a, [q.x for q.x in a for q.y in q.x if q.y or q.x])


class C:
    f = lambda self: [self.c for self.c in ()]
    g = [f.x for f.x in ()]


[C.a for C.a in ()]
