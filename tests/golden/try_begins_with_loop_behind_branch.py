# Several ways lead to a try that begins with a loop: the loop is in it.
def behind_try(a):
    try:
        begin()
    except Failed:
        pass
    try:
        while a:
            try:
                step()
            except Failed:
                break
            finally:
                end()
            rest()
        raise Failed(3)
    except Failed:
        pass


def behind_if(a):
    if begin():
        step()
    try:
        while a:
            try:
                step()
            except Failed:
                break
            rest()
        raise Failed(3)
    except Failed:
        pass


def in_a_loop(a, items):
    for item in items:
        if item:
            begin()
        try:
            while a:
                try:
                    step(item)
                except Failed:
                    break
                rest()
            end()
        except Failed:
            pass


def loop_is_around(a):
    if begin():
        step()
    while True:
        try:
            if a():
                step()
        except Failed:
            rest()
