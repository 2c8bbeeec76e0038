# python: >=3.10
# Literal and value patterns.
def f(a):
    match a:
        case 1:
            print('one')
        case -1:
            print('minus one')
        case 1.5:
            print('float')
        case 'text':
            print('string')
        case b'bytes':
            print('bytes')
        case a.b.c:
            print('value')
        case 1 + 2j:
            print('complex')
        case _:
            print('other')
