# Of two stores to one local that follow each other, 3.12+ drops the first; 3.13+ also where the first ends an inner unpacking.


def loop(tokens):
    for kind, value, (line, _), _, _ in tokens:
        print(kind, value, line)


def assignment(x):
    a, (b, _), _, c = x
    (b, _), _ = x
    a, (_, _), _ = x
    ((a, _), _), _ = x
    (a, _), (_, b) = x
    (a, *_), *_ = x
    return a, b, c


def targets(x, o):
    o.x, (a, _), _, o.y = x
    with x as ((a, _), _):
        print(a)
    z = y = (a, _), _ = x
    return [a for (a, _), _ in x], z, y
