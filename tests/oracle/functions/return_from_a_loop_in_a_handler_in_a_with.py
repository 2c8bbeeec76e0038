def f():
    with cm(87) as x:
        try:
            ev(8)
        except:
            while ev(12):
                try:
                    ev(15)
                    return 6
                except:
                    pass
        ev(19)
