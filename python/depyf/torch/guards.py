"""Guards of compiled entries: read from torch's guard tree, and what their expressions call."""

import functools
import re
from typing import Any, FrozenSet, Iterator, List, Set

from depyf.interrupts import pass_on
from depyf.model import Guard
from depyf.torch import compat
from depyf.trace.guard_text import make_guard


@functools.lru_cache(maxsize=None)
def known_state() -> FrozenSet[str]:
    """The parts of torch's global state that `compat.global_state` tells of."""
    return frozenset(compat.global_state() or ())


def _leaf_guards(leaves: List[Any], source: str, seen: Set[int]) -> Iterator[Guard]:
    for leaf in leaves:
        if compat.is_relational(leaf):
            if id(leaf) in seen:
                continue
            seen.add(id(leaf))
        stack = None
        if hasattr(leaf, "user_stack"):
            try:
                stack = leaf.user_stack()
            except Exception:
                pass_on()
                stack = None
        for text in leaf.verbose_code_parts():
            yield make_guard(text, type(leaf).__name__, source, stack, known_state())


def _children(manager: Any) -> List[Any]:
    children: List[Any] = []
    if hasattr(
        manager, "get_key_value_managers"
    ):  # the contents of a dict hang here and nowhere else
        for _, pair in sorted(manager.get_key_value_managers().items()):
            children.extend(child for child in pair if child is not None)
    children.extend(manager.get_child_managers())
    return children


def walk(root: Any) -> List[Guard]:
    """Every guard of a tree in the order in which torch's own listing has them.

    Contents of dicts and the guards over symbolic shapes are included; a guard over several things
    appears once.
    """
    found: List[Guard] = []
    # pybind hands out the same Python object for one guard only while a reference to it lives,
    # hence `alive`
    seen: Set[int] = set()
    alive: List[Any] = []
    work = [root]
    while work:
        manager = work.pop()
        leaves = manager.get_leaf_guards()
        alive.append(leaves)
        try:
            source = manager.get_source()
        except Exception:
            pass_on()
            source = ""
        found.extend(_leaf_guards(leaves, source, seen))
        work.extend(reversed(_children(manager)))
    if hasattr(root, "get_epilogue_lambda_guards"):
        for leaf in root.get_epilogue_lambda_guards():
            for text in leaf.verbose_code_parts():
                found.append(make_guard(text, type(leaf).__name__, state=known_state()))
    return found


def guards_of(manager: Any) -> List[Guard]:
    """The guards of a guard manager (2.4+) or of a check function (before), empty for one that
    torch has deleted.
    """
    root = compat.guard_root(manager)
    if root is not None and hasattr(root, "get_leaf_guards"):
        return walk(root)
    parts = (
        getattr(manager, "verbose_code_parts", None) or getattr(manager, "code_parts", None) or ()
    )
    return [make_guard(text, state=known_state()) for text in parts]


def check_tensor(
    value: Any,
    type_name: str,
    dispatch_keys: str,
    dtype: Any,
    device: Any = None,
    requires_grad: bool = False,
    size: Any = None,
    stride: Any = None,
) -> bool:
    """Does what torch's TENSOR_MATCH guard does, in Python.

    Args:
        value: the guarded value.
        type_name: name of the exact type that it must have.
        dispatch_keys: the dispatch key set as torch prints it.
        dtype, device, requires_grad: what they must be; device is the index, None for the CPU.
        size, stride: lists with None where the dimension is dynamic.
    """
    kind = type(value)
    if type_name not in (
        kind.__name__,
        kind.__qualname__,
        "%s.%s" % (kind.__module__, kind.__qualname__),
    ):
        return False
    if value.dtype != dtype or value.device.index != device:
        return False
    if bool(value.requires_grad) != bool(requires_grad):
        return False
    keys = compat.dispatch_keys(value)
    if keys is not None and not _same_keys(keys, dispatch_keys):
        return False
    if size is not None:
        if value.dim() != len(size) or any(
            want is not None and have != want for have, want in zip(value.size(), size)
        ):
            return False
    if stride is not None and str(value.layout) == "torch.strided":
        if len(stride) != value.dim() or any(
            want is not None and have != want for have, want in zip(value.stride(), stride)
        ):
            return False
    return True


def unmarked(value: Any, *marks: str) -> bool:
    """True when nobody called mark_dynamic() or one of its kind for the value."""
    return not any(hasattr(value, "_dynamo_%s_indices" % mark) for mark in marks)


def _same_keys(have: str, want: str) -> bool:
    # torch compares the key sets after the thread's included and excluded keys are applied, which
    # changes functionality keys (autograd, autocast, ADInplaceOrView) and never the backend; the
    # backend is what a tensor itself carries
    def backends(text: str) -> Set[str]:
        keys = set(re.findall(r"[A-Za-z0-9_]+", text.partition("(")[2]))
        return {key for key in keys if not key.startswith(("Auto", "ADInplace", "BackendSelect"))}

    return backends(have) == backends(want)


def check_no_aliasing(*values: Any) -> bool:
    """True when no two of the values are the same object."""
    return len({id(value) for value in values}) == len(values)


def saved_tensors_hooks() -> Any:
    """The ids of the innermost saved-tensor hooks as torch's guard compares them, None when there
    are none.
    """
    hooks = compat.saved_tensors_hooks()
    return None if hooks is None else tuple(id(hook) for hook in hooks)
