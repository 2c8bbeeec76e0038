# python: >=3.10
# What leaves an endless loop from the `else` of its try comes out as `break`.
def decode(path):
    while True:
        try:
            path.decode()
        except ValueError as e:
            path = path[e.end:]
        else:
            return b(path)


def connect(sock, path):
    while True:
        try:
            sock.connect(path)
        except BlockingIOError:
            sock.wait()
        except BaseException:
            sock.close()
            raise
        else:
            return Stream(sock)
