# An `if` around a `return` at the end of a function, and `return a if b else None`: their rows tell.
def value_or_nothing(a):
    if not a.quiet:
        return a.log(1)


def behind_other_code(a):
    a.begin()
    if a.quiet:
        return a.log(1)


def value_or_none(a):
    return a.log(1) if not a.quiet else None


# if >=3.8
def rows_of_one_expression(a):
    return (
        a.first_of_many_values_and_more(1, 2, 3, 4, 5)
        if a.is_the_first_of_many_values_and_more(1, 2, 3)
        else a.second_of_many_values_and_more(1, 2, 3, 4)
    )


# end
