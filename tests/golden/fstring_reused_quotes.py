# python: >=3.12
# Since 3.12 an expression may hold any quote and backslashes.
def f(a):
    x = f"{'\n'.join(a)}"
    x = f'''{a['x']} {a["it's"]}'''
    return x
