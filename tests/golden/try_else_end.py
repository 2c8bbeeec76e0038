# python: <3.10
# The else of a try statement at the end of a function or a loop: the handlers fall past it.
def at_end(self, key):
    try:
        value = self[key]
    except KeyError:
        self.missing(key)
    except ValueError as error:
        self.bad(error)
    else:
        self.found(value)
        self.done()


def in_loop(self, keys):
    for key in keys:
        try:
            value = self[key]
        except KeyError as error:
            self.missing(error)
        else:
            self.found(value)
            self.done()
