# python: >=3.8
# A generator expression binds a variable of the function, which has a comprehension, too.
def first_match(line, patterns):
    if not any((m := p.match(line)) for p in patterns):
        return None
    return [g for g in m.groups() if g]


def read_behind(data):
    r = any((bad := i) < 0 for i in data)
    return [j for j in data], r, bad


def in_comprehension(rows):
    found = [any((hit := i) for i in row) for row in rows]
    return found, hit


def captured(data):
    any((bad := i) < 0 for i in data)
    return [i for i in data], lambda: bad


def set_by_two(data):
    any((bad := i) < 0 for i in data)
    all((bad := i) < 0 for i in data)
    return {i: i for i in data}, bad


def never_bound(data):
    if False:
        bad = None
    any(i < 0 for i in data)
    return [i for i in data], bad
