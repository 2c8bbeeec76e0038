"""The standard library as it was when depyf was imported.

A program may put functions of its own in place of `print`, `open`, `json.dumps` or `time.time`, to
count calls, to forbid them, or to turn a clock. Calls of depyf's own must not be among them, and
what such a function raises must not end depyf's work. So depyf's modules look such names up in
their own globals, where a module of the standard library is a copy that nobody else has (`io.open`
is `open`), and where each builtin function has its name, too. What these functions call in turn is
looked up as always.
"""

import builtins
import sys
import types

TYPE_CHECKING = False  # as type checkers read it; `typing` is not loaded with the package
if TYPE_CHECKING:
    from typing import Any, Dict, Set

#: modules of which depyf uses functions alone; `sys` is not among them, since depyf sets and reads
#: what belongs to the process there
_MODULES = (
    "ast bisect codecs collections contextlib copy dataclasses datetime difflib dis functools gc "
    "glob hashlib html inspect io itertools json keyword logging math operator os os.path "
    "posixpath ntpath random re shutil signal stat statistics string struct subprocess tempfile "
    "textwrap threading time tokenize traceback types unicodedata uuid weakref zlib"
).split()

_functions: "Dict[str, Any]" = {
    name: value
    for name, value in vars(builtins).items()
    if type(value) is types.BuiltinFunctionType and not name.startswith("__")
}
_copies: "Dict[str, types.ModuleType]" = {}
_kept: "Set[str]" = set()


def _copy_of(module: types.ModuleType) -> types.ModuleType:
    found = _copies.get(module.__name__)
    if found is None:
        found = _copies[module.__name__] = types.ModuleType(module.__name__, module.__doc__)
        vars(found).update(vars(module))
        path: "Any" = vars(module).get("path") if module.__name__ == "os" else None
        if path is not None:
            vars(found)["path"] = _copy_of(path)
    return found


def remember() -> None:
    """Copies the modules that are loaded by now."""
    for name in _MODULES:
        module = sys.modules.get(name)
        if type(module) is types.ModuleType:
            _copy_of(module)


def keep() -> None:
    """Gives the modules of depyf that were loaded meanwhile references of their own."""
    remember()
    for name in [one for one in list(sys.modules) if one.startswith("depyf.")]:
        module = sys.modules.get(name)  # a program may have put something else there
        if type(module) is not types.ModuleType or name in _kept or name == __name__:
            continue
        _kept.add(name)
        names = vars(module)
        if name != "depyf._core":  # which looks nothing up there
            for key, value in _functions.items():
                names.setdefault(key, value)
        for key, value in list(names.items()):
            if type(value) is not types.ModuleType or key.startswith("__import_"):
                continue  # the latter are Dynamo's, which asks whether it finds the same object
            if value.__name__ in _copies:
                names[key] = _copy_of(value)
