# python: >=3.10
def empty_body(a, b):
    if a == 1:
        pass
    elif a == 2:
        b = 2
    else:
        raise ValueError(a)
    return b


def break_in_else(items):
    while True:
        item = next(items)
        if item > 0:
            print(item)
        else:
            break
    print(items)


def continue_in_else(items):
    for item in items:
        if item > 0:
            item += 1
        elif item == 0:
            item -= 1
        else:
            continue
        print(item)


def returns_inside_with(lock):
    with lock:
        if lock.acquire(False):
            lock.release()
            return True
        return False


def handler(a):
    try:
        import b
    except ImportError as error:
        if error.name == 'b':
            pass
        else:
            raise
    print(a)


def guards(a, b):
    if a < b:
        return
    if not a.c:
        a.c = True
