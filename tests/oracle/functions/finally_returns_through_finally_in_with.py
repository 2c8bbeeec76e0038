def f():
    with cm(28):
        try:
            ev(99)
        finally:
            try:
                return ev(36)
            finally:
                ev(38)
