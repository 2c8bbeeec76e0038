def f():
    try:
        while ev(11):
            return 7
    finally:
        for x in it(33):
            try:
                ev(15)
            finally:
                break
