def f():
    for x in it(14):
        while ev(1):
            try:
                ev(3)
            finally:
                ev(2)
                break
        ev(21)
        return 35
