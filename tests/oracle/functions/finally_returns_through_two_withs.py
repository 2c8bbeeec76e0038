def f():
    with cm(96):
        with cm(65):
            try:
                ev(5)
            finally:
                return ev(13)
