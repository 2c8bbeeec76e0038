# python: >=3.11
# What the compiler has computed is as wide as a literal of another base: that says nothing of a base.
x = 1
y = f'{2 + 2}'
z = f'{2+2:>5} {x}'
a = 2 + 2
b = 2+2
c = 2**3
d = 2*1024
e = 60*60*24
