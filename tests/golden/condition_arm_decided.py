# python: >=3.10
# One way of a conditional expression in a condition has a constant half, so that it decides nothing.
x = p if (b if a else c and False) else q
x = p if (b and False if a else c) else q
x = f(z, p if (b if a else (c or d) and False) else q)
x = p if (b if a else (e if c else d) or True) else q


@first if (b if a else c and False) else second
def g():
    y()


if b if a else c and False:
    p
if a:
    if b:
        p
elif c:
    pass
y
