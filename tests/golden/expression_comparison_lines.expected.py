def any_of(c):
    return first(c) or 65 <= code(c) <= 70 or 97 <= code(c) <= 102
