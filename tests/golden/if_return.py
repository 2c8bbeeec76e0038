# Branches that leave the function.
def early(a, b):
    if a:
        return 1
    if b:
        return 2
    return 3


def chain(a):
    if a == 1:
        return 'one'
    if a == 2:
        print(a)
        return 'two'
    print('many')


def guard(a):
    if not a:
        return
    print(a)


def raising(a):
    if a is None:
        raise ValueError
    return a
