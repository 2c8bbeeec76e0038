def tried(items, f):
    for x in items():
        if f():
            f(x)
        break
    try:
        f(items)
    except ValueError:
        f(x)
    f.close()


def otherwise(items, f):
    try:
        for x in items():
            break
    except ValueError:
        f(items)
    else:
        return x
    f(f)


def first(items, f):
    if f(1):
        for x in items():
            f(x)
# if <=3.7
        else:
            return f(2)
# end
# if >=3.8
        return f(2)
# end
    f(3)
    return f(4)
