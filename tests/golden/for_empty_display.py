# A loop over an empty display that does nothing: no comprehension, whose collection would be the display.
for y in {}:
    pass


class C:
    for y in {}:
        pass


def f(q):
    for y in {}:
        pass
    return {y for q.x in {}}


async def g():
    async for x in []:
        pass
    async for x in {}:
        pass
# if >=3.12


class G[T]:
    for y in {}:
        pass
# end
