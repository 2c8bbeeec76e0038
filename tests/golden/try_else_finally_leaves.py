# `try … except … else … finally` whose handlers all leave: up to 3.10 the rows of `try` tell that it
# is one statement.
def leaves_loop(xs, log):
    for x in xs:
        try:
            v = x()
        except ValueError:
            continue
        except KeyError as e:
            log(e)
            break
        else:
            log(v)
            log(1)
        finally:
            log('f')
        log(x)


def returns(f):
    try:
        x = f()
    except ValueError:
        return None
    except KeyError:
        raise RuntimeError
    else:
        x.commit()
        f.send(x)
    finally:
        f.close()
    return x


def returns_value(f):
    try:
        x = f()
    except ValueError:
        return 1
    else:
        return x.commit()
    finally:
        f.close()


def one_statement(f):
    try:
        f()
    except ValueError:
        f(1)
    finally:
        f(2)


# if <3.11
def nested(f):
    try:
        try:
            f()
        except ValueError:
            f(1)
    finally:
        f(2)


def nested_and_more(f):
    try:
        try:
            x = f()
        except ValueError:
            return 1
        x.commit()
        f.send(x)
    finally:
        f(2)
# end
