# python: >=3.8,<=3.9
# The last operator of the second row leaves from the first one and has its row.
def f():
    return (
        a
        and (b and not d)
        or c
    )


x = g(
    lambda n:
        n.isupper()
        and (n.a('SIG') and not n.b('SIG_'))
        or n.c('CTRL_'),
)
