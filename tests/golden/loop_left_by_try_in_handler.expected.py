def in_handler(x, y):
    try:
        y()
    except KeyError as e:
        if x:
            while True:
                try:
                    y(1)
                    break
                except ValueError:
                    pass
                y(2)
                break
        y(e)
