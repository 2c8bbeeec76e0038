# 3.12+: the compiler drops the inner statement's protection from one copy of the outer body, not
# from the other. Ladder.
def f():
    try:
        ev(2)
    finally:
        try:
            pass
        except E2:
            ev(99)
        finally:
            ev(10)
