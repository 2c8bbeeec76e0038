# Leaving the function from every part of a try statement.
def body(a):
    try:
        return a()
    except ValueError:
        return None


def handler(a):
    try:
        x = a()
    except ValueError:
        return None
    return x


def cleanup(a):
    try:
        return a()
    finally:
        print(1)


def all_parts(a):
    try:
        if a:
            return 1
        x = a()
    except ValueError as error:
        print(error)
        return 2
    else:
        if x:
            return 3
    finally:
        print(4)
    return 5
