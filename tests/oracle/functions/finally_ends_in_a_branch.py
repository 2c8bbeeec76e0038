def f():
    try:
        ev(37)
        return 4
    finally:
        if ev(47):
            ev(48)
