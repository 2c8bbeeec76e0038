# python: >=3.11
# Which of two strings is passed, or which value is in one: columns tell.
def f(x, z):
    print(f'{x if x else z}')


def g(x, z):
    return f'{x}' if x else f'{z!r}'


def h(x, z):
    return len(f'a{x if x else z}b')


print(f'{x}' if x else f'{z}')
