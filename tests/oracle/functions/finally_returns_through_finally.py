def f():
    try:
        return
    finally:
        try:
            return
        finally:
            ev(30)
