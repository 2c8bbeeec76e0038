# The body of `finally` is there twice, each time with an annotation of another number and with code objects of
# its own.
try:
    a
finally:
    x: lambda: y
try:
    a
finally:
    x: lambda v=1, *, u=b(2): (x, 's', lambda: 3)
try:
    a
finally:
    x: f(k for k in y)


class Record:
    try:
        a
    finally:
        x: lambda: y
        x: lambda: z
