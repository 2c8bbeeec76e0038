# python: >=3.14
# bytecode does not tell which quotes were used
def f(a, b):
    x = t"{t'{a}'}"
    x = t"outer {t'inner {a!s} of {b}'} end"
    x = t"{f'{a}'} and {a['key']}"
    x = f"{t'{a:{b}}'!r}"
    x = t"{[t'{y}' for y in a]}"
    x = t'''{f'{t"{a}"}'}'''
    return x
