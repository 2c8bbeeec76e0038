# What leads out of a `finally`: the handler's copy raises again where the other one goes on.
def loop_with_else(a):
    try:
        a()
    finally:
        for k in a:
            break
        else:
            return


def loop_in_with(n, q):
    with S():
        try:
            n()
        finally:
            with S():
                for k in range(3):
                    with S():
                        if q:
                            break
                else:
                    return 1


def loop_in_named_handler(x):
    try:
        f(x)
    except E as c:
        try:
            return k(x)
        finally:
            for a in x:
                if a:
                    break
            else:
                f(y)


def values_of_several_ways(x):
    try:
        f(x)
    finally:
        try:
            return x and f(y)
        finally:
            k(x)


def conditional_in_handler(x):
    try:
        f(x)
    finally:
        try:
            k(x)
        except C:
            return x if z else y
