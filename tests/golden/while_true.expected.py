# `break` to a `return` that is copied to it is the same bytecode as that `return`
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
# if <3.10
            return x
# end
# if >=3.10,<3.11
            break
    return x
# end
# if >=3.11
            return x
# end


def two_exits(a):
    while True:
        if a():
            return 1
        if a(1):
# if <3.10
            break
    return 2
# end
# if >=3.10
            return 2
# end
