# Ladder on 3.7.
def f():
    with cm(85), cm(7):
        try:
            ev(12)
        finally:
            return
