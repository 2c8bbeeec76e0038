def f():
    try:
        for x in it(8):
            try:
                ev(13)
                return 1
            except E1:
                break
    except E2 as e:
        pass
    else:
        ev(33)
