# An import in a `finally` at the top of a module: its copies are marked otherwise (3.15).
try:
    a()
finally:
    import a
    from b import c, d
while x:
    try:
        a()
    finally:
        from a import b
        d()
try:
    try:
        a()
    finally:
        import a
except E:
    import y
x()
