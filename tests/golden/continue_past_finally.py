def guard(g, h):
    while g():
        try:
            if h():
                continue
            h(2)
        finally:
            h(6)


def guards(g, h):
    for x in g:
        try:
            if x.a:
                continue
            if x.b:
                break
            h(2)
        finally:
            h(6)


def endless(g, h):
    while True:
        try:
            if g():
                continue
            h(2)
        finally:
            h(6)


def statement_before(g, h):
    for x in g:
        try:
            if x.a:
                h(1)
                continue
            h(2)
        finally:
            h(6)


def several_tests(g, h):
    for x in g:
        try:
            if x.a and x.b:
                continue
            for y in x:
                if y:
                    continue
                h(2)
        finally:
            h(6)


def with_clause(g, h):
    for x in g:
        try:
            if x.a:
                continue
            h(2)
        except E:
            h(3)
        finally:
            h(6)


def within(g, h):
    for x in g:
        try:
            try:
                if x.a:
                    continue
                h(2)
            finally:
                h(5)
        finally:
            h(6)


async def awaits(g, h):
    async for x in g:
        try:
            if await x.a:
                continue
            await h(2)
        finally:
            await h(6)


def not_at_the_end(g, h):
    for x in g:
        if x.q:
            try:
                if x.a:
                    continue
                h(2)
            finally:
                h(6)
        else:
            h(9)


def returns(g, h):
    for x in g:
        try:
            if x.a:
                continue
            return 2
        finally:
            h(6)


def arms(g, h):
    for x in g:
        try:
            if x.a:
                h(1)
            else:
                h(2)
        finally:
            h(6)
