# python: >=3.8
# The end behind the statement is there for each manager that may swallow an exception.
def of_loop(a, b):
    for x in a:
        with a, b:
            if x:
                continue
            g()
        return x
    raise b


def of_nested(a, b):
    for x in a:
        with a as t:
            t()
            with b:
                try:
                    if x:
                        continue
                    g()
                except E:
                    raise
        return x
