# A finally in a loop that comes around, left by break: no loop of its own stands around it.
def wait(self, lock, endtime):
    if endtime is not None:
        while True:
            if lock.acquire(False):
                try:
                    if self.code is not None:
                        break
                    if self.wait(lock):
                        self.end()
                        break
                finally:
                    lock.release()
            left = self.left(endtime)
            if left <= 0:
                raise TimeoutError(endtime)
            sleep(left)
    else:
        while self.code is None:
            self.end()
    return self.code
