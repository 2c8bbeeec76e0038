"""The one place that touches private names of torch.

Every private name is probed once; what is missing is recorded with its reason and everything else goes on. The rest of
depyf.torch asks here and never imports from torch's private modules itself.
"""

import contextlib
import functools
import logging
import os
import re
import sys
import traceback
import types
import weakref
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set, Tuple

from depyf.imports import WhenImported

#: name of the probe -> why it is unavailable
_unavailable: Dict[str, str] = {}
_found: Dict[str, Any] = {}

TRACE_LOGGER = "torch.__trace"
#: what later versions of torch put behind a number, so that names of two processes differ
_UUID = r"(?:_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12})?"
COMPILED_FUNCTION = re.compile(r"^(__compiled_fn_\d+)" + _UUID + "$")
RESUME_FUNCTION = re.compile(r"^__resume_at_\d+_\d+" + _UUID + "$")
RESUME_CODE = re.compile(
    r"^(?:torch_dynamo_resume_in_.*_at_\d+|resume_in_.+|<resume in .+>)$", re.DOTALL
)


class MissingTorch(ImportError):
    """torch is not installed, or not a version that can be looked into."""


def require_torch() -> Any:
    """Returns the torch module.

    Raises:
        MissingTorch: torch cannot be imported; the message says how to get it.
    """
    try:
        import torch
    except Exception as error:  # a broken installation raises more than ImportError
        raise MissingTorch(
            "depyf looks into torch.compile and needs torch, which cannot be imported here (%s: %s). Install it with "
            "`pip install torch`; depyf.decompile works without it." % (type(error).__name__, error)
        ) from error
    return torch


def probe(name: str, find: Callable[[], Any]) -> Any:
    """Returns what `find` returns, or None, remembering why, when it raises."""
    if name not in _found:
        try:
            _found[name] = find()
            _unavailable.pop(name, None)
        except Exception as error:
            _found[name] = None
            _unavailable[name] = "%s: %s" % (type(error).__name__, error)
    return _found[name]


def unavailable() -> Dict[str, str]:
    """What this torch does not offer: name of the probe -> reason."""
    return dict(_unavailable)


def note_unavailable(name: str, reason: str) -> None:
    """Records something that turned out not to work after it had been found."""
    _unavailable.setdefault(name, reason)


def probe_all() -> None:
    """Runs every probe that loads nothing which the program may not need (Dynamo, inductor), so that `unavailable` is filled."""
    for find in (
        _compile_context,
        _intern_table,
        _relational_guard,
        _set_stance,
        _trace_structured,
    ):
        find()
    if _HOOKED in sys.modules:
        for find in (_register_bytecode_hook, _cache_entry_list, _innermost_function):
            find()


# ---- the bytecode hook -------------------------------------------------------------------------------------------------

_HOOKED = "torch._dynamo.convert_frame"


class _LaterHook:
    """The handle of a bytecode hook that is registered when Dynamo has been imported."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._handle: Any = WhenImported(_HOOKED, self._register)

    def _register(self) -> None:
        register = _register_bytecode_hook()
        hide_from_dynamo()
        try:
            self._handle = register(self._hook) if register is not None else None
        except Exception as error:
            note_unavailable("bytecode hook", "%s: %s" % (type(error).__name__, error))

    def remove(self) -> None:
        """Ends the hook, or the wait for it."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def _register_bytecode_hook() -> Any:
    def find() -> Any:
        from torch._dynamo.convert_frame import register_bytecode_hook

        return register_bytecode_hook

    return probe("bytecode hook", find)


def register_bytecode_hook(
    hook: Callable[[types.CodeType, types.CodeType], Optional[types.CodeType]],
) -> Any:
    """Registers a hook `(original, transformed) -> replacement or None`; returns a handle with `remove()`, or None.

    Dynamo is not imported for that: where the program has not done so yet, the hook is registered when it does.
    """
    if _HOOKED not in sys.modules:
        return _LaterHook(hook)
    hide_from_dynamo()
    register = _register_bytecode_hook()
    return register(hook) if register is not None else None


def hooks_behind(hook: Any) -> List[str]:
    """Names of the bytecode hooks that torch calls behind this one, with the places where they are defined."""

    def find() -> Any:
        from torch._dynamo.convert_frame import _bytecode_hooks

        return _bytecode_hooks

    known = probe("table of bytecode hooks", find)
    hooks = list(known.values()) if isinstance(known, dict) else []
    found = []
    for one in hooks[hooks.index(hook) + 1 :] if hook in hooks else ():
        code = getattr(one, "__code__", None)
        name = getattr(one, "__qualname__", type(one).__qualname__)
        place = " (%s:%d)" % (code.co_filename, code.co_firstlineno) if code is not None else ""
        found.append("the bytecode hook %s%s" % (name, place))
    return found


