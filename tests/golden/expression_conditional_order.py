# Which arm of a conditional expression stands first.
def f(self, x, dps):
    a = [q.evalf(dps) for q in x] if dps is not None else [q for q in x]
    b = self.conn if not self.invalid else None
    c = a if dps is None else b
    d = a if dps else b
    return g(a if not c else b, b if not d else a)
