def f():
    with cm(83):
        for x in it(8):
            return
    ev(50)
