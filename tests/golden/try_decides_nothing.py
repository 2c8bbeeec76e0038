# A test in a handler that makes no difference is no part of the handler's type.
def decides_nothing(a):
    try:
        a()
    except ValueError:
        if a.error():
            pass
    except:
        pass
