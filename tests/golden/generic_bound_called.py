# python: >=3.12
def g[T: print('b')]():
    return T


class C[T: dict('a'), *U]:
    x: T


type A[T: len('docstring')] = str('alias')
