# python: >=3.12,<3.13
# The value of a comprehension with several variables is dropped before they are given back.
e
(_): {b for b, *c in x for d in [y]}


class C:
    e(1)
    (_): {e(b): d for b, *c in x for d in [y]}


{b for b, *c in x for d in [y]}
