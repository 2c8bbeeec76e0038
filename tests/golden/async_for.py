# async for.
async def f(a):
    async for x in a:
        print(x)
    async for x in a():
        if x:
            break
        if x is None:
            continue
        await x
    else:
        print('end')
    async for x, y in a:
        return x
