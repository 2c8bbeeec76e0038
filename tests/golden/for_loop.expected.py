# a `return None` at the end of a function is the same bytecode as none
def plain(a):
    for x in a:
        print(x)


def broken(a):
    for x in a:
        if x:
            break
    return x


def continued(a):
    for x in a:
        if not x:
            continue
        print(x)
        if x > 1:
            print('big')


def with_else(a):
    for x in a:
        if x:
            break
    else:
        return None
    return x


def returning(a):
    for x in a:
        if x:
            return x


def targets(a):
    for i, (b, c) in enumerate(a):
        print(i, b, c)
    for a.x in a:
        pass
    for a[0] in a:
        pass
