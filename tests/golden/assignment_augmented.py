# Every augmented operator on every kind of target.
def f(a, b):
    a += b
    a -= b
    a *= b
    a /= b
    a //= b
    a %= b
    a **= b
    a @= b
    a &= b
    a |= b
    a ^= b
    a <<= b
    a >>= b
    a.x += b
    a[b] += 1
    a[0][b] -= 1
    a.x.y |= b
    a[b:] += b
    return a
