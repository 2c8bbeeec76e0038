# python: >=3.14
# Template strings in template strings, f-strings in them and the reverse, with other quotes inside.
def f(a, b):
    x = t"{t'{a}'}"
    x = t"outer {t'inner {a!s} of {b}'} end"
    x = t"{f'{a}'} and {a['key']}"
    x = f"{t'{a:{b}}'!r}"
    x = t"{[t'{y}' for y in a]}"
    x = t"{f'{t"{a}"}'}"
    return x
