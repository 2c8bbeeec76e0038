# python: >=3.15
# Unpacking in comprehensions (PEP 798).
def f(a):
    x = [*y for y in a]
    x = {*y for y in a}
    x = {**y for y in a}
    return x


# In a generator the items are yielded by a loop of their own, without a variable.
def g(a, b):
    x = (*y for y in a)
    x = (*b(y) for y in a if y for z in y)
    x = (z for y in a for z in y)
    return list(*y for y in x)


async def h(a):
    return (*y async for y in a)
