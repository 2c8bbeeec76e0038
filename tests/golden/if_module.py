# Conditions at module level.
import sys

if sys.platform == 'win32':
    import ntpath as path
elif sys.platform == 'linux':
    import posixpath as path
else:
    path = None
if __name__ == '__main__':
    sys.exit(0)
