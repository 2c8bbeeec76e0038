# python: >=3.10
# A `finally` with a test, left by a `return` out of a loop that stands in a handler or in a `with`.
def value(a, b, c, h):
    try:
        h()
    except ValueError:
        for i in a:
            try:
                h(i)
                return b
            finally:
                if c.ok and c.x:
                    h(2)
        return c


def before_continue(a, b, c, h):
    try:
        h()
    except ValueError:
        for i in a:
            try:
                try:
                    h(i)
                except ValueError:
                    h(1)
                    continue
                return b
            finally:
                if c.ok and c.x:
                    h(2)
        return c


def two_loops(a, b, c, h):
    try:
        h()
    except ValueError:
        for i in a:
            try:
                h()
            except ValueError:
                for j in i:
                    try:
                        h(i)
                        return b
                    finally:
                        if c.ok and c.x:
                            h(2)
        return c
# if >=3.11


def out_of_with(a, b, c, h):
    with h:
        for i in a:
            try:
                h(i)
                return b
            finally:
                if c.ok and c.x:
                    h(2)
# end
