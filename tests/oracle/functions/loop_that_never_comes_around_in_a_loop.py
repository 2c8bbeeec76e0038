def f():
    for x in it(39):
        if ev(5):
            while ev(6):
                break
        ev(19)
