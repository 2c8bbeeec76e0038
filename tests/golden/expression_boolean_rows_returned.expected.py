def f():
    return a and b and not d or c


x = g(lambda n: n.isupper() and n.a('SIG') and not n.b('SIG_') or n.c('CTRL_'))
