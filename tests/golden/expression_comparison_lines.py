# The last comparison of a chain on a row of its own: its copy of the return has another line.
def any_of(c):
    return first(c) or \
        (65 <= code(c) <= 70) or (97 <= code(c) <= 102)
