# python: >=3.8
# Jumps out of a finally body, of which 3.14 warns (PEP 765).
def f():
    try:
        a()
    finally:
        c()
        return 1


def g(items):
    for item in items:
        try:
            a(item)
        finally:
            c()
            break
    b()


def h(items):
    for item in items:
        try:
            a(item)
        finally:
            c()
            continue
