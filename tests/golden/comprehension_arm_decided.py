# python: >=3.12
# The compiler takes one arm and stores behind the variables: only another row keeps that.
def decided(p, q):
    v = [x for x in p] if 1 else q
    p(v)
    return v
