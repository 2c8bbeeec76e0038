# the `return` of a `finally` leaves the `with` statements around it
def call_and_return(a):
    with a, a:
        try:
            a.x()
        finally:
            a.z()
            return 0
    a.y()


def statement_and_return(a):
    with a:
        try:
            a.x()
        finally:
            for b in a:
                a.z()
            return 0
    a.y()
