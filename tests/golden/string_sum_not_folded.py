# python: <3.14
# An f-string without fields is no constant that the compiler adds up.
def f():
    return f'a' + 'b'


x: str = f'a{{' + 'b'
