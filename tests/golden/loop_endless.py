# python: <=3.7
# Loops that never end, or never come around, of which SETUP_LOOP tells where they begin and what stands behind them.
def eats(text):
    while True:
        while True:
            if text:
                text -= 1
            elif text is None:
                text = 2
            else:
                break
        if not text.more:
            break
        text.next()
    return text


def values(handle, lines):
    if handle:
        while True:
            yield handle.value
    for line in lines:
        yield line


def either(handle):
    if handle:
        while True:
            yield handle.value
    handle.close()


def tested(a, b):
    while True:
        while a():
            if b:
                b -= 1
            else:
                break
        if not b:
            break
        use(b)
    return b


def first(self):
    for key in self.keys():
        return key
    else:
        raise KeyError


def first_or_more(self):
    if self:
        for key in self.keys():
            return key
        else:
            self.more()
    self.close()
