# the loop's copy ends in front of the `return`, which stands in the protected code
def in_a_branch(a):
    try:
        a.x()
        if a:
            return 1
    finally:
        while a.y():
            a.z()
    a.w()


def in_a_handler(a):
    try:
        try:
            a.x()
        except KeyError:
            return 1
        a.b()
    finally:
        while a.y():
            a.z()
    a.w()


def with_more_behind_the_loop(a):
    try:
        a.x()
        if a:
            return 1
    finally:
        while a.y():
            a.z()
        a.c()
    a.w()
