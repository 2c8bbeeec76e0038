"""What a guard on an object or a type asks, whose own text has the number of an object."""

import re

from depyf.report.words.rows import short

_IDENTITY = re.compile(
    r"^___check_(?P<what>type|obj)_id\((?P<name>.+), \d+\), type=<class '(?P<type>[^']*)'>$"
)
_BUILTIN = re.compile(r"G\['__builtins_dict__\w*'\]\['(\w+)'\]")


def identity_in_words(text: str) -> str:
    """What such a guard asks, for people; "" for other guards.

    Args:
        text: torch's.
    """
    found = _IDENTITY.match(text)
    if found is None:
        return ""
    asked = short(_BUILTIN.sub(r"\1", found.group("name")))
    if found.group("what") == "type":
        return "%s is of type %s" % (asked, found.group("type"))
    return "%s is the same object as before, of type %s" % (asked, found.group("type"))
