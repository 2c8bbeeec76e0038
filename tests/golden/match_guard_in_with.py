# python: >=3.10
# From 3.14 on a `with` keeps two values on the stack below the subject.
with w:
    match x():
        case a if a:
            pass
        case a:
            pass
with w:
    match [b for b in c]:
        case a if a:
            pass
        case a:
            x
