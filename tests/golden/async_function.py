# Coroutines and await.
async def f(a):
    await a
    x = await a()
    return await x + await a


async def g(a):
    if await a:
        return [await a, *await a]
    await (await a)
