# `if b: if c:` and `if b and c:` are the same bytecode, in 3.7 without rows that tell
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
# if <3.8
        if b and c:
            print(7)
# end
# if >=3.8
        if b:
            if c:
                print(7)
# end
