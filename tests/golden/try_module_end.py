# The last statement of a module is copied to the ways out of the try statement before it (3.10+).
try:
    from a import *
except ImportError:
    from b import *
__all__ = ('c', 'd')
