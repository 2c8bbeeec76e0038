# python: >=3.8
# A list that a constant chose: the compiler makes a tuple of one that stands there alone.
for w in [q] if True else None:
    pass
for w in [q, 1] if True else None:
    print(w)


async def f(q):
    async for w in [q]:
        print(w)
    for w in (q, 1):
        print(w)
