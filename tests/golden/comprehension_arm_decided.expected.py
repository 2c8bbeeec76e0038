def decided(p, q):
    v = (
        [x for x in p]
    )
    p(v)
    return v
