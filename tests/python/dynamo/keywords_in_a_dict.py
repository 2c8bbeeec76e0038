def passes_on(g, x):
    return g(x, a=x)
