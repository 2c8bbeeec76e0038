def f():
    try:
        for x in it(76):
            with cm(44) as x:
                return ev(9)
            if ev(3):
                pass
    finally:
        return 4
