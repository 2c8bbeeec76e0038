# The end of a handler, copied together with the body of a finally.
def enabled(self, level):
    try:
        return self.cache[level]
    except KeyError:
        acquire()
        try:
            if self.disabled >= level:
                known = self.cache[level] = False
            else:
                known = level >= self.level
        finally:
            release()
        return known
