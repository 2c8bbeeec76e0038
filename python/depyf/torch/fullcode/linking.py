"""What a full_code file calls: guard managers, objects and globals of the process that wrote it."""

import builtins
import importlib
import sys
import types
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

from depyf.model import LiveObject
from depyf.torch import compat, guards

#: guard managers by the token that a full_code file carries, so that the file can ask them while
#: they live
managers: Dict[str, LiveObject] = {}
#: where the objects are that stand in transformed code, by the same token: code objects that hold
#: them, and their ids by name
holders: Dict[str, Tuple[LiveObject, LiveObject, Dict[str, int]]] = {}
#: names that the guards of a full_code file call and this module supplies through `link`
HELPERS = (
    "__check_tensor",
    "__check_no_aliasing",
    "__saved_tensors_hooks",
    "__global_state",
    "__checked_by_torch",
)


def forget_gone() -> None:
    """Forgets the guard managers and the code that no longer exist."""
    for token in [token for token, known in managers.items() if known.get() is None]:
        del managers[token]
    for token in [
        token
        for token, (code, own, _names) in holders.items()
        if code.get() is None and own.get() is None
    ]:
        del holders[token]


def checked_by_torch(token: str, values: Dict[str, Any]) -> bool:
    """Asks torch's own guard manager.

    Guards that only it can check are taken to hold once it is gone.
    """
    known = managers.get(token)
    manager = known.get() if known is not None else None
    if manager is None:
        return True
    return compat.guards_hold(manager, values)


def constant(token: str, name: str) -> Any:
    """The object that transformed code holds as a constant and that has no name of its own.

    Raises:
        LookupError: the code has died, or it was another process that compiled it.
    """
    code, own, names = holders.get(token) or (LiveObject(), LiveObject(), {})
    inside: List[Any] = [holder for holder in (own.get(), code.get()) if holder is not None]
    held = {id(one) for one in inside}
    seen: Set[int] = set()  # by id: what holds objects may share them
    while inside:
        one = inside.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if id(one) == names[name] and id(one) not in held:
            return one
        if type(one) is tuple or type(one) is frozenset:
            inside.extend(one)
        elif type(one) is types.CodeType:
            inside.extend(one.co_consts)
    raise LookupError(
        "%s is an object of the process that compiled this code, and that code no longer exists"
        % name
    )


def find(module: str, *names: str) -> Any:
    """The attribute of a module that `names` lead to; the module itself without any."""
    found = importlib.import_module(module)
    for name in names:
        found = getattr(found, name)
    return found


def with_cells(factory: Callable[..., Any], cells: Iterable[Any]) -> Any:
    """The function that `factory` returns, with these cells as its parameters instead of new ones.

    Functions that are defined beside it in the factory share the cells too.
    """
    code = factory.__code__
    given = dict(zip(code.co_varnames[: code.co_argcount], cells))
    made: Dict[int, Any] = {}

    def bind(function: types.FunctionType) -> types.FunctionType:
        closure = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name in given:
                closure.append(given[name])
                continue
            if id(cell) not in made:
                made[id(cell)] = cell
                content = cell.cell_contents
                if type(content) is types.FunctionType and content.__qualname__.startswith(
                    factory.__qualname__ + "."
                ):
                    cell.cell_contents = bind(content)
            closure.append(made[id(cell)])
        bound = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            tuple(closure),
        )
        bound.__kwdefaults__ = function.__kwdefaults__
        return bound

    return bind(factory(*[None] * code.co_argcount))


def link(
    names: Dict[str, Any],
    module: str,
    token: str = "",
    of_torch: Optional[Dict[str, str]] = None,
) -> None:
    """Supplies what the code in a full_code file uses: guard helpers, and the globals of the module
    it came from.

    Args:
        names: the file's globals; what is there already stays.
        module: name of the module in which the functions were defined. Its graphs and resume
            functions are there only in the process that compiled them.
        token: which guard manager knows those globals; not every function was defined in a module.
        of_torch: names in the file for globals that torch named, and torch's names.
    """
    supplied: Dict[str, Any] = dict(compat.guard_closure_variables())
    supplied.update(
        {
            "__check_tensor": guards.check_tensor,
            "__check_no_aliasing": guards.check_no_aliasing,
            "__saved_tensors_hooks": guards.saved_tensors_hooks,
            "__global_state": compat.global_state,
            "__checked_by_torch": checked_by_torch,
            "__unmarked": guards.unmarked,
            "__with_cells": with_cells,
            "__constant": constant,
            "__find": find,
        }
    )
    supplied["torch"] = compat.require_torch()
    supplied["__builtin_iter__"] = builtins.iter
    known = managers.get(token)
    home = compat.guard_globals(known.get()) if known is not None else None
    if home is None and module in sys.modules:
        home = vars(sys.modules[module])
    if home is not None:
        supplied.update({name: value for name, value in home.items() if name not in _MODULE_NAMES})
    for given, real in (of_torch or {}).items():
        if real in supplied:
            names[given] = supplied[real]
    # guards look at the globals of the program itself, which change while it runs
    names.setdefault("__home__", home if home is not None else names)
    for name, value in supplied.items():
        names.setdefault(name, value)


_MODULE_NAMES = frozenset(
    (
        "__name__",
        "__file__",
        "__spec__",
        "__loader__",
        "__doc__",
        "__package__",
        "__path__",
        "__cached__",
        "__builtins__",
    )
)
