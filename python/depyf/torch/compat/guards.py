"""Guard managers, and the state of torch that guards compare."""

import contextlib
import re
import types
from typing import Any, Dict, Iterator, Optional

from depyf.torch.compat.probes import probe
from depyf.trace.names import RELATIONAL_GUARDS


def guards_hold(manager: Any, values: Dict[str, Any]) -> bool:
    """Whether a guard manager, or up to torch 2.5 a check function, accepts these locals in a call
    of the compiled function.
    """
    with _as_called(manager):
        return bool(getattr(manager, "check", manager)(values))


@contextlib.contextmanager
def _as_called(manager: Any) -> Iterator[None]:
    # torch 2.2 and 2.3 keep for each thread with which backend and configuration the call at hand
    # was compiled, and guard on both
    from torch._dynamo import eval_frame

    backend = getattr(eval_frame, "guarded_backend_cache", None)
    config = getattr(eval_frame, "config_cache", None)
    parts = "\n".join(getattr(manager, "code_parts", None) or ())
    compiled_with = re.search(r"___compile_config_hash\(\) == '([0-9a-f]+)'", parts)
    if backend is None or config is None or compiled_with is None:
        yield
        return
    getattr(eval_frame, "_maybe_init_guarded_backend_cache")()
    getattr(eval_frame, "_maybe_init_guarded_config_cache")()
    before = backend.skip_backend_check_for_run_only_mode, config.saved_config_and_hash
    backend.skip_backend_check_for_run_only_mode = True
    config.saved_config_and_hash = types.SimpleNamespace(hash=bytes.fromhex(compiled_with.group(1)))
    try:
        yield
    finally:
        backend.skip_backend_check_for_run_only_mode, config.saved_config_and_hash = before


def guard_globals(manager: Any) -> Optional[Dict[str, Any]]:
    """The globals that a guard manager looks at: those of the compiled function. None where this
    torch does not keep them.
    """
    scope = getattr(manager, "global_scope", None)
    found = scope.get("G") if isinstance(scope, dict) else None
    return found if isinstance(found, dict) else None


def find_relational_guard() -> Any:
    def find() -> Any:
        import torch

        return torch._C._dynamo.guards.RelationalGuard

    return probe("relational guards", find)


def is_relational(guard: Any) -> bool:
    """True for a guard over several things, which appears once under each of them."""
    relational = find_relational_guard()
    if relational is not None:
        return isinstance(guard, relational)
    return type(guard).__name__ in RELATIONAL_GUARDS


def guard_root(manager: Any) -> Any:
    """The root of the guard tree of a guard manager, None on torch before 2.4 and for deleted
    managers.
    """
    return getattr(manager, "root", None)


def guard_closure_variables() -> Dict[str, Any]:
    """The names that torch gives to the expressions of every guard."""

    def find() -> Any:
        from torch._dynamo import guards

        # a function since 2.7, a table before
        table = (
            guards._get_closure_vars()
            if hasattr(guards, "_get_closure_vars")
            else getattr(guards, "CLOSURE_VARS")
        )
        return {str(name): value for name, value in table.items()}

    return dict(probe("names in guard expressions", find) or {})


def global_state() -> Optional[Dict[str, Any]]:
    """torch's global state (grad mode, autocast, threads ...) as its guard compares it, None where
    it does not tell.
    """

    def find() -> Any:
        import torch

        guard = torch._C._dynamo.guards.GlobalStateGuard
        getattr(guard(), "__getstate__")()
        return guard

    guard = probe("global state", find)
    if guard is None:
        return None
    import json

    state = guard().__getstate__()
    return json.loads(state) if isinstance(state, str) else state


def dispatch_keys(tensor: Any) -> Optional[str]:
    """The dispatch key set of a tensor as text, None where torch does not tell."""

    def find() -> Any:
        import torch

        return torch._C._dispatch_keys

    keys = probe("dispatch keys", find)
    return str(keys(tensor)) if keys is not None else None


def saved_tensors_hooks() -> Any:
    """The pair of saved-tensor hooks in force, None when there are none or torch does not tell."""

    def find() -> Any:
        import torch

        return torch._C._autograd._top_saved_tensors_default_hooks

    top = probe("saved tensor hooks", find)
    hooks = top(True) if top is not None else None
    if not hooks:
        return None
    import torch

    # torch guards on the pair only when it inlines it
    return hooks if all(isinstance(hook, torch.fx.GraphModule) for hook in hooks) else None
