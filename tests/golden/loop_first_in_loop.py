# A loop that the body of an endless loop begins with, by itself or at the beginning of a try.
# if <=3.10
def retry(read):
    while True:
        try:
            while True:
                item = read()
                if item:
                    break
            use(item)
        except OSError as e:
            print(e)


def serve(lock, read):
    with lock:
        while True:
            try:
                while not read():
                    wait()
                use(lock)
            except OSError:
                print(lock)


# end
def locked(lock, read):
    while True:
        with lock:
            while True:
                item = read()
                if item:
                    break
            use(item)
