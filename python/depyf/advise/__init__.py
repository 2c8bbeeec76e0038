"""`depyf run --advise`: the changes that are worth most, with a patch where one can be written.

A patch is written from the program's syntax tree, for the plain forms of a statement only.
"""

from depyf.advise.change import Change
from depyf.advise.listing import Advice, changes
from depyf.advise.terminal import text
from depyf.advise.uncompiled import uncompiled

__all__ = ["Advice", "Change", "changes", "text", "uncompiled"]
