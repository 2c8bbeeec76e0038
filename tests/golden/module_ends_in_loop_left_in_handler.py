def helper():
    pass


while True:
    if ready():
        try:
            y = x()
        except KeyboardInterrupt:
            break
    print(y)
