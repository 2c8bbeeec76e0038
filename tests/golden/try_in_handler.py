# A try statement as all that a handler does; returns out of several statements at once.
def run(self):
    try:
        self.a()
    except ValueError:
        self.b()
    except:
        try:
            self.c()
        except:
            self.close()
            raise


def f(self, values):
    try:
        return values[-1]
    except TypeError:
        for v in reversed(values):
            try:
                return v + 1
            except TypeError:
                pass
        return self


def g(a, b):
    if a == 1:
        try:
            d = dir(b)
        except ValueError:
            return None
    elif a == 2:
        try:
            d = dir(a)
        except ValueError:
            return None
    else:
        d = list(b)
    return d[1]


# if <=3.9
def pass_in_handler(a, b):
    for x in a:
        try:
            x.close()
        except OSError as e:
            if e.args:
                pass
            elif not b:
                raise
# end
