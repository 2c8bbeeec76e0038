# python: <=3.13
# What is annotated besides plain names: the annotation is evaluated behind the assignment.
x.y: int = 2
x[1]: str = f(x)


class C:
    (a): int = 3
    x.z: list[int] = g(a)
    if a:
        (b): D.e = 4
