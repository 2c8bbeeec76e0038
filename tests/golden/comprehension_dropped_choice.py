# python: >=3.13
def chosen(x, a):
    f(a) if x else [b for q, b in a]


def chosen_by_two(x, a, c):
    f(a) if x and c else {q: b for q, b in a}


def chosen_in_try(x, a):
    try:
        [b for q, b in a] if x else a
    finally:
        f(a)


f(a) if x else [b for q in x for b in q]
