"""Small helpers that programs written for the original depyf call."""

import os
import types


def collect_all_code_objects(code):
    """`code` and every code object among its constants, at any depth, outermost first."""
    found = []
    pending = [code]
    seen = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        found.append(current)
        nested = [c for c in current.co_consts if isinstance(c, types.CodeType)]
        pending.extend(reversed(nested))
    return found


def decompile_ensure(fn, overwite_fn_name=None):
    """The source of `fn`, or the text `'Failed to decompile.'` where there is none. Never raises."""
    try:
        from depyf.decompiler import Decompiler

        return Decompiler(fn).decompile(overwite_fn_name=overwite_fn_name)
    except Exception:  # the caller asked for a text, whatever happens
        return "'Failed to decompile.'\n"


def safe_create_directory(path):
    """Create the folder `path` and those above it; one that exists is fine.

    Raises OSError where it cannot be made, NotADirectoryError where a file is in the way.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError("%s exists and is no folder; remove it or choose another" % path)
    os.makedirs(path, exist_ok=True)
