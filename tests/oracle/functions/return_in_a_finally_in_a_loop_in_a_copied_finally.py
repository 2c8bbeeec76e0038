def f():
    try:
        try:
            pass
        finally:
            ev(9)
    finally:
        for x in it(2):
            try:
                pass
            finally:
                try:
                    ev(38)
                    return 2
                finally:
                    pass
            try:
                pass
            except E1:
                pass
