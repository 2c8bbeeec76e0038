# Tries again until it works: the cleanup begins with a loop which begins with a `try`.
def after_a_call(q):
    try:
        f(q)
    finally:
        x()
        while True:
            try:
                q.put(1)
                break
            except Full:
                pass


def at_once(q):
    try:
        f(q)
    finally:
        while True:
            try:
                q.put(1)
                break
            except Full:
                pass
