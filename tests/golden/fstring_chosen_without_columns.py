# python: >=3.8
# f-strings that a conditional expression chooses, as operands; 3.10 has no columns to tell them by.
def part_of_string(h, s):
    return f"{h}:{f'{s:1}' if s else f'{s:2}'}"


def operand(h, s):
    return 'a' + (f'{s:1}' if s else f'{s:2}')


def argument(b, x):
    return print(b, f'{b:.2f}' if x else f'{b:d}')


def index(b, x, y):
    return y[f'{b:.2f}' if x else f'{b!r}']


def value_chosen(a, b, c):
    return f'{a if c else b}'


def value_chosen_behind(a, b, c):
    return c + f'{a if c else b:x}'


def spec_chosen(a, b, c):
    return c + f"{a:{'x' if b else 'd'}}"


def hours(h, s):
    return f"{h:02d}:{f'{s:.2f}'.rstrip('0') if s % 1 else f'{s:02d}'}"


def assigned(h, s):
    t = h.x(f'{s:1}' if s else f'{s:2}')
    return t
