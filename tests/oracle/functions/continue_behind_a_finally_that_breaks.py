def f():
    for x in it(3):
        try:
            ev(1)
        finally:
            while ev(2):
                ev(3)
            try:
                break
            except E2:
                break
        ev(4)
