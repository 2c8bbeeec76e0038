def f():
    for x in it(14):
        while ev(1):
            try:
                if ev(2):
                    ev(3)
            finally:
                try:
                    raise E3()
                except:
                    break
        try:
            ev(21)
        finally:
            return ev(35)
