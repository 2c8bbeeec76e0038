# python: >=3.9
def below(a):
    if (1 / a <= 1) == 2:
        assert False, 'always'
    a.b()


def behind(a, b):
    if a:
        b()
    else:
        assert a.b, 'message'
        b.a()
