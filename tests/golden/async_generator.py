# Asynchronous generators.
async def f(a):
    yield 1
    x = yield a
    async for y in a:
        yield y
    await x
