# What stands behind a loop and is reached from its middle alone.
def wave(self):
    while True:
        self.a = 1
        try:
            chunk = f()
        except EOFError:
            break
        if chunk == 1:
            self.b()
        elif chunk == 2:
            self.c()
            break
        chunk.skip()
    if self.d and self.e:
        raise ValueError


def f(a):
    for x in a:
        if x:
            x.b()
            break
        if x.c:
            x.d()
            break
    else:
        return None
    a.c()
    return a.f


def g(a):
    while True:
        x = a.b()
        if x.c:
            x.d()
        if x:
            break
        a.c()
    for y in x:
        if y:
            raise ValueError
    return x.b


def decode(a):
    try:
        while True:
            b = a.readline()
            if not b:
                raise ValueError
            if len(b) == 3:
                try:
                    int(b, 8)
                    break
                except ValueError:
                    pass
        if a:
            a = b
        print(b)
    finally:
        a.close()
    return b


def types(*args):
    a = b = False
    for s in args:
        if isinstance(s, str):
            a = True
        elif isinstance(s, bytes):
            b = True
        else:
            raise TypeError(s)
    if a and b:
        raise TypeError


def appended(variants, cmd):
    if variants:
        for v in variants:
            path = which(v)
            if path:
                cmd = [path]
                break
        else:
            if len(variants) > 1:
                raise RuntimeError(1)
            raise RuntimeError(2)
        opts = {1: [1]}
        cmd.extend(opts)
    a()


def two_loops(source, items):
    while True:
        prefix = None
        for item in items:
            if not item:
                break
            if prefix is None:
                prefix = item[0]
            elif item[0] != prefix:
                break
        else:
            for item in items:
                del item[0]
            subpattern.append(prefix)
            continue
        break
    set = []
    for item in items:
        set.extend(av)
    return subpattern


def moved(self, data):
    if self._pending_start is not None:
        args, self._pending_start = self._pending_start, None
        qname_text = data if data and _looks_like_prefix_name(data) else None
        self._start(*args, qname_text)
        if qname_text is not None:
            self.a()
