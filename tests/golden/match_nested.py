# python: >=3.10
# Patterns inside patterns, and match inside match.
def f(a):
    match a:
        case [Point(x=0), {'k': [1, *rest]}]:
            print(rest)
        case [(1 | 2 as x), [y, [z]]]:
            match y:
                case Point():
                    print(x)
                case _:
                    print(z)
    print('done')
