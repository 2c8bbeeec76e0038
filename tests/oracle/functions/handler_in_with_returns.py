def f():
    with cm(8):
        try:
            ev(2)
        except:
            return
    ev(19)
