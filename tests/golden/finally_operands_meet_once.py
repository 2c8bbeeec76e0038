# The end of the handler is short enough to be copied to both operands, that of the other way out is not.
for i in x:
    try:
        g
    finally:
        (~(b if a else c),)
try:
    z
except E:
    if d:
        try:
            p
        finally:
            q if r else s
            (t,)
        x = e
if z:
    try:
        g
    finally:
        -h(b if a else c)
        y
