# python: <3.9
# What stands behind a statement that never ends: up to 3.8 the compiler goes on there all the same.
def raises(err):
    if err is not None:
        try:
            raise err
        finally:
            err = None
    else:
        raise OSError('empty')


def loops(self, b):
    while True:
        try:
            return self.recv(b)
        except TimeoutError:
            self.timed_out = True
            raise


def accepts(self):
    try:
        conn, addr = self.accept()
    except TypeError:
        return None
    except OSError as why:
        if why.args[0] in self.errors:
            return None
        raise
    else:
        return conn, addr
