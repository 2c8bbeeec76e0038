# Statements with ends of their own in the body of a finally, before a return or another try.
def two_managers(a, b):
    try:
        a()
    finally:
        with a.lock as x, b.lock:
            b(x)
    try:
        b()
    finally:
        b.close()


def returns_in_a_handler(a):
    try:
        try:
            a.read()
        except ValueError:
            return a.error()
        finally:
            try:
                a.close()
            except KeyError as e:
                a.log(e)
    except:
        a.clear()
