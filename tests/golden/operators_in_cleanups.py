# python: >=3.8
def in_finally(a, x):
    try:
        a.b()
    finally:
        x and a.e()
# if >=3.11


def in_handler(a, x):
    try:
        a.b()
    except ValueError:
        x or a.e()


def in_named_handler(a, x):
    try:
        a.b()
    except ValueError as e:
        x and a.e(e)
# end
