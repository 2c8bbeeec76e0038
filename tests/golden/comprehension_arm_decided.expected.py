def decided(p, q):
    v = (
        [x for x in p]
    )
    return v
