# `and` as a statement, before a return whose copies stand behind the cleanup.
def f(self, h):
    try:
        response = h(1)
        h and self(2)
        return response
    finally:
        self.finish()


def g(self, h):
    try:
        h and self(2)
        return h
    finally:
        self.finish()
