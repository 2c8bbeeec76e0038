def break_behind_if(items, manager):
    for item in items:
        with manager:
            if item:
                g()
            break
    try:
        h()
    except E:
        pass


def then_plain_code(items, manager):
    for item in items:
        with manager:
            if item:
                g()
            break
    h()
    print(2)


def in_while(items, manager):
    while items:
        with manager:
            if item:
                g()
            break
    try:
        h()
    except E:
        pass


def behind_inner_loop(items, manager):
    for item in items:
        with manager as x, other:
            while x:
                g()
            break
    try:
        h()
    except E:
        pass


def behind_branches(items, manager):
    for item in items:
        with manager:
            if item:
                g()
            else:
                k()
            break
    else:
        l()
    h()


def of_two_managers(items, manager, other):
    for item in items:
        with manager, other:
            if item:
                g()
            break
    try:
        h()
    except E:
        pass


def in_inner_with(items, manager, other):
    for item in items:
        with manager:
            k()
            with other:
                if item:
                    g()
                break
    try:
        h()
    except E:
        pass


def continue_behind_if(items, manager):
    for item in items:
        with manager:
            if item:
                g()
            continue
        k()
    h()


async def asynchronous(items, manager):
    for item in items:
        async with manager:
            if item:
                g()
            break
    h()


def in_try(items, manager):
    for item in items:
        try:
            with manager:
                if item:
                    g()
                break
        except E:
            k()
    h()


def in_finally(source, manager, other):
    try:
        source.open()
    except KeyError as error:
        try:
            print(1)
        except ValueError:
            print(2)
        else:
            return source
        finally:
            with manager(1), other(3) as item:
                print(item)
    finally:
        print(3)
