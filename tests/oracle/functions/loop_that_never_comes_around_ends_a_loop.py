def f():
    for x in it(72):
        while ev(8):
            break
