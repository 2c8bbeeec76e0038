# python: ==3.8
# later versions do not tell it from a bare `except`, earlier ones do not have it
def in_for(a):
    for b in a:
        try:
            a.x()
        finally:
            continue
    a.z()


def in_while(a):
    while a.w():
        try:
            a.x()
        finally:
            continue
    a.z()


def or_break(a):
    for b in a:
        try:
            a.x()
        except KeyError:
            a.y()
        finally:
            if b:
                continue
            break
    a.z()
