# python: >=3.10
# `continue` behind a compound statement: its row, and its columns from 3.11 on, tell of it.
# if >=3.11
def break_then_continue(xs):
    errors = []
    for x in xs:
        if x is None:
            errors.append(x)
            if len(errors) > 2:
                break
            continue
        print(x)
        print(x + 1)
    return errors


# end
def loop_then_continue(xs):
    for x in xs:
        if x is None:
            for y in x:
                print(y)
            continue
        print(x)


def if_then_continue(xs):
    for x in xs:
        if x is None:
            if x.q:
                print(x)
            continue
        print(x)


def arms_then_continue(xs):
    for x in xs:
        if x is None:
            if x.q:
                print(x)
            elif x.r:
                print(1)
            else:
                print(2)
            continue
        print(x)


def with_then_continue(xs):
    for x in xs:
        if x is None:
            with x:
                print(x)
            continue
        print(x)


# if >=3.12
def try_then_continue(xs):
    for x in xs:
        if x is None:
            try:
                print(x)
            except ValueError:
                print(2)
            continue
        print(x)


# end
def while_then_continue(xs):
    while xs:
        if xs.a:
            while xs.b:
                xs.b()
            continue
        print(xs)


def both(xs):
    for x in xs:
        if x:
            if x.q:
                print(x)
            continue
        if x.a:
            for y in x:
                if y:
                    break
            else:
                print(1)
            continue
# if >=3.11
        if x.b:
            if x.q:
                raise ValueError
            continue
# end
        print(x)


def no_continue(xs):
    for x in xs:
        if x is None:
            if x.q:
                print(x)
        else:
            print(x)
        if x.b:
            if x.q:
                print(1)
        else:
            for y in x:
                print(y)


def joined(xs):
    for x in xs:
        if x.a or x.b:
            continue
        if x.c and x.d:
            continue
        print(x)


# if >=3.11
def else_continue(xs):
    for x in xs:
        if x.a:
            if x.b:
                break
            else:
                continue
        elif x.c:
            x.d()
    print(xs)
# end
