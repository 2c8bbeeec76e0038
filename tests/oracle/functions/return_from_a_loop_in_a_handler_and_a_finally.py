def f():
    try:
        ev(2)
    except:
        try:
            for x in it(33):
                return 5
        except E2 as e:
            pass
        return ev(10)
    finally:
        ev(12)