def _compiled_frame(name: str) -> Optional[Dict[str, Any]]:
    frame: Optional[types.FrameType] = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "_compile" and frame.f_code.co_filename.endswith(
            "convert_frame.py"
        ):
            found = frame.f_locals.get(name)
            return found if isinstance(found, dict) else None
        frame = frame.f_back
    return None


def resume_parameters(
    code: types.CodeType, scope: Optional[Dict[str, Any]]
) -> Dict[str, Tuple[str, ...]]:
    """Parameter names of the resume functions that `code` calls by a global name, as torch installed them in `scope`.

    A resume function with closure variables stands behind a factory from torch 2.9 on; its parameters stay unknown.
    """
    found: Dict[str, Tuple[str, ...]] = {}
    for name in code.co_names if scope else ():
        if not name.startswith("__resume_at_"):
            continue
        value = scope.get(name) if scope is not None else None
        body = getattr(value, "__code__", value)
        if isinstance(body, types.CodeType) and "resume_in_" in body.co_name:
            found[name] = body.co_varnames[: body.co_argcount]
    return found


def graph_outputs(
    code: types.CodeType, scope: Optional[Dict[str, Any]]
) -> Dict[str, Tuple[str, ...]]:
    """What the graphs that `code` calls by a global name call their outputs; "" for no node.

    Known where the backend runs the captured graph as it is.
    """
    found: Dict[str, Tuple[str, ...]] = {}
    for name in code.co_names if scope else ():
        if not COMPILED_FUNCTION.match(name):
            continue
        module = graph_module_of(scope.get(name)) if scope is not None else None
        try:
            nodes = [node for node in module.graph.nodes if node.op == "output"] if module else []
            if nodes and isinstance(nodes[0].args[0], (tuple, list)):
                found[name] = tuple(str(getattr(v, "name", "")) for v in nodes[0].args[0])
        except Exception:
            continue
    return found


def frame_globals() -> Optional[Dict[str, Any]]:
    """The globals of the frame that is being compiled, to be called from inside a bytecode hook; None when not found."""
    return _compiled_frame("globals")


def frame_locals() -> Optional[Dict[str, Any]]:
    """The locals of the frame that is being compiled, to be called from inside a bytecode hook; None when not found."""
    return _compiled_frame("locals")


def register_weak_bytecode_hook(owner: Any, method: str) -> Any:
    """Registers a bytecode hook that calls `owner.method` while the owner lives, and removes itself after that.

    Raises:
        MissingTorch: torch is not installed.
        RuntimeError: this torch has no bytecode hook.
    """
    require_torch()
    target = weakref.ref(owner)

    def hook(code: types.CodeType, new_code: types.CodeType) -> Optional[types.CodeType]:
        alive = target()
        return getattr(alive, method)(code, new_code) if alive is not None else None

    handle = register_bytecode_hook(hook)
    if handle is None:
        raise RuntimeError(
            "this torch has no bytecode hook: %s" % _unavailable.get("bytecode hook")
        )
    weakref.finalize(owner, handle.remove)
    return handle


# ---- what Dynamo does not look at ---------------------------------------------------------------------------------------


def _set_eval_frame() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import set_eval_frame

        return set_eval_frame

    return probe("switch of Dynamo's evaluation of frames", find)


def _skip_code() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import skip_code

        return skip_code

    return probe("code that Dynamo skips", find)


def _skip_what_is_called() -> Any:
    def find() -> Any:
        from torch._C._dynamo import eval_frame as native

        action = native._FrameAction.SKIP
        strategy = native._FrameExecStrategy(action, action)
        return lambda code: native.set_code_exec_strategy(code, strategy)

    return probe("code below which Dynamo compiles nothing", find)


#: methods that a debugger enters when a program stops, and which run none of its code by themselves
_STOPS = (
    ("bdb", "Bdb", ("trace_dispatch",)),
    ("bdb", "_MonitoringTracer", ("call_callback", "line_callback", "return_callback")),
    ("pydevd", "PyDB", ("do_wait_suspend", "set_suspend", "process_internal_commands")),
)


def hide_debuggers() -> None:
    """Keeps Dynamo from compiling what a debugger runs while the program stands in compiled code.

    What is compiled there takes numbers of graphs, and can fail where the debugger must not.
    """
    import bdb  # noqa: F401  a debugger may be loaded later, by breakpoint()

    skip = _skip_what_is_called()
    for module, owner, names in _STOPS if skip is not None else ():
        found = getattr(sys.modules.get(module), owner, None)
        for name in names:
            function = getattr(found, name, None)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if isinstance(code, types.CodeType):
                skip(code)


