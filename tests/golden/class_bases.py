# Bases and keywords of classes.
class A(object):
    pass


class B(A, metaclass=type):
    pass


class C(*[A], **{}):
    pass


class D(A, flag=True, other=[1]):
    x = 1
