# Up to 3.8 a `return` out of two bodies of `finally` is there once for all ways into them.
def in_body(x, n, log):
    try:
        try:
            a()
        finally:
            if n == 2:
                return x, n, log
    finally:
        d()


def both_bodies(x, n, log):
    try:
        try:
            a()
        finally:
            if n == 2:
                return x, n, log
    finally:
        d()
        if n == 3:
            return x, n, log


def loop(x, n, log):
    for i in x:
        try:
            a()
        finally:
            try:
                b()
            finally:
                if n == 2:
                    break
                c(x, n, log)


def three(x, n, log):
    try:
        a()
    finally:
        try:
            b()
        finally:
            try:
                c()
            finally:
                if n == 2:
                    return x, n, log


def in_with(x, n, log):
    with c() as d:
        try:
            b()
        finally:
            if n == 2:
                return x, n, log


def with_in_finally(x, n, log):
    try:
        a()
    finally:
        with c() as d:
            if n == 2:
                return x, n, log
        d(x)


def drawn(x, n, log):
    try:
        log.append(x)
    finally:
        try:
            x = a(x) if n else b(x)
        finally:
            log.append(n)
            if n == 2:
                return x, n, log
        x += a(n)
        with c(log) as d:
            x = b(x)
    return x, n, log
