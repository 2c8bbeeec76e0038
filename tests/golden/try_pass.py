# python: <=3.9
# up to 3.9 protected code that is none leaves its handlers in the bytecode
def every_part(self):
    try:
        pass
    except:
        self.x()
    else:
        self.y()
    finally:
        self.z()


def finally_only(self):
    try:
        pass
    finally:
        self.z()


def one_type(self):
    try:
        pass
    except KeyError:
        self.z()
    self.y()


def nothing(self):
    try:
        pass
    except:
        pass


def handler_returns(self):
    try:
        pass
    except:
        self.x()
        return 1


def continues(n):
    while n:
        n -= 1
        try:
            continue
        except:
            n = 0
    return n


def breaks(n):
    for i in n:
        try:
            break
        except E:
            n = 0
    return n


def nested():
    try:
        try:
            pass
        except:
            x()
        else:
            y()
        z()
    except:
        u()
    else:
        v()


def returns_none():
    try:
        return
    except:
        x()


def returns():
    try:
        return 1
    finally:
        x()


def returns_from_loop(n):
    for i in n:
        try:
            return 1
        finally:
            x()
