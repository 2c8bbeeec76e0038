# What a statement does on its way out tells an endless loop around it from one in it.
def a(x):
    while True:
        with x:
            x.work()


def b(x):
    while True:
        with x, x.y as z:
            x.work()
            if z:
                x.more()


def c(x):
    with x:
        while True:
            x.work()


def d(x):
    try:
        while True:
            x.work()
    finally:
        x.clean()


def f(x):
    while True:
        try:
            x.work()
        except E:
            x.clean()


def g(x):
    try:
        while True:
            x.work()
    except E:
        x.clean()


async def h(x):
    while True:
        async with x:
            await x.work()


async def i(x):
    while True:
        try:
            await x.work()
        finally:
            await x.clean()


def j(x):
    while True:
        try:
            x.work()
        except E:
            pass
        finally:
            x.clean()


def k(x):
    while x:
        try:
            x.work()
        finally:
            x.clean()


def l(x):
    for y in x:
        try:
            x.work()
        finally:
            x.clean()


def m(x):
    while True:
        try:
            x = yield x
        finally:
            x.clean()


def n(x):
    while True:
        try:
            try:
                x.a()
            finally:
                x.b()
        finally:
            x.c()


def o(x):
    while True:
        with x:
            try:
                x.a()
            finally:
                x.b()


def p(x):
    while True:
        try:
            with x:
                x.a()
        finally:
            x.b()


def q(x):
    while True:
        try:
            x.a()
        finally:
            with x:
                pass


def r(x):
    while True:
        try:
            x.a()
        except KeyError as e:
            x.b(e)
        else:
            if x.c():
                continue
        finally:
            if x.d():
                x.e()
