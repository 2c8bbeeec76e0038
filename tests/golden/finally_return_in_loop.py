# Returns out of a loop and out of its `else`, through a `finally`: their copies look the same.
def constants(xs, code, p, r):
    try:
        for x in xs:
            if x:
                return False
            if code:
                break
        else:
            return False
    finally:
        try:
            p()
        except Exception:
            pass
    return r


def plain(xs, code, p, r):
    try:
        for x in xs:
            if x:
                return False
            if code:
                break
        else:
            return False
    finally:
        p()
    return r


def after_statements(xs, code, p, r):
    result = True
    try:
        for x in xs:
            if x.a is not None:
                p(1)
                return False
            found = code()
            if found and x.b:
                break
        else:
            p(2)
            return False
        if all(y for _, y in found):
            p(3)
        else:
            result = False
            p(4)
    finally:
        try:
            p.f()
            p.g()
        except Exception:
            pass
    return result
