# A generator expression that is the only base of a class keeps its parentheses, which a call's only argument shares.
def f(bases, decorate):
    class A((b for b in bases)):
        pass

    class B((b for b in bases), metaclass=C):
        pass

    class D(*(b for b in bases)):
        pass

    class E(*bases, **decorate):
        pass

    class G(k=(b for b in bases)):
        pass

    @decorate(b for b in bases)
    class F:
        pass

    print(*(b for b in bases))
    print(b for b in bases)
