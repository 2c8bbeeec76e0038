class A:
    while True:
        if ready():
            try:
                y = x()
            except KeyboardInterrupt:
                break
        print(y)


class B:
    for x in f():
        break
    else:
        raise E


class C:
    while True:
        f()
        if g():
            f(1)
        elif h():
            f(2)
            break


class D:
    def method(self):
        return super().method()

    for x in f():
        with x:
            if g():
                f(2)
                break
