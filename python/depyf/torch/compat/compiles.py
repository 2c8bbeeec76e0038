"""Compile ids, and the entries that torch keeps of compiled code."""

import sys
import types
from typing import Any, List, Optional, Tuple

from depyf.interrupts import pass_on
from depyf.torch.compat.frames import innermost
from depyf.torch.compat.probes import _found, note_unavailable, probe, require_torch
from depyf.torch.compat.switches import find_set_stance

_CONTEXT = "compile context"


def find_compile_context() -> Any:
    def find() -> Any:
        from torch._guards import CompileContext

        return CompileContext

    return probe(_CONTEXT, find)


#: torch's id that was written last, and its text: records of one compile come in a row
_written: Tuple[Any, str] = (None, "")


def current_compile() -> Tuple[Any, Optional[str], int]:
    """The running compile as (context object, compile id, attempt); (None, None, 0) outside one.

    The context object is the same one for a backward that is compiled later, where the id alone is
    not unique: ids start
    again after torch._dynamo.reset().
    """
    global _written
    context_class = _found.get(_CONTEXT) or find_compile_context()
    if context_class is None:
        return None, None, 0
    try:
        get = getattr(context_class, "try_get", None) or context_class.get
        context = get()
    except Exception:
        pass_on()
        return None, None, 0
    compile_id = getattr(context, "compile_id", None)
    if compile_id is None:
        return context, None, 0
    known, text = _written
    if known is not compile_id:
        text = str(compile_id)
        _written = (compile_id, text)
    return context, text, int(getattr(context, "attempt", 0))


def find_cache_entry_list() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import _debug_get_cache_entry_list

        return _debug_get_cache_entry_list

    return probe("cache entries", find)


def cache_entries(code: types.CodeType) -> Optional[List[Any]]:
    """torch's cache entries of one original code object, in the order in which torch tries them.

    None when unknown.
    """
    find = find_cache_entry_list()
    if find is None:
        return None
    try:
        return list(find(code))
    except Exception as error:
        pass_on()
        note_unavailable("cache entries", "%s: %s" % (type(error).__name__, error))
        return None


def entry_guard_manager(cache_entry: Any) -> Any:
    """The guard manager (torch 2.6+) or check function of a cache entry."""
    manager = getattr(cache_entry, "guard_manager", None)
    return manager if manager is not None else getattr(cache_entry, "check_fn", None)


def entry_compile_id(cache_entry: Any) -> Optional[str]:
    """The compile id of a cache entry as text, None where torch does not keep it."""
    compile_id = getattr(cache_entry, "compile_id", None)
    return str(compile_id) if compile_id is not None else None


def is_invalidated(cache_entry: Any) -> bool:
    """True for an entry that torch keeps in its list but no longer uses."""
    return getattr(cache_entry, "code", None) is None


def replaces_serialised_code() -> bool:
    """True when torch is going to pickle the transformed code, so that it must stay torch's own."""

    def find() -> Any:
        from torch._dynamo import config

        return config

    config = probe("dynamo config", find)
    return bool(getattr(config, "caching_precompile", False))


def step_into(code: types.CodeType) -> None:
    """Makes code that torch has never compiled run without Dynamo's callback, into which a debugger
    would step.

    Where there is a stance, `no_compile` has done so.
    """

    def find() -> Any:
        import torch

        return getattr(torch._C._dynamo.eval_frame, "skip_code")

    skip = probe("code that is not compiled", find) if find_set_stance() is None else None
    if skip is not None:
        skip(code)


def forget_code(code: types.CodeType) -> None:
    """Drops every entry that torch keeps of one original code object."""

    def find() -> Any:
        import torch

        return torch._C._dynamo.eval_frame.reset_code

    reset = probe("forgetting compiled code", find)
    if reset is not None:
        reset(code)


def forget_everything() -> None:
    """Drops everything that torch has compiled in this process, where it has compiled anything."""
    if "torch._dynamo.eval_frame" in sys.modules:
        require_torch()._dynamo.reset()


def as_written(fn: Any) -> Any:
    """The function or module that torch.compile was given, where `fn` is what it returned; `fn`
    itself else. To call it takes no time in a wrapper of torch's.
    """
    if not is_compiled(fn):
        return fn
    inner = getattr(fn, "_orig_mod", None)
    return innermost(fn) if inner is None else inner


def is_compiled(fn: Any) -> bool:
    """True for what torch.compile returned: an optimised function or module."""
    if hasattr(fn, "_torchdynamo_orig_callable"):
        return True

    def find() -> Any:
        from torch._dynamo.eval_frame import OptimizedModule

        return OptimizedModule

    kind = probe("optimised module", find)
    return kind is not None and isinstance(fn, kind)
