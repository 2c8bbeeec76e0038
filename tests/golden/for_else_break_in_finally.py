# python: >=3.9
# A `break` out of `try` … `finally` leads to what follows the loop and its `else`.
def f(v):
    for i in v:
        try:
            if x == 3:
                continue
            if x == 4:
                break
        finally:
            print(1)
        print(2)
        break
    else:
        return 3
    return x
