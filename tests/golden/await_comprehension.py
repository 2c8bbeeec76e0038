# A comprehension that is awaited, as well as those that are awaited because they are asynchronous.
async def f(q):
    await [k for k in q]
    return await {k: k for k in q}, 1


async def g(q):
    await [k async for k in q]
    return [k async for k in q], await {k async for k in q}
