# break and continue out of try statements.
def f(a):
    for x in a:
        try:
            x()
        except ValueError:
            continue
        except KeyError:
            break
        print(x)
    while True:
        try:
            a()
        except IndexError:
            break
    for x in a:
        try:
            if x:
                continue
            if x is None:
                break
            x()
        finally:
            print(x)
    return a
