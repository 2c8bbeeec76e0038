def f():
    try:
        for x in it(72):
            try:
                raise E3()
            except E2:
                return 0
            except E1:
                pass
            ev(4)
    except (E1, E2):
        pass
