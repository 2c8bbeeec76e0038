# One variable several times among the targets, a starred one too.
def f(x):
    a, b, a = x
    *_, _ = x
    _, *_, _ = x
    *_, a, b, a = x
    a, a, *b = x
