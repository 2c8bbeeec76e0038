# Annotated variables in modules and classes (a function's own leave no trace).
x: int = 1
y: str
z: 'list[int]' = []


class C:
    a: int = 1
    b: str
    c: 'C' = None
