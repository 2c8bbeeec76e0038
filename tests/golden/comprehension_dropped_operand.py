def meets_a_test(x, a):
    a or [b for q in x for b in a]


def behind_a_call(x, a):
    a and (f([b for q, b in x]) or x and [c for q, c in x])


def in_a_loop(x, a):
    for y in x:
        y and {q: b for q, b in a}


def one_variable(x, a):
    a or [b for b in x]


a or {q for q, b in x}
