# python: >=3.8,<3.11
# The row of a test's jump is that of its `if`: it tells nested conditions from one over two rows.
def nested(a, b):
    if a.first:
        if b.first():
            print(a, b)


def joined(a, b):
    if a.first and \
            b.first():
        print(a, b)


def joined_in_brackets(a, b):
    if (
        a.first
        and b.first()
    ):
        print(a, b)


def around_loop(a, b):
    for i in a:
        if i in b:
            if b.holds(i):
                print(i)
