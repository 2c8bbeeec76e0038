# python: >=3.12
# The third operand is reached from the first, and from the second.
try:
    a
finally:
    b and c() or d or e
try:
    a
finally:
    (b or c()) and d or e and f()
g
