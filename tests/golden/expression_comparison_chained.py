# Chained comparisons, as values and as conditions.
def value(a, b, c, d):
    x = a < b < c
    y = a < b <= c != d
    return 0 <= x < y


def condition(a, b, c):
    if a < b < c:
        print(a)
    if not a < b < c:
        print(b)
    while a <= b() < c:
        print(c)
    if a < b < c and b == c == a:
        print('both')
    return a if a < b < c else c
