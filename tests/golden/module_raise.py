# One way through a module ends, the other raises.
import sys

if sys.platform == 'pytest':
    sys.a = 1
    sys.b = 2
else:
    raise Exception(sys.platform)
