# Lambdas with every kind of parameter.
f = lambda: None
g = lambda x: x + 1
h = lambda x, y=1, *args, z, k=2, **kwargs: (x, y, args, z, k, kwargs)
i = lambda *args: args
j = lambda *, a: a
k = lambda x: lambda y: x + y
l = lambda x: x if x else -x
m = sorted([3, 1], key=lambda x: -x)
n = lambda: (yield)
o = lambda x: x and x.y or x.z
