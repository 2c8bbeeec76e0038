def f():
    try:
        ev(27)
    finally:
        ev(28)
    try:
        pass
    except E2:
        pass
    finally:
        ev(31)
