def f():
    try:
        ev(99)
    except E2 as e:
        try:
            ev(16)
        finally:
            return
