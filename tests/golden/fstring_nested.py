# Formatted strings inside formatted strings.
def f(a, b):
    x = f"{f'{a}'}"
    x = f"{', '.join(f'{k}={v}' for k, v in a.items())}"
    x = f'''{a["it's"]}'''
    return x
