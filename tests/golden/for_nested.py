# Loops inside loops, with exits of both.
def f(a):
    for x in a:
        for y in x:
            if y:
                break
            if y is None:
                continue
            print(y)
        else:
            continue
        break
    for x in a:
        while x:
            x = x.next
            if x.stop:
                return x
        print(x)
    return None
