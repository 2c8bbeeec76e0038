# An asynchronous generator returns no value.
async def i(self):
    async for x in self:
        if x:
            return
        yield x
    y()
    yield 1
