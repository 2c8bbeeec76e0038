def f():
    while ev(1):
        with cm(99) as x:
            with cm(65), cm(7):
                if ev(2):
                    ev(3)
                break
        return 1
    ev(4)
