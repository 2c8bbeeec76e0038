# python: >=3.11
# A format operation that the compiler turned into an f-string, beside f-strings.
def f(a, b):
    print('%s: %r' % (a, b), f'{a!s}: {b!r}')
    print('%s' % (a,), '%s' % a, f'{a!s}')
    print('%5s|%-5s|%.3s|%10.3r|%a%%' % (a, b, a, b, a))
    print(f'{a!s:>5}', f'{a!r:5}', f'{a}{b!a}%')
    return ['<%r>' % (c,) for c in a]
