# python: >=3.10
# Patterns in a finally whose bodies end: the handler's copy is no other alternative.
def a(x):
    try:
        x.a()
    finally:
        match x.b:
            case P(p):
                raise E
            case _:
                x.d()


def b(x):
    try:
        x.a()
    finally:
        match x.b:
            case P(p):
                x.d()
            case _:
                raise E


def c(x):
    try:
        x.a()
    finally:
        match x.b:
            case P(p):
                raise E


def d(x):
    try:
        x.a()
    finally:
        match x.b:
            case P(p):
                x.c()
                return 1


def e(x):
    try:
        x.a()
    finally:
        match x.b:
            case P():
                x.c()
                return 1


def f(x):
    try:
        x.a()
    finally:
        match x.b:
            case P(p):
                x.c()
        raise E


def g(x):
    try:
        x.a()
    except E:
        match x.b:
            case P(p):
                raise E


def h(x):
    try:
        x.a()
    finally:
        match x.b:
            case P(p):
                x.c()
                raise E
            case _:
                x.d()
                raise E


def i(x):
    try:
        x.a()
    except E:
        match x.b:
            case P(p):
                x.c()
                raise E
            case _:
                x.d()
                raise E
