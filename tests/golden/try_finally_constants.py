# python: >=3.8
# Each way through a `try` with a `finally` returns a constant: rows tell which return follows it.
def none_behind(x):
    try:
        y = int(x)
    except LookupError:
        return 'lookup'
    finally:
        print('done')


def nothing_behind(x):
    try:
        x()
        return 'end'
    except LookupError:
        return 'lookup'
    finally:
        print('done')


def no_finally(x):
    try:
        y = int(x)
    except LookupError:
        return 2
    except ValueError:
        print(x)
        return 3
    return 4


def else_returns(x):
    try:
        y = int(x)
    except LookupError:
        print(x)
    else:
        return 1
    finally:
        print('done')
    return 4


def else_returns_2(x):
    try:
        y = int(x)
    except LookupError:
        print(x)
    except ValueError:
        return 2
    else:
        print(y)
        return 1
    finally:
        print('done')
    return 4


def for_finally(x):
    for i in x:
        try:
            y = int(i)
        except LookupError:
            return 'lookup'
        finally:
            print('done')
    return 'end'


def in_if(x):
    if x:
        try:
            y = int(x)
        except LookupError:
            return 'lookup'
        finally:
            print('done')
        return 'after'
    return 'end'


def bare(x):
    try:
        y = int(x)
    except:
        return False
    finally:
        x.close()
    return True


def long_finally(x):
    try:
        y = int(x)
    except OSError:
        return False
    finally:
        if x:
            x.close()
        else:
            x.stop()
    return True


def try_finally_inside(x, p, hs):
    try:
        try:
            hs[p] = 1
        finally:
            del hs[p]
    except LookupError:
        return 'lookup'
    finally:
        print('outer', hs)
    return 'end'


def return_in_finally_inside(x, p, hs):
    try:
        try:
            hs[p] = 1
        finally:
            del hs[p]
            if x:
                return 3
    except LookupError:
        return 'lookup'
    finally:
        print('outer', hs)
    return 'end'
# if >=3.10


def three_inside(x):
    try:
        if x:
            return 1
        y = int(x)
    except LookupError:
        return 2
    except ValueError:
        print(x)
        return 3
    finally:
        print('done')
    return 4
# end
# if >=3.11


def all_parts_inside(x, p, hs):
    try:
        try:
            hs[p] = 1
            if x:
                return 1
        except OSError as e:
            print(e)
            return None
        else:
            if p:
                raise LookupError
        finally:
            del hs[p]
    except LookupError:
        return 'lookup'
    finally:
        print('outer', hs)
    return 'end'
# end
