# python: <=3.8
# up to 3.8 what stands behind a `raise` is in the bytecode
def else_of_try(self, E):
    try:
        raise E
    except KeyError as e:
        self.assertIsInstance(e.cause, E)
    else:
        self.fail('No exception raised')


def else_of_bare(self):
    try:
        raise
    except RuntimeError:
        pass
    else:
        self.fail('No exception raised')
    return self


def behind(a):
    a.first()
    raise ValueError(a) from None
    a.second()
    for b in a:
        raise b
        b.third()
    if a:
        raise a
        return 1
    return 2


def loop_raises(a):
    while a:
        raise a


def for_raises(a):
    for b in a:
        try:
            raise b
        except KeyError:
            continue
        print(b)
    return a


def cleanup(output):
    try:
        output.append(2)
    finally:
        output.append(4)
        try:
            output.append(5)
        finally:
            output.append(6)
            raise ZeroDivisionError
        output.append(7)
    output.append(8)


def manager(a):
    with a as b:
        raise b
        b()
    return a


def otherwise(a):
    for b in a:
        if b:
            raise b
        else:
            print(b)


def nothing(a):
    raise a


class Body:
    raise ValueError
    x = 1


def unbound(a):
    raise a
    b = 1
    return b


def nested(a):
    if a:
        raise a
        if a.b:
            raise a.b
        else:
            a.c()
    else:
        raise ValueError
