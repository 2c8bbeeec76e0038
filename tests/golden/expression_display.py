# Lists, sets, dictionaries and tuples.
def f(a, b):
    x = []
    x = [a]
    x = [a, b]
    x = {a}
    x = {a, b}
    x = {}
    x = {a: b}
    x = {a: b, b: a}
    x = {'a': a, 'b': b}
    x = ()
    x = (a,)
    x = (a, b)
    x = [1, 2, 3]
    x = {1, 2, 3}
    x = [[a], [b, [a]]]
    x = {'a': {'b': [a, (b, {a})]}}
    return a, b
