# python: <3.11
# Lambdas and comprehensions that are equal but for their line stay on lines of their own, and the same one stays on one line.
def f(a, b):
    x = sum(1 for p in a) == sum(1 for p in a) == b
    y = g(
        lambda: 0,
        lambda: 0,
        lambda: 1,
    )
    z = {'a': lambda x: x, 'b': lambda x: x}
    z = {
        'a': lambda x: x,
        'b': lambda x: x,
    }
    assert (
        [q for q in a]
        or [q for q in a]
    )
    return h([v for v in b], k([v for v in a],
        [v for v in a]))


def g(kill_self_as_long_name, kill_another_long_name):
    return {'abc': lambda self: self.kill, 'def': lambda self: self.kill, 'ghi': lambda self: self.kill, 'z': 3}


def h(kill_self_as_long_name, kill_another_long_name):
    return a(lambda x: x)(
        lambda x: x,
    )
