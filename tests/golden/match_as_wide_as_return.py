# python: >=3.10
# A pattern that is as wide as the word `return`: the end of the function has its columns.
def keyword(x):
    match x:
        case A(p=1):
            return 1


def sequence(x):
    match x:
        case [1, 2]:
            f(x)


def guarded(x):
    match x:
        case A(p=1) if x:
            raise x
