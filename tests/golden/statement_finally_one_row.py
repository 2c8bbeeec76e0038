# A `return` in one row with its test, which the end of the function shares.
def last_in_one_row(a):
    try:
        a()
    finally:
        if a: return 1


def value_in_one_row(a):
    try:
        a()
    finally:
        if a: return a
