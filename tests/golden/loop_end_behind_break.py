# What stands after a loop stays there, though only one `break` of the loop leads to it.
def one_statement(self, n, v):
    while True:
        self.build(n)
        if self.ok():
            print('ok')
            break
        if n > v:
            raise IndexError(n)
        print('again')
    del self.edits
    self.y()
    return n


def in_loop(self, paths):
    for name, path in paths:
        p = path
        while True:
            tail, head = path.parent, path.name
            if head == 'plugins':
                self.output = path
                break
            self.error(p)
            path = tail
        self.install(name)
    return 0


def several_statements(self, n):
    while True:
        n += 1
        if self.ok(n):
            self.a = n
            for x in self.b:
                x.c()
            break
        self.d(n)
    self.e()
    return n
