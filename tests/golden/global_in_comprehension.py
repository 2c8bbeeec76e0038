# python: >=3.12
# A comprehension that is part of its module tells what is declared global; a walrus in it declares.
# if <3.13
global z
# end
k = [(y := x) for x in (1, 2)]
l = [z + y for w in k]
m = any((v := x) for x in l)
