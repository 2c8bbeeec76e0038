# Branches at the end of a loop's body.
def f(a):
    for x in a:
        if x == 1:
            print(1)
        elif x == 2:
            print(2)
        else:
            print(3)
    for x in a:
        if x:
            print(x)
    while a:
        if a.x:
            a = a.left
        else:
            a = a.right
