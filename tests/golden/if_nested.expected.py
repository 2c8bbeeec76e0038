# `if b: if c:` and `if b and c:` are the same bytecode, up to 3.10 without columns that tell
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
# if <3.11
        if b and c:
            print(7)
# end
# if >=3.11
        if b:
            if c:
                print(7)
# end
