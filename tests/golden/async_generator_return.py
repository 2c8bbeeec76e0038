# An asynchronous generator returns no value.
async def i(self):
    if self.x:
        y()
        return
    yield self
    y()
