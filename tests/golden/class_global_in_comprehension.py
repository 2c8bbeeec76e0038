# What the first iterable of a comprehension in a class takes tells what is declared global.
class C:
    global a
    b = [c for c in a if c]


# if >=3.12
# A function inside has the type parameter.
class D[e]:
    global e
    f = any(e is g for g in (e, 1))
# end
