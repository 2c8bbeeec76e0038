# The operands of a statement that is an expression meet at the end of the body of `finally`: the end of its
# handler is copied to each of them, and both ways drop the first operand's value.
try:
    a
finally:
    b and 1e309
try:
    a
finally:
    b or 1e309
try:
    a
finally:
    b and c or d
try:
    a
finally:
    b and {} or d
try:
    a
finally:
    b and c() and 1
e


def in_function(a, b):
    try:
        a()
    finally:
        b and 1
    return a
