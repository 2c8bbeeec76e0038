# async with.
async def f(a):
    async with a:
        print(1)
    async with a as b:
        await b
    async with a as b, a() as c:
        print(b, c)
    async with a as b:
        return b
