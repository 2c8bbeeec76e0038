def f():
    while ev(1):
        try:
            ev(4)
        finally:
            with cm(48):
                break
            ev(7)
    ev(8)
