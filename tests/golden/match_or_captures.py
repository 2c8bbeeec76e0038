# python: >=3.10
# Alternatives with captures, and further tests of the pattern behind them.
def f(v):
    match v:
        case [{'k0': c} | [c], []]:
            print(c)
        case P(k0=Q(k0=d) | [d], k1=0):
            print(d)
        case {'a': [x, y] | {'x': x, 'y': y}, 'b': [[*_, z], 0 | 1]}:
            print(x, y, z)
