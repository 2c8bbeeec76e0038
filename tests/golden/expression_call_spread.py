# What is unpacked in a call as a display of its own, and keywords too many for the stack.
def call(self, a, b):
    self.through(**a, **{'%s_id' % b: 1, 'x': 2})
    self.through(**{**a, 'x': 2})
    # if <3.9
    self.through(*(self, *a), **b)
    # end
    self.through(x=1, **a, y=2, **b)


def many(self, a):
    return self.analyse(
        self,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        one=a,
        two=a,
        three=a,
        four=a,
        five=a,
        six=a,
        seven=a,
        eight=a,
        nine=a,
    )
