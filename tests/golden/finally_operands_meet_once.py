# A short end is copied to both operands on one way out, and not on another one.
for i in x:
    try:
        g
    finally:
        (~(b if a else c),)
try:
    z
except E:
    if d:
        try:
            p
        finally:
            q if r else s
            (t,)
        x = e
if z:
    try:
        g
    finally:
        -h(b if a else c)
        y


def returned(y):
    try:
        try:
            p
        except E:
            return
        q
    finally:
        e
        x = (f if y else g,)
    a


def dropped(a, b, c, d, e):
    try:
        a //= f(1)
    finally:
        d or a < c is not b > e or d
        log(a)
    -e
