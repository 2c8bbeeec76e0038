# python: >=3.10
# A loop's test with a constant arm, whose copy at the loop's end is several tests.
def called(p, x):
    while True if p else x.n():
        x.m()


def in_loop(p, q, x):
    for i in x:
        while True if q else p.a:
            q()
            if i:
                continue
            p()
        x()
