# python: >=3.14
# `not x in y` is another operation than `x not in y`.
def f(names, kill, more):
    a = [n for n in names if not n in kill]
    b = [n for n in names if n not in kill]
    return [n for n in names if not g(n) in kill and n not in more]
