# A test in `finally` whose copy before the return is turned round, and so is what it tests first.
def turned_below(x, y, q):
    try:
        x()
        return q
    finally:
        if x:
            y(1)
        elif (y.ok or not x) and y:
            y(2)
