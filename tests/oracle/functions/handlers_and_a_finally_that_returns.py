def f():
    try:
        ev(23)
    except E1:
        ev(24)
    try:
        ev(99)
    finally:
        return
