def f():
    try:
        raise E3()
    except E1:
        try:
            pass
        except E1:
            pass
        return 8
    finally:
        for x in it(73):
            try:
                ev(20)
                break
            except:
                pass
