# python: >=3.11
# except* (PEP 654).
def f(a):
    try:
        a()
    except* ValueError:
        print(1)
    except* (KeyError, IndexError) as group:
        print(group.exceptions)
    try:
        a()
    except* ValueError as group:
        raise
    else:
        print(2)
    finally:
        print(3)


def empty(a):
    try:
        a()
    except* ValueError:
        pass
    except* TypeError as group:
        pass


def nested(a):
    try:
        try:
            a()
        except* ValueError as inner:
            print(inner)
        a.b()
    except* TypeError:
        try:
            a.c()
        except* OSError as group:
            for e in group.exceptions:
                print(e)
                if e:
                    break
        else:
            print(1)
    print(2)


def in_handler(a):
    try:
        a()
    except ValueError as e:
        try:
            a.b()
        except* TypeError:
            raise e


def in_loop(rows):
    for row in rows:
        try:
            if row.a:
                continue
            row()
        except* ValueError as group:
            if group.a:
                print(1)
            else:
                raise TypeError from group
        else:
            print(2)
    while rows:
        try:
            rows.pop()
        except* IndexError:
            print(3)


def returned(a):
    try:
        return a()
    except* ValueError as group:
        with a.b:
            print(group)
    return 1


async def awaited(a):
    try:
        await a
    except* await a.b() as group:
        await group


class C:
    try:
        a = 1
    except* ValueError as group:
        b = group


try:
    import d
except* ImportError as group:
    d = None
