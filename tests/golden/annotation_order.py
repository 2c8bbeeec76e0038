# python: >=3.14
# Annotations in every kind of block keep their place, which decides their order.
if a:
    b: int
elif c:
    b: str
else:
    d: int = 2
e: int
while a:
    f: int
    if f:
        break
    g: int
try:
    h: int
finally:
    i: int
    j: int = 4
k: int


class C:
    x: int
    if a:
        y: int
    z: int = 1
    for i in b:
        w: str = 'a'
    v: int
    with a as c:
        u: int
        t: int = 4
    s: int

    class D:
        n: int
        try:
            m: int
        except E:
            k: int
        else:
            j: int
        finally:
            i: int
        l: int

    if not a:
        r: int
    else:
        q: int
    match a:
        case 1:
            o: int
        case [p]:
            o2: int
    if True:
        always: int
    if False:
        never: int
    __private: int = 5


class Loop:
    for i in a:
        try:
            x: int
            if b:
                break
            y: int
        finally:
            z: int
    last: list[lambda: 4]
