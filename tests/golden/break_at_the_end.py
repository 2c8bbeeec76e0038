# python: >=3.11
# A `break` that ends the function has the columns of a `break`.
def endless(a):
    while True:
        b = a.read()
        if not b:
            break
        a.write(b)


def of_two_conditions(a):
    while True:
        b = a.read()
        for c in b:
            yield c
        if not b or not b.endswith('z'):
            break
        a.write(b)


def under_an_if(a):
    if a:
        for b in a:
            if b:
                break
            print(b)


def in_a_try(a):
    while True:
        try:
            a.read()
        except ValueError:
            break
        a.write()


def with_return(a):
    while True:
        b = a.read()
        if not b:
            return
        if b.last:
            break
        a.write(b)


def five_columns(a):
    for b in a:
        if b:
            a.b()
            return
        print(b)


def goes_on(a):
    while True:
        b = a.read()
        if not b:
            break
        a.write(b)
    print(a)
