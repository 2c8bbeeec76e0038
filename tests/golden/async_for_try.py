# A try statement is all that the body of an async for holds.
async def f(c, x):
    async for i in c:
        try:
            c(x)
        except KeyError as e:
            x(e)
    x(c)


async def g(c, x):
    async for i in c:
        try:
            c(x)
        except KeyError:
            x(i)
        finally:
            x(c)
    x(c)
