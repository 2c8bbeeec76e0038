"""Seeds for the decode target, from the code of this file's own functions: run it with each CPython from 3.7 on.

python3.X tests/fuzz/make_seeds.py      writes tests/fuzz/seeds/decode/VERSION_function
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def loop(a, b):
    while a:
        for c in b:
            if c and a < b:
                continue
            a += c
        else:
            return [d for d in a]
    return a, b


def handlers(a, b):
    try:
        with a as c, b:
            a(c)
    except (a, b) as d:
        raise a from d
    finally:
        del b


async def awaiting(a, b):
    async with a as c:
        async for d in b:
            yield await c(d, a=1, *b)


def values(a, b):
    c = {**a, b: a[1:b], "d": f"{a!r:>{b}}"}
    return lambda d, *e: (c, d if a <= b < d else e)


def main():
    for function in (loop, handlers, awaiting, values):
        code = function.__code__
        table = getattr(code, "co_exceptiontable", b"")
        seed = bytes([sys.version_info[1] - 7, len(table)]) + table + code.co_code
        with open(
            os.path.join(
                HERE, "seeds", "decode", "3.%d_%s" % (sys.version_info[1], function.__name__)
            ),
            "wb",
        ) as file:
            file.write(seed)


if __name__ == "__main__":
    main()
