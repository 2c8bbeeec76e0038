# A `with` that is all of a loop, and ends in a loop of its own and `break`.
def for_loop(lock, items):
    while True:
        with lock:
            for item in items:
                item.run()
            break
    return items


def while_loop(lock, items):
    while True:
        with lock:
            while items:
                items.pop()()
            break
    return items


def in_for(lock, items):
    for item in items:
        with lock:
            for each in item:
                each.run()
            break
    return items
