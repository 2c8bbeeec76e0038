def decode(path):
    while True:
        try:
            path.decode()
            break
        except ValueError as e:
            path = path[e.end:]
    return b(path)


def connect(sock, path):
    while True:
        try:
            sock.connect(path)
            break
        except BlockingIOError:
            sock.wait()
        except BaseException:
            sock.close()
            raise
    return Stream(sock)
