# python: >=3.10
# Cases of alternatives whose bodies are one block: the rows tell which alternatives are one case.
def nothing_in_either(x):
    match x:
        case 1 | 2:
            pass
        case 3 | 4:
            pass
        case _:
            g()
    h()


def one_return_of_all(x):
    match x:
        case 1 | 2:
            return 1
        case 3 | 4:
            return 1
        case 5:
            return 1
    return 2


def on_with_the_loop(x):
    for i in x:
        match i:
            case 'a' | 'b':
                continue
            case 'c' | 'd':
                continue
        g(i)
