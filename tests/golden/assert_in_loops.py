# Assertions at the end of a loop's body, and before a loop that never ends.
def end_of_body(styler):
    for attr in styler:
        assert all(attr) if hasattr(attr, '__iter__') else attr


def negated(styler):
    for attr in styler:
        check = attr
        assert not (all(check) if hasattr(check, '__iter__') and len(check) > 0 else check)
    return 1


def before_an_endless_loop(self):
    assert self is current(), 'not from here'
    self.start()
    while True:
        try:
            self.loop.run()
        finally:
            self.loop = None
        self.throw()
