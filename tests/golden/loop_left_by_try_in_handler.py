# python: >=3.10
# In a handler, where the test and the loop come back apart.
def in_handler(x, y):
    try:
        y()
    except KeyError as e:
        while x:
            try:
                y(1)
                break
            except ValueError:
                pass
            y(2)
            break
        y(e)
