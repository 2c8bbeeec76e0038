# python: >=3.14
# Template strings.
def f(a, b):
    x = t''
    x = t'{a}'
    x = t'hello {a!r:>10} and {b}'
    x = t'{a + b:{a}}'
    return x
