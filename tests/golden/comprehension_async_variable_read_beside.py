async def f(x, b):
    [b async for y in x(lambda: y)]
    a = {b async for q, r in x(lambda: (q, r))}
    return [[b async for s in x(lambda: s)] async for z in a(lambda: z)]


def g(x, b):
    [b for y, q in x(lambda: y, lambda: q)]
    return [b for y in x(lambda: y)]
