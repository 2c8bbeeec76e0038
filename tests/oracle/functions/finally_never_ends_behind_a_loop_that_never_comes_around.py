def f():
    try:
        while ev(1):
            break
        try:
            ev(99)
        except E2:
            ev(28)
    finally:
        try:
            return ev(50)
        finally:
            return ev(52)
