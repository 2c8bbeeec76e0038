# python: >=3.14
# What annotates an attribute or an item is not kept; that there was an annotation decides a variable of the body.
x.y: int = 2
x.z = 3


class C:
    a: int
    if a:
        x[1]: str = 3
    else:
        x[2] = 4
