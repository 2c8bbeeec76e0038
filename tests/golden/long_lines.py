# Lines wider than 100 columns are broken inside brackets.
def f(first_argument, second_argument, third_argument, fourth_argument, fifth_argument=None):
    result = first_argument.method(
        second_argument, third_argument, key=fourth_argument, other=fifth_argument
    )
    if (
        first_argument.attribute == second_argument.attribute
        and third_argument.attribute != fourth_argument
    ):
        return [
            first_argument, second_argument, third_argument, fourth_argument, fifth_argument, result
        ]
    return {
        'first': first_argument,
        'second': second_argument,
        'third': third_argument,
        'fourth': result,
    }
