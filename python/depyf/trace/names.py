"""Names that torch and depyf give to functions, graphs and files."""

import hashlib
import re
from typing import Optional, Tuple

from depyf.model import resumed_after

#: what later versions of torch put after a number, so that names of two processes differ
_UUID = r"(?:_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})?"
COMPILED_FUNCTION = re.compile(r"^(__compiled_fn_\d+)" + _UUID + "$")
RESUME_FUNCTION = re.compile(r"^__resume_at_\d+_\d+" + _UUID + "$")
RESUME_CODE = re.compile(
    r"^(?:torch_dynamo_resume_in_.*_at_\d+|resume_in_.+|<resume in .+>)$", re.DOTALL
)
#: kinds of guards over several things, each of which appears once under each of them
RELATIONAL_GUARDS = (
    "NO_TENSOR_ALIASING",
    "OBJECT_ALIASING",
    "STORAGE_OVERLAPPING",
    "SYMBOLIC_SHAPE_GUARD",
)
_RESUMED = re.compile(
    r"^(?:torch_dynamo_resume_in_(?P<old>.+)_at_(?P<line>\d+)|resume_in_(?P<new>.+)"
    r"|<resume in (?P<later>.+)>)$",
    re.DOTALL,
)

#: file systems allow 255 bytes for a name; the fixed parts of a file's name take the rest
_NAME_BYTES = 120


def safe_name(name: str) -> str:
    """An identifier for any name of a code object, short enough for a file's name.

    A name that is a short identifier already is unchanged. A long name gets a hash as its tail, so
    that different names stay different.
    """
    if name.isascii() and name.isidentifier() and len(name) <= _NAME_BYTES:
        return name
    cleaned = name.encode("utf-8", "replace").decode("utf-8")
    if not name.isascii():
        import unicodedata

        # as Python reads a name in source: the name of the file is that of the function in it
        cleaned = unicodedata.normalize("NFKC", cleaned)
    cleaned = "".join(one if ("_" + one).isidentifier() else "_" for one in cleaned)
    if not cleaned.isidentifier():  # it is empty, or begins with a digit or a mark
        cleaned = "_" + cleaned
    if len(cleaned.encode("utf-8")) > _NAME_BYTES:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        cleaned = (
            cleaned.encode("utf-8")[: _NAME_BYTES - 9].decode("utf-8", "ignore") + "_" + digest
        )
    return cleaned


def short_graph_name(global_name: str) -> str:
    """`__compiled_fn_1` of `__compiled_fn_1_<uuid>`."""
    match = COMPILED_FUNCTION.match(global_name)
    return match.group(1) if match else global_name


def resume_title(name: str, qualname: str, firstlineno: int) -> str:
    """What a resume function is called before a reader; "" for other functions.

    Args:
        name, qualname, firstlineno: of the function, as its code object has them; earlier torch
            has the line in the name.
    """
    parent, line = resumed(name)
    return resumed_after(qualname or parent, line or firstlineno) if parent else ""


def resumed(name: Optional[str]) -> Tuple[str, int]:
    """(function, line) of which a resume function is the rest; ("", 0) for other names."""
    match = _RESUMED.match(name or "")
    if match is None:
        return "", 0
    return (
        match.group("old") or match.group("new") or match.group("later"),
        int(match.group("line") or 0),
    )
