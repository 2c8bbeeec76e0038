# python: >=3.8
# What follows a conditional expression was copied to both of its arms, with the end of the function.
def in_one_arm(a, b):
    print((c := a) if b else a.b)


def in_both_arms(a, b):
    print((c := a.c) if b else (d := a.b))


def in_one_another(a, b, e):
    print((c := (d := a if e else b)) if b else a)


def of_a_constant(a, b):
    print(((c := 1) if a else 2) if b else 3)


class Body:
    print((c := a) if b else a.b)


try:
    print((a := (b := print())) if print() else print)
except ValueError:
    pass
print(((a := 1) if print() else 2) if a else 3)