def untraced(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Calls a function; Dynamo looks at no frame of it, nor of what it calls, though torch runs compiled code in this thread.

    What calls this must be known to `hide_from_dynamo`.
    """
    change = _set_eval_frame() if _HOOKED in sys.modules else None
    if change is None:
        return function(*arguments, **keywords)
    before = change(None)
    try:
        return function(*arguments, **keywords)
    finally:
        change(before)


_hidden: Set[str] = set()


def hide_from_dynamo() -> None:
    """Tells Dynamo to skip every function of depyf that is loaded by now; nothing where Dynamo is not loaded.

    Under compiled autograd Dynamo looks at each frame that runs while a backward is compiled.
    """
    skip = _skip_code() if _HOOKED in sys.modules else None
    if skip is None:
        return
    for name, module in list(sys.modules.items()):
        if name in _hidden or not (name == "depyf" or name.startswith("depyf.")):
            continue
        _hidden.add(name)
        pending: List[Any] = [one for one in vars(module).values() if _is_of(one, name)]
        for one in pending:
            if isinstance(one, type):
                pending.extend(part for part in vars(one).values() if _is_of(part, name))
            elif isinstance(one, property):
                pending.extend(part for part in (one.fget, one.fset) if part is not None)
            elif isinstance(one, types.CodeType):
                skip(one)
                pending.extend(part for part in one.co_consts if isinstance(part, types.CodeType))
            else:
                function = getattr(one, "__wrapped__", getattr(one, "__func__", one))
                code = getattr(function, "__code__", None)
                if isinstance(code, types.CodeType):
                    pending.append(code)


def _is_of(value: Any, module: str) -> bool:
    if isinstance(value, property):
        return True
    value = getattr(value, "__func__", value)
    return (isinstance(value, type) or callable(value)) and getattr(
        value, "__module__", None
    ) == module


# ---- compile ids -------------------------------------------------------------------------------------------------------


def _compile_context() -> Any:
    def find() -> Any:
        from torch._guards import CompileContext

        return CompileContext

    return probe("compile context", find)


def current_compile() -> Tuple[Any, Optional[str], int]:
    """The running compile as (context object, compile id, attempt); (None, None, 0) outside one.

    The context object is the same one for a backward that is compiled later, where the id alone is not unique: ids start
    again after torch._dynamo.reset().
    """
    context_class = _compile_context()
    if context_class is None:
        return None, None, 0
    try:
        context = (
            context_class.try_get() if hasattr(context_class, "try_get") else context_class.get()
        )
    except Exception:
        return None, None, 0
    if context is None or getattr(context, "compile_id", None) is None:
        return context, None, 0
    return context, str(context.compile_id), int(getattr(context, "attempt", 0))


# ---- caches of compiled code -------------------------------------------------------------------------------------------


def _cache_entry_list() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import _debug_get_cache_entry_list

        return _debug_get_cache_entry_list

    return probe("cache entries", find)


def cache_entries(code: types.CodeType) -> Optional[List[Any]]:
    """torch's cache entries of one original code object, in the order in which torch tries them; None when unknown."""
    find = _cache_entry_list()
    if find is None:
        return None
    try:
        return list(find(code))
    except Exception as error:
        note_unavailable("cache entries", "%s: %s" % (type(error).__name__, error))
        return None


def entry_guard_manager(cache_entry: Any) -> Any:
    """The guard manager (torch 2.6+) or check function of a cache entry."""
    manager = getattr(cache_entry, "guard_manager", None)
    return manager if manager is not None else getattr(cache_entry, "check_fn", None)


def guards_hold(manager: Any, values: Dict[str, Any]) -> bool:
    """Whether a guard manager, or up to torch 2.5 a check function, accepts these locals in a call of the compiled function."""
    with _as_called(manager):
        return bool(getattr(manager, "check", manager)(values))


@contextlib.contextmanager
def _as_called(manager: Any) -> Iterator[None]:
    # torch 2.2 and 2.3 keep for each thread with which backend and configuration the call at hand was compiled, and guard on both
    from torch._dynamo import eval_frame

    backend = getattr(eval_frame, "guarded_backend_cache", None)
    config = getattr(eval_frame, "config_cache", None)
    parts = "\n".join(getattr(manager, "code_parts", None) or ())
    compiled_with = re.search(r"___compile_config_hash\(\) == '([0-9a-f]+)'", parts)
    if backend is None or config is None or compiled_with is None:
        yield
        return
    eval_frame._maybe_init_guarded_backend_cache()
    eval_frame._maybe_init_guarded_config_cache()
    before = backend.skip_backend_check_for_run_only_mode, config.saved_config_and_hash
    backend.skip_backend_check_for_run_only_mode = True
    config.saved_config_and_hash = types.SimpleNamespace(hash=bytes.fromhex(compiled_with.group(1)))
    try:
        yield
    finally:
        backend.skip_backend_check_for_run_only_mode, config.saved_config_and_hash = before


def guard_globals(manager: Any) -> Optional[Dict[str, Any]]:
    """The globals that a guard manager looks at: those of the compiled function. None where this torch does not keep them."""
    scope = getattr(manager, "global_scope", None)
    found = scope.get("G") if isinstance(scope, dict) else None
    return found if isinstance(found, dict) else None


def entry_compile_id(cache_entry: Any) -> Optional[str]:
    """The compile id of a cache entry as text, None where torch does not keep it."""
    compile_id = getattr(cache_entry, "compile_id", None)
    return str(compile_id) if compile_id is not None else None


def is_invalidated(cache_entry: Any) -> bool:
    """True for an entry that torch keeps in its list but no longer uses."""
    return getattr(cache_entry, "code", None) is None


def _innermost_function() -> Any:
    def find() -> Any:
        from torch._dynamo.eval_frame import innermost_fn

        return innermost_fn

    return probe("innermost function", find)


def graph_module_of(compiled: Any) -> Any:
    """The torch.fx.GraphModule behind an installed `__compiled_fn_N`, where the backend runs it as it is; else None."""
    find = _innermost_function()
    try:
        inner = find(compiled) if find is not None else compiled
        owner = getattr(inner, "__self__", None) or inner
        import torch

        return owner if isinstance(owner, torch.fx.GraphModule) else None
    except Exception:
        return None


def replaces_serialised_code() -> bool:
    """True when torch is going to pickle the transformed code, so that it must stay torch's own."""

    def find() -> Any:
        from torch._dynamo import config

        return config

    config = probe("dynamo config", find)
    return bool(getattr(config, "caching_precompile", False))


# ---- guards ------------------------------------------------------------------------------------------------------------


def _relational_guard() -> Any:
    def find() -> Any:
        import torch

        return torch._C._dynamo.guards.RelationalGuard

    return probe("relational guards", find)


#: kinds of guards over several things, each of which appears once under each of them
RELATIONAL_GUARDS = (
    "NO_TENSOR_ALIASING",
    "OBJECT_ALIASING",
    "STORAGE_OVERLAPPING",
    "SYMBOLIC_SHAPE_GUARD",
)


def is_relational(guard: Any) -> bool:
    """True for a guard over several things, which appears once under each of them."""
    relational = _relational_guard()
    if relational is not None:
        return isinstance(guard, relational)
    return type(guard).__name__ in RELATIONAL_GUARDS


def guard_root(manager: Any) -> Any:
    """The root of the guard tree of a guard manager, None on torch before 2.4 and for deleted managers."""
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
    """torch's global state (grad mode, autocast, threads ...) as its guard compares it, None where it does not tell."""

    def find() -> Any:
        import torch

        guard = torch._C._dynamo.guards.GlobalStateGuard
        guard().__getstate__()
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


# ---- the structured trace ----------------------------------------------------------------------------------------------


def _trace_structured() -> Any:
    def find() -> Any:
        from torch._logging._internal import trace_structured

        return trace_structured

    return probe("structured trace", find)


def trace_logger() -> Optional[logging.Logger]:
    """The logger that carries torch's structured trace, None where torch has none (2.2)."""
    return logging.getLogger(TRACE_LOGGER) if _trace_structured() is not None else None


class _AskedHandlers(list):
    """The handlers of the trace logger while depyf's is the only one.

    torch computes a record, its payload as JSON included, when the logger has handlers at all, and most records (timings for
    a profiler's view, descriptions of tensors) are of no use here. So when torch's `trace_structured` asks whether there are
    handlers, the answer is that there are none for those.
    """

    unwanted: FrozenSet[str] = frozenset()
    ours: Any = None

    def __bool__(self) -> bool:
        if len(self) != 1 or self[0] is not self.ours:
            return len(self) > 0
        frame = sys._getframe(1)
        code = frame.f_code
        if "trace_structured" not in code.co_name:
            return True
        given = frame.f_locals
        name = given.get("name")
        if isinstance(name, str) and name in self.unwanted:
            return False
        change = _set_eval_frame() if _HOOKED in sys.modules else None
        before = change(None) if change is not None else None
        if before is None:
            return True
        # Dynamo looks at each frame that this thread runs now, so at those of logging and json too. It is called again where
        # Dynamo does not look, and this call ends as without a handler.
        try:
            ask = _trace_structured()
            own = ask.__code__
            names = own.co_varnames[: own.co_argcount + own.co_kwonlyargcount]
            ask(**{one: given[one] for one in names if one in given})
        finally:
            change(before)
        return False

    def copy(self) -> "_AskedHandlers":
        """The same, for logging, which from CPython 3.14 on takes a handler out of a copy."""
        found = _AskedHandlers(self)
        found.ours, found.unwanted = self.ours, self.unwanted
        return found


def add_trace_handler(handler: logging.Handler, unwanted: FrozenSet[str]) -> None:
    """Adds a handler of the structured trace, for which torch does not compute the records of these names."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.addHandler(handler)
    handlers = _AskedHandlers(logger.handlers)
    handlers.ours, handlers.unwanted = handler, unwanted
    logger.handlers = handlers


def remove_trace_handler(handler: logging.Handler) -> None:
    """Ends what `add_trace_handler` began; handlers that others added stay."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.removeHandler(handler)
    logger.handlers = list(logger.handlers)


class _AskedLevels(dict):
    """What a logger remembers of which levels are enabled, with one that is, whatever the level of the logger.

    The level itself belongs to the program. Where Dynamo looks at each frame, those of logging would be more of them, so there
    the answer is the logger's own.
    """

    def __init__(self, logger: logging.Logger, level: int) -> None:
        super().__init__()
        self.logger = logger
        self.levels = {level}

    def __getitem__(self, level: int) -> bool:
        if level in self.levels and not self.logger.manager.disable >= level:
            change = _set_eval_frame() if _HOOKED in sys.modules else None
            before = change(None) if change is not None else None
            if before is None:
                return True
            change(before)
        return bool(super().__getitem__(level))


def ask_for(logger: logging.Logger, level: int) -> None:
    """Records of this level reach the logger's filters from now on; its level, which the program may ask for, stays."""
    known = getattr(logger, "_cache", None)
    if isinstance(known, _AskedLevels):
        known.levels.add(level)
    elif isinstance(known, dict):
        logger._cache = _AskedLevels(logger, level)  # type: ignore[attr-defined]
    else:
        note_unavailable("texts of torch's log", "logging keeps no record of enabled levels")


def stop_asking(logger: logging.Logger, level: int) -> None:
    """Ends what `ask_for` began."""
    known = getattr(logger, "_cache", None)
    if isinstance(known, _AskedLevels):
        known.levels.discard(level)
        if not known.levels:
            logger._cache = {}  # type: ignore[attr-defined]


class TracedNode(NamedTuple):
    """A node of a graph that torch has just traced, by what torch keeps of where it came from."""

    name: str
    origin: str  # the node of Dynamo's graph that it was made of; empty where torch does not tell
    sequence: int  # torch.autograd's number of the operation; -1 where there is none
    backward: bool  # made for the gradient of the operation with that number


def sources_of(node: Any) -> Tuple[str, ...]:
    """The names of the nodes that torch made a node of, as it lists them: as objects, up to 2.5 as pairs."""
    chain = node.meta.get("from_node") or ()
    return tuple(str(one[0]) if isinstance(one, tuple) else str(one.name) for one in chain)


def origin_of(node: Any) -> str:
    """The name of the node of Dynamo's graph that a node was made of; empty where torch does not tell."""
    source, chain = None, node.meta.get("from_node")
    if chain and isinstance(chain[0], tuple):  # the oldest comes first
        return str(chain[0][0])
    while chain:
        source = chain[-1]
        chain = getattr(source, "from_node", None)
    return str(getattr(source, "name", ""))


def traced_graph(name: str) -> List[TracedNode]:
    """The nodes of the graph whose text is being traced under this name, for a handler of the structured trace.

    A record holds the text alone, and the text names no origin. The graph is a variable of the function that traces, two
    calls up, and its nodes' metadata has the origin. The list is empty where that function has no graph: on a hit in one of
    torch's caches, or in a torch that keeps it elsewhere.
    """

    def find() -> Any:
        from torch.fx import GraphModule

        return GraphModule

    module = probe("graphs behind traced texts", find)
    frame: Any = sys._getframe(1)
    for _ in range(16):
        if frame is None or frame.f_code.co_name == "trace_structured":
            break
        frame = frame.f_back
    if (
        module is None
        or frame is None
        or frame.f_code.co_name != "trace_structured"
        or frame.f_back is None
    ):
        return []
    found = {
        key: value for key, value in frame.f_back.f_locals.items() if isinstance(value, module)
    }
    if (
        len({id(value) for value in found.values()}) > 1
    ):  # forward and backward are traced side by side
        found = {
            key: value
            for key, value in found.items()
            if key.startswith("bw") == ("backward" in name)
        }
    if len({id(value) for value in found.values()}) != 1:
        return []
    nodes = []
    for node in next(iter(found.values())).graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        sequence = node.meta.get("seq_nr")
        nodes.append(
            TracedNode(
                node.name,
                origin_of(node),
                sequence if isinstance(sequence, int) else -1,
                "fwd_source_fn_stack" in node.meta,
            )
        )
    return nodes


def _intern_table() -> Any:
    def find() -> Any:
        from torch._logging.structured import INTERN_TABLE

        return INTERN_TABLE

    return probe("interned names of files", find)


def interned_names() -> Dict[int, str]:
    """Number -> file name, as used in the stacks of the structured trace."""
    table = _intern_table()
    if not isinstance(table, dict):
        return {}
    return {number: text for text, number in list(table.items())}


#: loggers of inductor's scheduler -> stage; their text has no structured event
FUSION_LOGGERS = {"ir_pre_fusion": "ir_pre_fusion", "ir_post_fusion": "ir_post_fusion"}


def _fusion_loggers() -> Any:
    def find() -> Any:
        from torch._inductor import debug

        return {stage: getattr(debug, name + "_log") for name, stage in FUSION_LOGGERS.items()}

    return probe("inductor IR around fusion", find)


def fusion_loggers() -> Dict[str, logging.Logger]:
    """Stage -> logger for inductor's IR before and after fusion."""
    return dict(_fusion_loggers() or {})


#: what torch 2.2, which has no structured trace, logs -> the module and the artifact whose logger it is. Later ones trace all
#: of it, first without graph breaks.
_ARTIFACT_LOGGERS = {
    "guards": ("torch._dynamo.guards", "guards"),
    "graph_code": ("torch._dynamo.output_graph", "graph_code"),
    "graph_breaks": ("torch._dynamo.symbolic_convert", "graph_breaks"),
    "aot_joint_graph": (
        "torch._functorch._aot_autograd.jit_compile_runtime_wrappers",
        "aot_joint_graph",
    ),
    "aot_graphs": ("torch._functorch._aot_autograd.jit_compile_runtime_wrappers", "aot_graphs"),
    "aot_inference_graph": (
        "torch._functorch._aot_autograd.dispatch_and_compile_graph",
        "aot_graphs",
    ),
    "ddp_graphs": ("torch._dynamo.backends.distributed", "ddp_graphs"),
    "post_grad_graphs": ("torch._inductor.compile_fx", "post_grad_graphs"),
    "output_code": ("torch._inductor.graph", "output_code"),
}


def artifact_loggers() -> Dict[str, logging.Logger]:
    """What stands in for records that this torch does not trace: kind -> logger, of the modules that are loaded.

    To be asked again when a compile begins: Dynamo is not imported for it.
    """

    def find() -> Any:
        from torch._functorch import (
            aot_autograd,
        )  # else its first graphs would come before anyone listens

        return aot_autograd

    traced, loaded = _trace_structured() is not None, _HOOKED in sys.modules
    if traced and not (loaded and _traced_breaks() is None):
        return {}
    if loaded and not traced:
        probe("AOTAutograd", find)
    found = {
        kind: logging.getLogger("%s.__%s" % (module, artifact))
        for kind, (module, artifact) in _ARTIFACT_LOGGERS.items()
        if module in sys.modules and (kind == "graph_breaks" or not traced)
    }
    if not traced:
        found[METRICS] = logging.getLogger("torch._utils_internal")
    return found


def _traced_breaks() -> Any:
    def find() -> Any:
        import inspect

        from torch._dynamo import symbolic_convert

        if "dynamo_graph_break_reason" not in inspect.getsource(symbolic_convert):
            raise AttributeError(
                "torch does not trace the reasons of graph breaks; its log has them"
            )
        return symbolic_convert

    return probe("traced reasons of graph breaks", find)


def logged_text(record: logging.LogRecord) -> str:
    """The message of a record of torch's log; the reason of a graph break may stand in the exception beside it."""
    text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and text.startswith("Graph break: from user code"):
        reason = " ".join(str(error).partition("\n\nfrom user code")[0].split())
        text = text.replace("Graph break:", "Graph break: " + reason, 1)
    return text


#: the kind of a record that has the figures of one compile, and no text
METRICS = "compilation_metrics"


def logged_metrics(record: logging.LogRecord) -> Optional[Dict[str, Any]]:
    """The figures of a compile by name, which torch logs at the compile's end; None for what else its logger says."""
    metrics = record.args[0] if isinstance(record.args, tuple) and record.args else None
    if not hasattr(metrics, "frame_key"):
        return None
    found = {
        name: sorted(value) if isinstance(value, (set, frozenset)) else value
        for name, value in vars(metrics).items()
    }
    if found.get("fail_reason") is not None:
        found["fail_type"] = getattr(sys.exc_info()[0], "__name__", "Exception")
    return found


def recompile_reasons() -> List[str]:
    """Why the frame at hand is compiled again: for each entry that it has, the guard that failed.

    To be called from inside a bytecode hook, for a torch that traces no reasons: they are a variable of the function that
    asks for the compile.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("convert_frame.py"):
            found = frame.f_locals.get("recompile_reasons")
            if isinstance(found, list):
                return [str(reason) for reason in found]
        frame = frame.f_back
    return []


def graph_break_at_hand() -> Optional[str]:
    """Why the graph of the frame at hand ends before the frame does, as torch 2.2 logs a graph break; None where it does not.

    To be called from inside a bytecode hook, for breaks that torch neither traces nor logs: those of branches up to 2.6, and
    up to 2.4 the second one of a line. The compile's own reason is an attribute of what it has put out.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith("convert_frame.py"):
            reason = getattr(frame.f_locals.get("output"), "compile_subgraph_reason", None)
            if getattr(reason, "graph_break", False):
                stack = "".join(traceback.format_list(reason.user_stack))
                return "Graph break: %s from user code at:\n%s" % (
                    " ".join(str(reason.reason).split()),
                    stack,
                )
        frame = frame.f_back
    return None


def readable_graph(graph_module: Any) -> str:
    """The text of a graph module as torch prints it."""
    try:
        return graph_module.print_readable(
            print_output=False, include_stride=True, include_device=True
        )
    except TypeError:  # a torch before 2.5
        return graph_module.print_readable(print_output=False)


def watch_formatted_graphs(tell: Callable[[str, Any], None]) -> Optional[Callable[[], None]]:
    """Tells of each graph that code outside of torch formats by `lazy_format_graph_code`.

    The function does what it did; vLLM's backend calls it so that depyf sees its graphs.

    Args:
        tell: called with the name and the graph module; must not raise.
    Returns:
        What puts the function back; None while Dynamo is not imported, or where it has none.
    """
    utils: Any = sys.modules.get("torch._dynamo.utils")
    original = getattr(utils, "lazy_format_graph_code", None)
    if original is None:
        return None

    def lazy_format_graph_code(name: str, gm: Any, *arguments: Any, **keywords: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if not str(caller).startswith("torch."):
            tell(name, gm)
        return original(name, gm, *arguments, **keywords)

    functools.update_wrapper(lazy_format_graph_code, original)
    setattr(utils, "lazy_format_graph_code", lazy_format_graph_code)

    def restore() -> None:
        # what somebody else has put there meanwhile stays
        if utils.lazy_format_graph_code is lazy_format_graph_code:
            setattr(utils, "lazy_format_graph_code", original)

    return restore


def inductor_loaded() -> bool:
    """True once torch has loaded inductor; depyf does not load it itself, it is slow to import."""
    return "torch._inductor.debug" in sys.modules


# ---- switches ----------------------------------------------------------------------------------------------------------


def _cache_switches() -> Any:
    def find() -> Any:
        switches = []
        import torch._inductor.config as inductor

        for name, value in (("force_disable_caches", True), ("fx_graph_cache", False)):
            if hasattr(inductor, name):
                switches.append((inductor, name, value))
        import torch._functorch.config as functorch

        if hasattr(functorch, "enable_autograd_cache"):
            switches.append((functorch, "enable_autograd_cache", False))
        if not switches:
            raise AttributeError("torch has no switch for its compile caches")
        return switches

    return probe("switches of torch's caches", find)


@contextlib.contextmanager
def caches_off() -> Iterator[None]:
    """torch's compile caches are off inside the block and as before after it."""
    with contextlib.ExitStack() as stack:
        for config, name, value in _cache_switches() or ():
            stack.enter_context(config.patch(**{name: value}))
        yield


def _set_stance() -> Any:
    def find() -> Any:
        import torch

        return torch.compiler.set_stance

    return probe("compiler stance", find)


@contextlib.contextmanager
def no_compile() -> Iterator[None]:
    """Compiled code runs inside the block and nothing is compiled; what fits no entry runs as written."""
    set_stance = _set_stance()
    if set_stance is not None:
        with set_stance("eager_on_recompile"):
            yield
        return
    with _run_only():
        yield


#: the name of the one function that Dynamo is to compile, which it reads from the environment at each compile
_ONLY_FUNCTION = "TORCHDYNAMO_DEBUG_FUNCTION"


@contextlib.contextmanager
def _run_only() -> Iterator[None]:
    # before 2.6 each optimised function installs its own callback when it is called, so the one place that all of them
    # ask is the callback's own question which function is to be compiled; the compile limit, which it asks for next, makes
    # torch 2.2 fail on code that was never compiled
    before = os.environ.get(_ONLY_FUNCTION)
    os.environ[_ONLY_FUNCTION] = "<none>"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ONLY_FUNCTION]
        else:
            os.environ[_ONLY_FUNCTION] = before


def step_into(code: types.CodeType) -> None:
    """Makes code that torch has never compiled run without Dynamo's callback, into which a debugger would step.

    Where there is a stance, `no_compile` has done so.
    """

    def find() -> Any:
        import torch

        return torch._C._dynamo.eval_frame.skip_code

    skip = probe("code that is not compiled", find) if _set_stance() is None else None
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


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Inside the block compiled functions run as they were written."""
    set_stance = _set_stance()
    if set_stance is None:
        yield
        return
    with set_stance("force_eager"):
        yield


@contextlib.contextmanager
def forced_backend(backend: Callable[..., Any]) -> Iterator[None]:
    """Inside the block every torch.compile uses this backend.

    Raises:
        RuntimeError: this torch cannot do that.
    """
    set_stance = _set_stance()
    try:
        stance = set_stance(force_backend=backend) if set_stance is not None else None
    except TypeError:
        stance = None
    if stance is None:
        raise RuntimeError("this torch has no torch.compiler.set_stance(force_backend=...)")
    with stance:
        yield


def readable_source(name: str) -> str:
    """The name of an input as the user wrote it: `x` for `L['x']`, `self.weight` for torch's longer forms."""
    name = re.sub(r"\.__dict__\['(\w+)'\]", r".\1", name)
    name = re.sub(r"\._modules\['(\w+)'\]", r".\1", name)
    name = re.sub(r"\._(?:parameters|buffers)\['(\w+)'\]", r".\1", name)
    return re.sub(r"^[LG]\['(\w+)'\]", r"\1", name)


# ---- inductor ----------------------------------------------------------------------------------------------------------


def inductor_compile(module: Any, example_inputs: Any, inner: Callable[..., Any]) -> Any:
    """Compiles a captured graph by inductor, with `inner(graph module, inputs, **options)` for each graph it is split into."""
    from torch._inductor.compile_fx import compile_fx

    return compile_fx(module, example_inputs, inner_compile=inner)


def inductor_inner(module: Any, example_inputs: Any, options: Dict[str, Any]) -> Any:
    """What inductor generates for one graph: a callable that takes a list, which it empties."""
    from torch._inductor.compile_fx import compile_fx_inner

    return compile_fx_inner(module, example_inputs, **options)


@contextlib.contextmanager
def inductor_as_eager_random() -> Iterator[None]:
    """Inside the block inductor draws random numbers as eager mode does, and reads and writes no cache."""
    import warnings

    import torch._inductor.config as inductor

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="dynamo_pgo")  # one more cache that is off
        with caches_off(), inductor.patch(fallback_random=True):
            yield


