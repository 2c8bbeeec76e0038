# python: >=3.10
# A class body looks for a function's variables in its own dict first.
def f(a, b):
    class D:
        match b:
            case a(x=1):
                k = 1
            case a.b | a.c:
                k = 2
            case {a.d: [a()]}:
                k = 3

    return D
