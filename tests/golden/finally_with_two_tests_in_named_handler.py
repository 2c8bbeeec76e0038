# A finally whose body ends in two tests, in a handler that has a name to unbind: 3.13 and later
# unbind it once for each test, and the tests are one condition still.
def in_for(items, a, b):
    for k in items:
        try:
            step(1)
        except Stop as e:
            try:
                step(2)
            finally:
                if not a and not b:
                    break


def in_while(items, a, b):
    while items():
        try:
            step(1)
        except Stop as e:
            try:
                step(lambda: e)
            finally:
                if not a and not b:
                    break
        step(3)


def named_twice(items, a, b):
    for k in items:
        try:
            step(1)
        except Stop as e:
            try:
                step(2)
            except Other as o:
                try:
                    step(3)
                finally:
                    if not a and not b:
                        break


def beside_a_branch(items, fixed):
    for item in items:
        for k in iterate(item):
            if is_generator(k):
                try:
                    while True:
                        k.send((yield))
                except Stop as e:
                    try:
                        k.throw(e)
                    except StopIteration:
                        pass
                    finally:
                        if not fixed and not k:
                            break
            elif not fixed:
                break
    step(1)
