# The row of a `return None` or `continue` tells that it is written, and where.
# if !=3.10
def behind_handler(load):
    try:
        load()
    except OSError:
        log('lost')
    return None


# end
def in_handler(load):
    try:
        return load()
    except OSError as error:
        log(error)
        return None


def at_end_of_handler(load):
    try:
        load()
    except OSError:
        log('lost')


def behind_if(a):
    if a:
        return a.b
    return None


def nothing_behind_if(a):
    if a:
        a.b()
        return True


def behind_loop(items):
    for item in items:
        if item:
            return item
    return None


def behind_loop_of_constants(items):
    for item in items:
        if item:
            return 1
    return None


def continue_behind_statement(items):
    for item in items:
        if item.a:
            first(item)
            continue
        if item.b:
            second(item)
            continue
        third(item)


def arms(items):
    for item in items:
        if item.a:
            first(item)
        elif item.b:
            second(item)
        else:
            third(item)


def nothing_to_find(path):
    if not path:
        return
    if path.known:
        return path.value
    path.log()


def found_or_none(path):
    if not path:
        return None
    return path.value
