# what the end of a `finally` does with a value that was chosen: takes it apart, binds it twice
def chain(p, q):
    try:
        p()
    finally:
        y, x = p < q < 2
    p()


def chain_starred(p, q):
    try:
        p()
    finally:
        w, *x = p < q[3:] < 2


def bound_twice(p, q):
    try:
        p()
    finally:
        y = z = p < q < 2
    return y, z


def operands(p, q):
    try:
        p()
    finally:
        x, y = p and q < p() < 2


def conditional(p, q, z):
    try:
        p()
    finally:
        x, y = p if q else z()
    p()


def tested(p, q, z):
    try:
        p()
    finally:
        (x, y), p.z = w = z if p < q < 2 else 3
