# What stands in a finally: a try statement that completes by its handler alone; code that never completes.
def handler_completes():
    for x in it():
        try:
            ev(1)
        finally:
            try:
                ev(2)
            except E2:
                ev(3)
            else:
                ev(5)
                break
        ev(6)
    ev(23)


def never_completes():
    try:
        ev(1)
    except E2:
        if ev(9):
            ev(8)
        ev(10)
    finally:
        try:
            ev(11)
        finally:
            raise E2()


def loop_inside():
    try:
        while ev(1):
            ev(2)
        ev(3)
    finally:
        ev(4)


def loop_around():
    while True:
        try:
            if not ev(1):
                ev(2)
        finally:
            ev(3)
