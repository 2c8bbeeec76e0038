# a `return None` at the end of a function is the same bytecode as none
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
# if >=3.11
    return None
# end
