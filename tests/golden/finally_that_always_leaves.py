# python: <3.9
# there the handler of `finally` is told from that of a bare `except`
def empty():
    try:
        pass
    finally:
        return 1


def at_once(a):
    try:
        a.x()
    finally:
        return 4


def with_break(a):
    for b in a:
        try:
            a.x()
        finally:
            break
    a.y()


def around_except(a):
    try:
        a.x()
    except KeyError:
        a.y()
    finally:
        return


def in_finally(a):
    try:
        a.x()
    finally:
        try:
            a.y()
        finally:
            return True


def in_with(a):
    with a:
        try:
            a.x()
        finally:
            return True


def bare_except(a):
    try:
        a.x()
        return 4
    except:
        return 4
