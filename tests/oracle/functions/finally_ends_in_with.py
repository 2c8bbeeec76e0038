def f():
    try:
        ev(14)
    except E2 as e:
        try:
            return ev(17)
        finally:
            with cm(90):
                pass
