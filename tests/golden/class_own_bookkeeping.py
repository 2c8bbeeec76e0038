class Line:
    __firstlineno__ = 1


class Names:
    __module__ = __name__
    __qualname__ = 'Names'


class Attributes:
    def set(self):
        self.a = 1

    __static_attributes__ = ('a',)


class AttributesFirst:
    __static_attributes__ = ('a', 'b')
    x = 1


class All:
    __module__ = 'elsewhere'
    __qualname__ = 'All'
    __firstlineno__ = 3
    x = 1
    __static_attributes__ = ()
    __classdictcell__ = 3


class Arms:
    if test:
        __static_attributes__ = ('a',)
    else:
        __static_attributes__ = ('b',)


class Loop:
    for i in x:
        __static_attributes__ = (i,)
        if i:
            break
    __static_attributes__ += ('more',)


class Handler:
    try:
        x()
    except ValueError:
        __static_attributes__ = ('a',)


class OfModule:
    global __firstlineno__, __static_attributes__
    __firstlineno__ = 1
    __static_attributes__ = ()


class WithCell:
    def get(self):
        return __class__

    __static_attributes__ = ('k',)
