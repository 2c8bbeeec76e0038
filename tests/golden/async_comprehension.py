# Asynchronous comprehensions.
async def f(a):
    x = [y async for y in a]
    x = {y async for y in a if await y}
    x = {y: z async for y, z in a}
    x = [await y for y in a]
    x = (y async for y in a)
    return [y async for y in x if y]
