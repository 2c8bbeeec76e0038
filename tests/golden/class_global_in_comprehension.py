# What the first iterable of a comprehension in a class takes tells what is declared global.
class C:
    global a
    b = [c for c in a if c]
