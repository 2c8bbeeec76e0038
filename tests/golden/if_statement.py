# if, else and elif.
def f(a, b):
    if a:
        print(1)
    if a:
        print(1)
    else:
        print(2)
    if a == 1:
        print(1)
    elif a == 2:
        print(2)
    if a == 1:
        print(1)
    elif a == 2:
        print(2)
    elif a == 3:
        print(3)
    else:
        print(4)
    if a:
        if b:
            print(5)
        else:
            print(6)
    print(7)
