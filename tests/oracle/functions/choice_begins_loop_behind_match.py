# The last case leads to a loop that begins with a conditional expression.
def f():
    match val(1):
        case [a, b]:
            ev(2)
        case 2:
            ev(3)
    while True:
        if ev(5) if ev(4) else ev(6):
            ev(7)
