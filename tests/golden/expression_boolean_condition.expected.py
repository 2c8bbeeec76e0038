# without columns, `not (a and b)` and `not a or not b` are the same bytecode
def f(a, b, c, d):
    if a and b:
        print(1)
    if a or b:
        print(2)
    if a and (b or c):
        print(3)
    if (a or b) and (c or d):
        print(4)
    # if <3.11
    if not a or not b:
    # end
    # if >=3.11
    if not (a and b):
    # end
        print(5)
    if not a and not b:
        print(6)
    if a and b or c and d:
        print(7)
    elif a or not b:
        print(8)
    else:
        print(9)
    while a and b or not c:
        print(10)
