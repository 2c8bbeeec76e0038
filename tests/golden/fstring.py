# Formatted strings.
def f(a, b, width):
    x = f'{a}'
    x = f'a{a}b{b}c'
    x = f'{a!r}{a!s}{a!a}'
    x = f'{a:>10}'
    x = f'{a:{width}}'
    x = f'{a:{width}.{b}f}'
    x = f'{a!r:>{width}}'
    x = f'{a:{width:0}.{b!r:1}}'
    x = f'{{literal}} {a}'
    x = f"{a['key']}"
    x = f'{a.b.c(1)}'
    x = f'{a + b}'
    x = f'{(lambda x: x)(a)}'
    x = f'{a if b else width}'
    x = f'{ {a: b}[a]}'
    x = f'line\n{a}\ttab'
    return f"it's {a} o'clock"
