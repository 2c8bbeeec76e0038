# Returns out of loops in handlers, and parallel assignments before a condition.
def v1(self, value):
    try:
        a()
    except TypeError:
        for m in cls.x():
            if m.v == value:
                return None
    b()


def v2(self, value):
    try:
        a()
    except TypeError:
        for m in cls.x():
            if m.v == value:
                return None
    try:
        b()
    except TypeError:
        c()


def v3(self, value):
    try:
        a()
    except TypeError:
        for m in cls.x():
            if m.v == value:
                return 1
    try:
        b()
    except TypeError:
        c()


def v4(self, value):
    try:
        if value:
            return None
        a()
    except TypeError:
        for m in cls.x():
            if m.v == value:
                return None
    b()


def v5(self, value):
    try:
        if value:
            return None
    except TypeError:
        for m in cls.x():
            if m.v == value:
                return None
    b()


def v6(self, value):
    try:
        if value:
            return None
    except TypeError:
        for m in cls.x():
            m.x()
    b()


def v7(self, value):
    try:
        if value:
            if m:
                raise E
            return None
    except TypeError:
        for m in cls.x():
            if m.v == value:
                if m:
                    raise E
                return None
    b()


def v8(self, value):
    try:
        a()
    except TypeError:
        for m in cls.x():
            if m.v == value:
                if m:
                    raise E
                return None
    b()


def f(self, data):
    if self.p is not None:
        args, self.p = self.p, None
        qname_text = data if data and g(data) else None
        self.s(*args, qname_text)
        if qname_text is not None:
            return None
    w()
