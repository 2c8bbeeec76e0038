# Relative imports.
from . import a
from .. import b, c as d
from .a import e
from ..a.b import f
from ... import g
