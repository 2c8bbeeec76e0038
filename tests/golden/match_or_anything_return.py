# python: >=3.10
# Or-patterns whose last alternative captures anything: 3.12 copies the `return` and its store.
def f(v):
    match v:
        case [x] | x:
            return x
