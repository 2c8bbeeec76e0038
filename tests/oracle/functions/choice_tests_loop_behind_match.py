# The last case leads to a loop whose test is a conditional expression.
def f():
    match val(1):
        case 1:
            ev(2)
        case 2 if ev(3):
            ev(4)
    while ev(6) if ev(5) else ev(7):
        pass
