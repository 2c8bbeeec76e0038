# python: >=3.12
# The compiler stores the class's name and module in the type parameter, without a declaration.
class C[__module__]:
    x = __module__

    def f(self):
        return __module__


class D[__qualname__, T]:
    x = (__qualname__, T)


class E[__static_attributes__]:
    def f(self):
        return __static_attributes__


# if ==3.12
class F[__firstlineno__]:
    x = __firstlineno__


# end
class G[__classdictcell__]:
    x = __classdictcell__