class Schedule:
    """What inductor's scheduler made of one graph.

    Attributes:
        groups: nodes of the graph that are computed together, in the order in which they run.
        buffers: buffer -> (the node whose value it holds or None, number of its group).
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.groups: List[List[str]] = []
        self.buffers: Dict[str, Tuple[Optional[str], int]] = {}


@contextlib.contextmanager
def inductor_schedule(found: Schedule) -> Iterator[None]:
    """Fills `found` with what inductor schedules inside the block."""
    import torch._inductor.config as inductor

    if not hasattr(inductor, "_post_fusion_custom_pass"):
        note_unavailable("inductor's schedule", "this torch has no pass after fusion")
        yield
        return
    previous = inductor._post_fusion_custom_pass

    def after_fusion(nodes: List[Any]) -> List[Any]:
        nodes = previous(nodes) if previous is not None else nodes
        try:
            found.clear()  # inductor may start over
            for group in nodes:
                members: Dict[str, None] = {}
                for one in _flat(group):
                    for origin in sorted(getattr(one.node, "origins", None) or ()):
                        if origin.op not in ("placeholder", "output"):
                            members[origin.name] = None
                    for buffer in one.get_outputs():
                        origin = buffer.node.get_origin_node()
                        found.buffers[buffer.get_name()] = (
                            origin.name if origin is not None else None,
                            len(found.groups),
                        )
                found.groups.append(list(members))
        except Exception as error:
            note_unavailable("inductor's schedule", "%s: %s" % (type(error).__name__, error))
        return nodes

    with inductor.patch(_post_fusion_custom_pass=after_fusion):
        yield


def _flat(group: Any) -> List[Any]:
    # kernels that were fused again hold fused kernels
    found, work = [], [group]
    while work:
        one = work.pop()
        parts = list(one.get_nodes())
        if len(parts) == 1 and parts[0] is one:
            found.append(one)
        else:
            work.extend(part for part in reversed(parts) if part is not one)
    return found


def process_group() -> Optional[Tuple[int, int]]:
    """(rank, number of processes) of the default process group, None before it was made."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
    except Exception:
        pass
    return None


def evaluation_log() -> Optional[logging.Logger]:
    """The logger to which TORCH_LOGS=+bytecode writes, None where it is not found."""

    def find() -> Any:
        from torch._dynamo import convert_frame

        return convert_frame.bytecode_log

    return probe("bytecode log", find)


def is_compiled(fn: Any) -> bool:
    """True for what torch.compile returned: an optimised function or module."""
    if hasattr(fn, "_torchdynamo_orig_callable"):
        return True

    def find() -> Any:
        from torch._dynamo.eval_frame import OptimizedModule

        return OptimizedModule

    kind = probe("optimised module", find)
    return kind is not None and isinstance(fn, kind)
