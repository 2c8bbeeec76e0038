# python: <3.9
# `break` and `continue` behind a `try` and in its `else`: the compiler leads the jumps that end its parts past them.
def else_break(items):
    for item in items:
        try:
            x = f(item)
        except KeyError:
            pass
        else:
            break
    else:
        x = None
    return x


def while_else_break(f):
    n = 0
    while True:
        try:
            x = f()
        except KeyError:
            n += 1
            if n >= 10:
                raise
        else:
            break
    return x


def break_in_body(f):
    n = 0
    while True:
        try:
            x = f()
            break
        except KeyError:
            n += 1
            if n >= 10:
                raise
    return x


def several(self):
    while True:
        try:
            x = self.f()
        except KeyError as e:
            if self.z:
                self.o += 1
                continue
        except ValueError as e:
            if self.z:
                self.o += 2
                continue
            if self.o == 0:
                raise A(str(e))
        except OSError:
            if self.o == 0:
                raise A('e')
        break
    return x


def handler_continue(paths):
    for p in paths:
        try:
            d = open(p)
        except OSError as e:
            if p:
                g(e)
            continue
        try:
            if d:
                h(d)
        finally:
            close(d)


def bare(f):
    while True:
        try:
            f()
        except:
            g()
        else:
            break
    h()


def bare_nested(f):
    while True:
        try:
            f()
        except:
            try:
                u()
            except A:
                v()
        else:
            break
    h()


def with_break(f):
    for x in f:
        with x:
            f()
        break
    h()
# if ==3.7


def break_behind(f):
    n = 0
    while True:
        try:
            x = f()
        except KeyError:
            n += 1
            if n >= 10:
                continue
            raise
        break
    return x


def break_for_behind(items):
    for item in items:
        try:
            x = f(item)
        except KeyError:
            print(item)
            continue
        break
    return x


def else_continue(f):
    while True:
        try:
            f()
        except A:
            try:
                g()
            except:
                h()
                stop()
            else:
                continue
# end
