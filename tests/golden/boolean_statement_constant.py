# python: >=3.12
# The value of a statement whose last operand is a constant. 3.12 and 3.13 test what the brackets hold once more.
def plain(a, b):
    # if <3.14
    (a or b()) or None
    # end
    # if >=3.14
    a or b() or None
    # end


def in_branches(a, b):
    if a:
        # if <3.14
        (a or b(1)) or None
        # end
        # if >=3.14
        a or b(1) or None
        # end
    else:
        a or None


def in_handler(a, b):
    try:
        b()
    except ValueError as e:
        # if <3.15
        (a or b(2)) or None
        # end
        # if >=3.15
        a or b(2) or None
        # end


def in_finally(a, b):
    try:
        b(3)
    finally:
        try:
            b()
        except ValueError as e:
            # if <3.15
            (a or b(4)) or None
            # end
            # if >=3.15
            a or b(4) or None
            # end
