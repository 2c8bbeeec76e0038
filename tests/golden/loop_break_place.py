# python: <3.10
# What stands behind a loop that only `break` leaves; breaks that lead to an outer loop.
def behind(self):
    while True:
        line = self.read()
        if not line:
            self.done = -1
            break
        self.write(line)
    self.close()


def out_of_handlers(self, items):
    for item in items:
        try:
            value = self.high(item)
            break
        except ValueError:
            raise TypeError(item) from None
    return 2 ** value


def loop_in_loop(self, nodes):
    for node in nodes:
        while True:
            if node in self.seen:
                return node
            while self.stack:
                try:
                    node = self.stack.pop()
                    break
                except StopIteration:
                    del self.stack
            else:
                break


def handler_breaks(self, items):
    for item in items:
        try:
            value = self.get(item)
        except OSError:
            break
        if value:
            self.use(value)
    return self


def loop_in_try(self):
    try:
        while True:
            self.step()
    except IndexError:
        pass
    while True:
        try:
            self.step()
        except IndexError:
            break


def version(commands):
    for command in commands:
        try:
            found = run(command)
        except (OSError, ValueError) as why:
            print(why)
        else:
            break
    else:
        return None
    found = found.strip()
    return found
