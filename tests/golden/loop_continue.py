# Where a `continue` was written is told by the line of its jump.
def skips(names):
    for name in names:
        if name == 'a':
            continue
        if name and '.' not in name and name not in names:
            names[name] = 1
            yield name


def guards(lines):
    while True:
        line = lines.pop()
        if not line:
            break
        if line.startswith('#') or line.isspace():
            continue
        if len(line) == 1:
            continue
        print(line)
    print('done')


def chained(values):
    for value in values:
        if not 0 < value < 1:
            continue
        print(value)
