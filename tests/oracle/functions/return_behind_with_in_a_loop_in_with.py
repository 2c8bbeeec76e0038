def f():
    with cm(18) as x:
        for x in it(73):
            with cm(99):
                pass
            return 2
    ev(8)
