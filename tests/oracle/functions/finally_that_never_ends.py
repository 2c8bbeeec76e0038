def f():
    for x in it(3):
        try:
            with cm(1):
                return 7
            ev(1)
        except E2:
            continue
        finally:
            return ev(2)
