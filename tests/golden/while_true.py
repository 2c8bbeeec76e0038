# Loops without a condition.
def forever(a):
    while True:
        a()


def until(a):
    while True:
        x = a()
        if x:
            break
        print(x)
    return x


def returning(a):
    while True:
        x = a()
        if x:
            return x


def two_exits(a):
    while True:
        if a():
            return 1
        if a(1):
            break
    return 2
