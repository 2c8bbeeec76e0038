# try inside try, in every part.
def f(a):
    try:
        try:
            a()
        except ValueError:
            a(1)
    except KeyError:
        try:
            a(2)
        except IndexError:
            print(2)
    finally:
        try:
            a(3)
        finally:
            print(3)
    try:
        try:
            a()
        finally:
            print(4)
    except ValueError as error:
        print(error)
