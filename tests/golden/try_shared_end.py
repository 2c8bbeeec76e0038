# What follows a try statement up to the end is so short that 3.10+ copies it to each way there.
def f(a):
    try:
        a()
    except ValueError:
        print(1)
    except KeyError as e:
        print(e)
    a.b()


def g(a):
    try:
        a()
    except ValueError:
        print(1)
    except KeyError:
        a.c = 1
    return a.b


class C:
    try:
        a = 1
    except ValueError:
        a = 2
