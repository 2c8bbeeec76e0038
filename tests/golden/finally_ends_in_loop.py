def endless(c, n):
    try:
        yield c
    finally:
        while True:
            for r in c:
                r()
            if n:
                break


def with_handlers(c, callbacks):
    try:
        yield callbacks
    finally:
        while True:
            n = len(c)
            for r in c[1:]:
                callbacks.append(r)
                if r:
                    try:
                        r()
                    except ValueError as e:
                        c(e)
                else:
                    c()
            if n == len(c):
                break
            c = n
