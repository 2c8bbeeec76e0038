def positional(f, x, y, options):
    f('a', 'b', **options)
    f(None, default=x, **options)
    return f('a', first=x, second=y if x else options, **options.more())
