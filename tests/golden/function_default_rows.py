# python: >=3.10,<3.14
def one_line_however_long(self, first_parameter=None, second_parameter=None, third_parameter=None, fourth_parameter=1):
    pass


def one_each(
    first_parameter,
    second_parameter=1,
    third_parameter=2,
):
    pass


def two_rows(self, first_parameter=1, second_parameter=2,
        third_parameter=3, fourth_parameter=4):
    pass


def none_with_def(self, first_parameter,
        second_parameter=2, third_parameter=3,
        fourth_parameter=4, fifth_parameter=5):
    pass


try:
    def behind_try(first_parameter=1, *, second_parameter=2):
        pass
except ValueError:
    pass
