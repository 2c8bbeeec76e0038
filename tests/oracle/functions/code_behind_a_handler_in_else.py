def f():
    if ev(20):
        ev(22)
    else:
        try:
            return ev(24)
        except (E1, E2):
            ev(26)
        ev(28)
        return
    raise E3()
