async def f(self, source):
    a = [0 async for self.b in source()]
    b = {0: 1 async for self[0] in source() if await self.b}
    c = {self.d async for self.d in source() for self.e in self.d}
    return a, b, c, [x async for x, self.y in source() if x and self.y]
