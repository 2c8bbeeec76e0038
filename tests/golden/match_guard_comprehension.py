# python: >=3.10
# A case that always matches, with a guard, is known by the subject that stays on the stack.
match {False for () in c}:
    case a if {}:
        pass
    case int():
        pass
match [b for b in c]:
    case a if b:
        pass
    case a if c:
        x
    case _:
        f


def in_function(c):
    match [b for b in c]:
        case a if a:
            pass
        case [1, x]:
            return 5
        case a:
            x()
