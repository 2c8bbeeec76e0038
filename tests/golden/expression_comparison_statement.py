# A chained comparison whose value nothing reads.
def in_blocks(a, b, c, d):
    for x in a:
        a < b() < c
    if a:
        a() < b in c
    else:
        a is b is c
    with a:
        a < b < c
    while b:
        a < b < c


def at_the_end(a, b, c):
    a < b < c


def longer_chains(a, b, c, d):
    for x in a:
        a < b() < c < d
    for x in a:
        x == a < b() in c is d
