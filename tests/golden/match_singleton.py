# python: >=3.10
# None, True and False.
def f(a):
    match a:
        case None:
            return 0
        case True:
            return 1
        case False:
            return 2
    return 3
