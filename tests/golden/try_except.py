# Handlers of every kind.
def f(a):
    try:
        a()
    except ValueError:
        print(1)
    try:
        a()
    except (KeyError, IndexError):
        print(2)
    except ValueError as error:
        print(error)
    except:
        print(3)
    try:
        a()
    except ValueError:
        pass
    print(4)
