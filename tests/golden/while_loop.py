# while with break, continue and else.
def plain(a):
    while a:
        a = a.next


def broken(a):
    while a:
        if a.x:
            break
        a = a.next
    return a


def continued(a):
    while a:
        a = a.next
        if a.skip:
            continue
        print(a)


def with_else(a):
    while a:
        if a.x:
            break
        a = a.next
    else:
        print('none')
    return a
