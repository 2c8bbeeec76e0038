def f():
    try:
        ev(1)
    except E2:
        try:
            ev(7)
            return
        except E1:
            ev(16)
        else:
            ev(98)
    ev(99)
