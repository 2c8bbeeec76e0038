def several_rows(s):
    if s.state in (1, 2):
        return False
    try:
        s.state = 1
        if s.h:
            return False
        s.f()
    finally:
        if s.store and s.keys and s.level == 2:
            s.d(3)
            s.release(4)
    s.g()
