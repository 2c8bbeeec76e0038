def f():
    try:
        try:
            try:
                ev(7)
            except E1:
                ev(8)
            else:
                return
            ev(99)
        except E1:
            ev(23)
    except E2:
        ev(24)
    else:
        return 1
