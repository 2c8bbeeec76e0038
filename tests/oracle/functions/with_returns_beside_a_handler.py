def f():
    try:
        ev(5)
    except:
        ev(19)
    else:
        with cm(84):
            return 5
