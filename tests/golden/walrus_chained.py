# python: >=3.8
# Assignment expressions in one another are one expression.
def in_generator(items):
    if any((key := (value := x)) for x in items):
        print(key, value)


def in_condition(a):
    if (b := (c := a)) and (d := (e := 1)):
        return b, c, d, e
    return (b := (c := a.b)).x


class C((x := (y := object))):
    z = 1
