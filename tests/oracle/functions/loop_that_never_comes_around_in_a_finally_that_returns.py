def f():
    for x in it(75):
        try:
            while ev(1):
                try:
                    break
                except E2 as e:
                    pass
            else:
                return 1
            try:
                if ev(8):
                    pass
                return 4
            except E1:
                raise E2()
        finally:
            return ev(22)
    ev(23)
