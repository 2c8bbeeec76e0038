# Conditions inside conditions.
def f(a, b, c):
    if a:
        if b:
            print(1)
        elif c:
            print(2)
        print(3)
    else:
        if b:
            print(4)
        print(5)
    if a:
        print(6)
        if b:
            if c:
                print(7)
