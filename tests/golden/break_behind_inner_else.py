# What stands behind an inner loop is no part of it: its iterator is dropped first.
def behind(outer, inner):
    for x in outer:
        for y in inner(x):
            if y:
                print('inner', y)
                break
        else:
            continue
        print('after', x)
        break


def returns(outer, inner):
    for x in outer:
        for y in inner(x):
            if y:
                print('inner', y)
                break
        else:
            continue
        print('after', x)
        return 3
