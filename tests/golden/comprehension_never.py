# A condition that is never met: neither it nor the element is in the bytecode. The global is none of the comprehension's names.
def f(z):
    return sum(y for y in z if False)


def g(z):
    return list(y for x, y in z for y in x if False)


async def h(z):
    a = [y async for y in z if False]
    b = {None: None for x, y in z if False}
    return a, b, (c async for c in a if False)


def k():
    return {x: None for x in range(10)}, x
