# python: >=3.10
# What patterns leave on the stack is dropped in front of code that something else protects.
def f(a):
    match a:
        case b(func=c(name='super')):
            return
        case [x, {'k': [y, z]}]:
            h()
    try:
        g(a)
    except E:
        pass
