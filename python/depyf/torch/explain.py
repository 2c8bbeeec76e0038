"""`depyf.explain.dump_src`: a run read from torch's caches after the fact."""

import types
from typing import Any, Dict, List, Set, Tuple

from depyf.model import LiveObject
from depyf.plain import file_of, name_of, plain_dict
from depyf.torch import compat, guards
from depyf.torch.capture import Session
from depyf.torch.codes import resume_code
from depyf.torch.fullcode import render
from depyf.torch_wrappers import unwrapped
from depyf.trace.guard_text import name_whole_paths


def _code_of(target: Any) -> types.CodeType:
    if type(target) is types.CodeType:
        return target
    inner = unwrapped(target)
    inner = getattr(inner, "__func__", inner)
    code = getattr(inner, "__code__", None)
    if type(code) is not types.CodeType:
        raise TypeError("a function or a code object is needed, not %r" % (target,))
    return code


def dump_src(original_code: Any, module: Any) -> str:
    """See `depyf.explain.dump_src`."""
    compat.require_torch()
    code = _code_of(original_code)
    scope: Dict[str, Any] = plain_dict(module if isinstance(module, dict) else vars(module)) or {}
    session = Session()
    first = None
    work: List[types.CodeType] = [code]
    seen: Set[int] = set()
    while work:
        current = work.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        for position, (cache_entry, transformed) in enumerate(_entries(current)):
            compile_id = compat.entry_compile_id(cache_entry) or "%d" % position
            session.on_bytecode(
                current, transformed, None, "%s#%d" % (compile_id, id(cache_entry)), 0, scope, {}
            )
            function = session._function(current)
            entry = function.entries[-1]
            entry.compile_id = compile_id
            manager = compat.entry_guard_manager(cache_entry)
            entry._guard_manager = LiveObject(manager)
            entry.guards = guards.guards_of(manager)
            name_whole_paths(entry.guards, [file_of(code)])
            first = first or function
            for name in entry.calls:
                resumed = resume_code(scope.get(name))
                if resumed is not None:
                    work.append(resumed)
    if first is None:
        raise ValueError(
            "torch has compiled nothing for %s; call the compiled function first" % name_of(code)
        )
    return render(first, session.run)


def _entries(code: types.CodeType) -> List[Tuple[Any, types.CodeType]]:
    return [
        (entry, entry.code)
        for entry in compat.cache_entries(code) or ()
        if not compat.is_invalidated(entry)
    ]
