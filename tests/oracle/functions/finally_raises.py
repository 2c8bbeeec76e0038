def f():
    try:
        with cm(73):
            return
        ev(36)
    finally:
        raise E3()
