# python: >=3.10,<=3.11
# What stands before an operand that tests once for two operators stays on one row, however long.
X = (
    first_condition_of_the_module and (second_condition_of_the_module or third_condition_of_it) and (fourth_condition
            or fifth_condition_of_the_module) and sixth_condition_of_the_module
)


def inner_ones_in_the_middle():
    return (
        first_condition_of_the_function and (second_condition_of_it or third_condition == 1) and (fourth_condition
                or fifth_condition_of_the_function) and sixth_condition_of_the_function
    )


def operand_of_an_inner_one(parameters, condition_with_a_name, other_condition_with_a_name):
    x = (
        (parameters.first or condition_with_a_name or other_condition_with_a_name() and parameters.second
                or not parameters.third_condition)
        and (parameters.fourth or parameters.fifth)
    )
    return x


def no_bracket_around_it(parameters, condition_with_a_name, other_condition_with_a_name):
    yield (
        parameters.get(condition_with_a_name, other_condition_with_a_name) or parameters.first and parameters.second
                or parameters.third
    )
    raise (
        condition_with_a_name and (parameters.first or parameters.second or condition_with_a_name) and (parameters.third
                or parameters.fourth_of_them) and parameters.fifth
    )


def conditional_operand(parameters, condition_with_a_name, other_condition_with_a_name):
    return parameters.get(
        key=(parameters.first if parameters.second else condition_with_a_name or other_condition_with_a_name)
                or parameters.third,
    )


def behind_else(parameters, condition_with_a_name, other_condition_with_a_name):
    return (
        parameters.first
        if parameters.second_condition
        else condition_with_a_name or other_condition_with_a_name and parameters.third_condition
                or parameters.fourth
    )
