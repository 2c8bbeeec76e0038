def f():
    try:
        ev(99)
    except E1:
        try:
            ev(99)
        finally:
            return ev(18)
