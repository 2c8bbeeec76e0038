# python: >=3.10
# No case goes on behind the statement where a module ends in another one.
match x:
    case str(a):
        if a:
            b()
        c()
    case 1:
        d()
    case _:
        e()
        raise E
f()
