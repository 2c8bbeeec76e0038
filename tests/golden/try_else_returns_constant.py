def handler_goes_on(source):
    try:
        fetch(source)
    except OSError:
        print(1)
    else:
        return True


def returns_behind(source):
    try:
        fetch(source)
    except OSError:
        print(1)
    else:
        return True
    return False


def stands_behind(source):
    try:
        fetch(source)
    except OSError:
        return False
    return True


def in_loop(source):
    for item in source:
        try:
            fetch(item)
        except OSError:
            print(1)
        else:
            return
    print(2)


def before_the_handlers(source):
    try:
        fetch(source)
        return True
    except OSError:
        return False


def before_longer_handlers(source):
    open(source)
    try:
        fetch(source)
        return True
    except OSError as error:
        print(error)
        return None
