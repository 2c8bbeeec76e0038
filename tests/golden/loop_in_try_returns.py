# A loop that never comes around, in a try; a handler that decides nothing.
def first(items):
    try:
        for x in items():
            if x:
                x.use()
            return 4
    except ValueError:
        items.close()
    items.done()


def first_in_handler(items):
    try:
        items.read()
    except:
        for x in items():
            return 4
    items.done()
