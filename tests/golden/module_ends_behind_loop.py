# python: >=3.10
# A module ends behind its loop, not in it.
for y in x:
    try:
        y.a()
    except E:
        y.b()
        break
    y.c()
else:
    print(y)
    raise E
