# Several returns out of one try statement with finally.
def f(a):
    try:
        if a == 0:
            return a.pack(1, 2)
        for x in a:
            if x == 1:
                break
            if x:
                return x
        return a.pack(3)
    finally:
        a.restore()
