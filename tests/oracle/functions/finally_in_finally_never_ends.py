def f():
    try:
        try:
            ev(46)
        finally:
            return ev(47)
    finally:
        ev(99)
        return
