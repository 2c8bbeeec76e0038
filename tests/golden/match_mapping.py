# python: >=3.10
# Mapping patterns.
def f(a):
    match a:
        case {'x': 1}:
            return 1
        case {'x': x, 'y': y}:
            return x, y
        case {'k': k, **rest}:
            return k, rest
        case {1: [x, {'n': n}]}:
            return x, n
        case {}:
            return 0
