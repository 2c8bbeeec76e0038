# async for in an exception handler, and code that follows the statement.
async def handled(a, b):
    try:
        a()
    except KeyError:
        async for x in b:
            print(x)
    print(a)


async def named(a, b):
    try:
        a()
    except KeyError as e:
        async for x in b:
            print(x, e)
    try:
        b()
    except ValueError as e:
        print(e)
    print(b)


async def in_loop(a, b):
    while a:
        try:
            a()
        except KeyError:
            async for x in b:
                if x:
                    break
            else:
                continue
            break
    print(a)


async def in_with(a, b):
    try:
        a()
    except KeyError:
        async with b:
            async for x in b:
                print(x)
    print(a)


async def in_finally(a, b):
    try:
        a()
    except KeyError as e:
        print(e)
    finally:
        try:
            b()
        except ValueError:
            async for x in b:
                print(x)
        print(a)


async def comprehension(a, b):
    try:
        a()
    except KeyError as e:
        x = [y async for y in b if y]
        print(x, e)
    print(a)


async def same_name(a, b):
    try:
        a()
    except KeyError as e:
        x = [x async for x in b if x]
    else:
        return {x async for x in b}
    finally:
        async for x in b:
            print(x)
    return x
