"""Watching torch.compile: events from the bytecode hook and the structured trace, joined by compile, into a `Run`.

No function of torch is patched but one by which backends format graphs. One bytecode hook and one
handler on the logger `torch.__trace` serve all blocks that are open; they are there only while a
block is open or a graph that was captured in one still waits for its backward.
"""

import atexit
import contextlib
import dis
import hashlib
import inspect
import json
import linecache
import logging
import os
import re
import sys
import threading
import time
import tokenize
import types
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple

import depyf.recompile  # noqa: F401  loaded before a compile is timed; asked for its function at each use
from depyf.code_edit import rebuilt, with_consts
from depyf.decompiler import decompile_with_constants
from depyf.frame_contract import violation
from depyf.report.overview import resumed
from depyf.torch import compat, guards
from depyf.torch.dump import DUMP_LIMIT, DumpWriter, EarlierDump
from depyf.torch.model import (
    Artifact,
    Constants,
    Entry,
    Function,
    GraphBreak,
    LiveObject,
    Mark,
    Problem,
    Run,
)
from depyf.torch.origin import Origin, origin_of

log = logging.getLogger("depyf")


class DepyfWarning(UserWarning):
    """depyf could not do a part of its work; the program that it looks at goes on as without it."""


def warn(message: str) -> None:
    """Warns once per text; never raises, even where warnings are errors."""
    try:
        warnings.warn(message, DepyfWarning, stacklevel=3)
    except Exception:
        log.warning("%s", message)


def _size(count: int) -> str:
    return "%d MiB" % (count >> 20) if count >= 1 << 20 else "%d bytes" % count


# ---- names -------------------------------------------------------------------------------------------------------------

_NAME_BYTES = 120  # leaves room for the fixed parts of a file's name within the 255 bytes that file systems allow


def safe_name(name: str) -> str:
    """An identifier, short enough for a file's name, that stands for any name of a code object.

    Names that already are short identifiers stay as they are; of long ones the tail is a hash, so that two stay two.
    """
    cleaned = re.sub(r"\W", "_", name.encode("utf-8", "replace").decode("utf-8"))
    if not cleaned or cleaned[0].isdigit():
        cleaned = "_" + cleaned
    if len(cleaned.encode("utf-8")) > _NAME_BYTES:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        cleaned = (
            cleaned.encode("utf-8")[: _NAME_BYTES - 9].decode("utf-8", "ignore") + "_" + digest
        )
    return cleaned


def short_graph_name(global_name: str) -> str:
    """`__compiled_fn_1` of `__compiled_fn_1_<uuid>`."""
    match = compat.COMPILED_FUNCTION.match(global_name)
    return match.group(1) if match else global_name


# ---- the structured trace ----------------------------------------------------------------------------------------------

#: names in torch's structured trace -> stage of the graph; both top-level records and artifacts are looked up here
GRAPH_STAGES = {
    "dynamo_output_graph": "Captured_Graph",
    "before_pre_grad_graph": "BEFORE_PRE_GRAD",
    "inductor_pre_grad_graph": "BEFORE_PRE_GRAD",
    "after_pre_grad_graph": "AFTER_PRE_GRAD",
    "aot_joint_graph": "Joint_graph",
    "aot_forward_graph": "Forward_graph",
    "aot_inference_graph": "Forward_graph",
    "aot_backward_graph": "Backward_graph",
    "before_joint_graph": "BEFORE_JOINT",
    "after_joint_graph": "AFTER_JOINT",
    "before_post_grad_graph": "BEFORE_POST_GRAD",
    "inductor_post_grad_graph": "AFTER_POST_GRAD",
    "after_post_grad_graph": "AFTER_POST_GRAD",
    "compiled_autograd_graph": "Compiled_autograd_graph",
    "optimize_ddp_split_graph": "DDP_split_graph",
    "optimize_ddp_split_child": "DDP_split_child",
}
_SKIPPED = frozenset(
    (
        "describe_tensor",
        "describe_storage",
        "describe_source",
        "str",
        "link",
        "guard_added_fast",
        "exported_program",
    )
)
_RESERVED = frozenset(
    (
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "severity",
        "timestamp",
        "pathname",
        "thread",
        "subgraph_name",
        "has_payload",
        "stack",
    )
)
#: artifacts that repeat what another one says, or torch's configuration
_SKIPPED_ARTIFACTS = re.compile(
    r"^(torch\._functorch\.config|.*_(ORIGINAL|MODIFIED)_BYTECODE|inductor_provenance_tracking_kernel.*|dynamo_error)$"
)
_CACHE_EVENT = re.compile(
    r"^(?P<cache>fx_graph_cache|aotautograd_cache|precompile_cache)_(?P<result>hit|miss|bypass)$"
)


def _origins(entry: Entry, name: str) -> Dict[str, str]:
    """Node -> node of the captured graph, for the graph that is being traced under `name`."""
    found: Dict[str, str] = {}
    if GRAPH_STAGES[name] == "Captured_Graph":
        return found
    for node in compat.traced_graph(name):
        if node.origin:
            found[node.name] = node.origin
            if not node.backward and node.sequence >= 0:
                # an operation without gradient has the number of the next one that has a gradient
                entry.sequences[node.sequence] = node.origin
        elif node.backward and node.sequence in entry.sequences:
            found[node.name] = entry.sequences[node.sequence]
    return found


def record_kind(metadata: Dict[str, Any]) -> str:
    """The name of a trace record: the key of its metadata that is not context."""
    for key in metadata:
        if key not in _RESERVED:
            return key
    return ""


_MARK = re.compile(r'"name": "((?:[^"\\\\]|\\\\.)*)".*?"ts": ([\d.e+]+).*"ph": "([BE])"', re.DOTALL)


def read_mark(payload: Any) -> Optional[Mark]:
    """Name, microseconds and "B" or "E" of one of torch's events; None for other kinds. No JSON is parsed: there are many."""
    match = _MARK.search(payload) if isinstance(payload, str) else None
    return (match.group(1), float(match.group(2)), match.group(3)) if match else None


_LOGGED_GRAPH = re.compile(
    r"TRACED GRAPH\n\s*=+ (?P<name>.+?) =+\n[^\n]*?(?P<text>class [^\s(]+\(.*)", re.DOTALL
)
_LOGGED_GRAPHS = (
    ("__compiled_fn_", "dynamo_output_graph"),
    ("Joint graph", "aot_joint_graph"),
    ("Forward graph", "aot_forward_graph"),
    ("Backward graph", "aot_backward_graph"),
    ("AFTER POST GRAD", "inductor_post_grad_graph"),
)


def read_logged(kind: str, text: str) -> Tuple[str, str]:
    """The name that a text of torch's log has in the structured trace of later versions, and what is its payload; "" for others."""
    if kind == "graph_breaks":
        return "dynamo_graph_break_reason", text
    if kind == "ddp_graphs":
        return (
            ("optimize_ddp_split_graph", text.strip() + "\n")
            if "---split graph---" in text
            else ("", text)
        )
    if kind == "output_code":
        head, _, code = text.partition("\n")
        return ("inductor_output_code", code) if head.strip() == "Output code:" else ("", text)
    match = _LOGGED_GRAPH.match(text)
    for start, name in _LOGGED_GRAPHS if match else ():
        if match.group("name").startswith(start):
            return name, match.group("text").strip() + "\n"
    return "", text


#: what stands before the reason of a graph break: torch 2.12 and later, and where it gives the function up
_BREAK_PREFACES = (
    "Encountered graph break when attempting to trace",
    "Failed to handle graph break gracefully",
)
#: what stands between a graph break and another that torch met while it handled the first
_ANOTHER_BREAK = "*** While handling this graph break, another graph break occurred: ***"


def _named_as_later(found: GraphBreak) -> GraphBreak:
    # the most frequent reason, as torch up to 2.6 calls it, by the name that it has from 2.7 on
    if found.reason == "Data-dependent jump" or found.reason.startswith("generic_jump "):
        found.reason = "Data-dependent branching"
    return found


def parse_break(text: str, attempt: int) -> GraphBreak:
    """Reads what torch prints for a graph break; the reason is never empty."""
    found = GraphBreak(reason="", text=text.rstrip(), attempt=attempt)
    lines = text.splitlines()
    if lines and lines[0].startswith("Graph break: "):  # as torch 2.2 logs it
        reason, _, line = lines[0][len("Graph break: ") :].partition(" from user code at:")
        found.reason = reason.strip()
        found.user_stack = (
            [one[2:] for one in lines[1:] if one.startswith("  ")] if line == "" else []
        )
        place = re.search(r'File "(.*)", line (\d+)', text)
        found.location = "%s:%s" % place.groups() if place else ""
        return _named_as_later(found)
    if lines and lines[0].startswith("Graph break in user code at "):
        found.location = lines[0][len("Graph break in user code at ") :].strip()
    part, stack, another = "", False, False
    for line in lines:
        stripped = line.strip()
        if found.user_stack and line.startswith("Traceback (most recent call last):"):
            break  # Dynamo's own, with the same texts again
        if stripped == _ANOTHER_BREAK:
            part, another = "", True
        elif stripped.startswith("User code traceback:"):
            part, stack, another = "", True, False
        elif another:
            continue
        elif stripped.startswith("Graph Break Reason:"):
            part, found.reason = "reason", stripped[len("Graph Break Reason:") :].strip()
        elif stripped.startswith("Reason:") and not found.reason:  # as torch 2.6 traces it
            found.reason = re.sub(r"^Reason: (Unsupported: )?", "", stripped)
        elif stripped.startswith("Explanation:"):
            part, found.explanation = "explanation", stripped[len("Explanation:") :].strip()
        elif stripped.startswith("Hint:"):
            part = "hint"
            found.hints.append(stripped[len("Hint:") :].strip())
        elif stripped.startswith("Developer debug context:"):
            part = ""
        elif stripped.startswith("For more details about this graph break"):
            part, found.url = "", stripped.rpartition(" ")[2]
        elif stack:
            if line.startswith("  "):
                found.user_stack.append(line[2:])
            elif stripped:
                stack = False
        elif stripped and part == "reason":
            if found.reason.startswith(_BREAK_PREFACES):
                found.reason = stripped
            part = ""
        elif stripped and part == "explanation":
            found.explanation += "\n" + stripped
        elif stripped and part == "hint":
            found.hints[-1] += " " + stripped
    raised = re.search(r"^torch\._dynamo\.exc\.\w+: (.+)$", text, re.MULTILINE)
    if not found.reason and raised:  # no reason, but the traceback of Dynamo itself
        found.reason = raised.group(1)
    if not found.reason:
        found.reason = next((line.strip() for line in lines if line.strip()), "unknown")
    return _named_as_later(found)


def _stack_lines(stack: Any, names: Dict[int, str]) -> List[str]:
    lines = []
    for frame in stack if isinstance(stack, list) else ():
        if isinstance(frame, dict):
            filename = frame.get("filename")
            filename = (
                names.get(filename, str(filename)) if isinstance(filename, int) else str(filename)
            )
            lines.append(
                "%s:%s in %s: %s"
                % (filename, frame.get("line"), frame.get("name"), frame.get("loc") or "")
            )
    return lines


def _without_configuration(metrics: Dict[str, Any]) -> Dict[str, Any]:
    return {
        key: value
        for key, value in metrics.items()
        if value is not None and not key.endswith("_config")
    }


# ---- one open block ----------------------------------------------------------------------------------------------------


def _lines_of(filename: str) -> List[str]:
    # what linecache knows; a file that it has not read yet is not put into it, since it belongs to the program
    known = linecache.cache.get(filename)
    if known is not None and len(known) > 1:
        return list(known[2])
    if known is not None:  # a loader that has not been asked yet
        return str(known[0]() or "").splitlines(True)
    with tokenize.open(filename) as stream:
        return stream.readlines()


def source_of(code: types.CodeType) -> str:
    """The source text of a code object from its file, empty when there is none."""
    try:
        lines = _lines_of(code.co_filename)
        if not lines or not 1 <= code.co_firstlineno <= len(lines):
            return ""
        return (
            inspect.cleandoc("\n" + "".join(inspect.getblock(lines[code.co_firstlineno - 1 :])))
            + "\n"
        )
    except Exception:
        return ""


def bytecode_text(code: types.CodeType) -> str:
    """The disassembly of a code object and of those inside it, with the line that names its variables."""
    from io import StringIO

    out = StringIO()
    out.write(
        "# %s: flags=%#x args=%d varnames=%r cellvars=%r freevars=%r\n"
        % (
            code.co_name,
            code.co_flags,
            code.co_argcount,
            code.co_varnames,
            code.co_cellvars,
            code.co_freevars,
        )
    )
    dis.dis(_with_shown_constants(code), file=out)
    return out.getvalue()


class _Shown:
    """Stands for a constant in a disassembly; the repr of an object that Dynamo puts there may be long, slow, or raise."""

    def __init__(self, value: Any) -> None:
        self._text = "<%s at %#x>" % (type(value).__name__, id(value))

    def __repr__(self) -> str:
        return self._text


def findable(value: Any) -> Optional[str]:
    """An expression that finds this very object in a full_code file; None where it has no name."""
    torch = sys.modules.get("torch")
    if torch is not None and type(value) in (torch.dtype, torch.layout, torch.memory_format):
        return repr(value)
    if torch is not None and type(value) is torch.device:
        return "torch.device(%r)" % str(value)
    if type(value) is types.ModuleType:
        name, parts = value.__name__, []
    else:
        if type(value) not in (type, types.FunctionType, types.BuiltinFunctionType):
            return None
        name, qualified = value.__module__, value.__qualname__
        if not isinstance(name, str) or not isinstance(qualified, str) or name == "__main__":
            return None
        parts = qualified.split(".")
    found: Any = sys.modules.get(name)
    for part in parts:
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return "__find(%s)" % ", ".join(map(repr, [name] + parts)) if found is value else None


def known_constants(constants: Dict[str, Any]) -> Constants:
    """What a run keeps of the objects that decompiled source has names for: nothing that keeps them alive."""
    return {name: (findable(value), id(value)) for name, value in constants.items()}


def _with_shown_constants(root: types.CodeType) -> types.CodeType:
    """The code object with constants that are no literals replaced, in the code objects inside it too."""

    def literal(value: Any) -> bool:
        pending = [value]
        for item in pending:
            if type(item) in (tuple, frozenset) and len(pending) < 10000:
                pending.extend(item)
            elif type(item) is slice:
                pending += [item.start, item.stop, item.step]
            elif type(item) not in _LITERALS:
                return False
        return True

    def shown(code: types.CodeType, consts: Tuple[Any, ...]) -> types.CodeType:
        return with_consts(
            code,
            tuple(
                value if isinstance(value, types.CodeType) or literal(value) else _Shown(value)
                for value in consts
            ),
        )

    return rebuilt(root, shown)


_LITERALS = frozenset((int, float, complex, bool, str, bytes, type(None), type(Ellipsis)))


class Session:
    """One open block: collects events into its `run` and, when it has a folder, writes the dump."""

    def __init__(self, writer: Any = None, log_bytecode: bool = False, caches: bool = True) -> None:
        self.run = Run()
        self.writer = writer
        self.log_bytecode = log_bytecode
        self.caches = caches
        self.process = os.getpid()
        self.open = False
        self._lock = threading.RLock()
        self._by_context: Dict[int, Tuple[LiveObject, Entry]] = {}
        self._by_id: Dict[str, Entry] = {}
        self._functions: Dict[int, Function] = {}
        self._resume_names: Dict[int, Tuple[LiveObject, str, str]] = {}
        self._numbers: Dict[str, int] = writer.numbers if writer is not None else {}
        self._awaited: Optional[List[Entry]] = None
        self._early: List[Any] = []  # a compile id and the marks that came before its first record
        self._warned: set = set()
        self._full: Optional[Problem] = None  # the dump has reached its limit
        self._left_out = 0  # code objects that torch made since then

    # -- problems

    def problem(self, where: str, message: str, detail: str = "") -> None:
        """Adds a row to the run's problems and warns once for each `where`."""
        with self._lock:
            self.run.problems.append(Problem(where, message, detail))
            first = where not in self._warned
            self._warned.add(where)
        if first:
            warn(
                "depyf: %s: %s%s"
                % (
                    where,
                    message,
                    " (%s)" % detail.strip().splitlines()[-1] if detail.strip() else "",
                )
            )

    def interned_names(self) -> Dict[int, str]:
        """What the numbers stand for with which torch's trace names files."""
        return compat.interned_names()

    # -- the limit

    def _has_room(self, context: Any, compile_id: str) -> bool:
        """Whether the dump takes more of this compile: what is begun is finished."""
        if self._full is None and self.writer is not None and self.writer.is_full():
            self._full = Problem(
                "the limit of the dump",
                "its files and texts have reached %s: what is compiled from now on is not in it, "
                "and torch runs its own code for that; prepare_debug(..., limit=BYTES) sets "
                "another limit" % _size(self.writer.limit),
            )
            self.run.problems.append(self._full)
            warn("depyf: %s: %s" % (self._full.where, self._full.message))
        return self._full is None or self._is_begun(context, compile_id)

    def _is_begun(self, context: Any, compile_id: str) -> bool:
        if context is None:  # a backward that is compiled later
            return compile_id in self._by_id
        found = self._by_context.get(id(context))
        return found is not None and found[0].get() is context

    # -- joining

    def _entry(self, context: Any, compile_id: str) -> Entry:
        if context is not None:
            known = self._by_context.get(id(context))
            if known is not None and known[0].get() is context:
                return known[1]
        entry = self._by_id.get(compile_id)
        # ids start again after torch._dynamo.reset(); a context that was not seen before is then another compile
        if entry is None or (context is not None and entry.finished):
            entry = Entry(compile_id=compile_id)
            self._by_id[compile_id] = entry
            self.run.unattributed.append(entry)
        if context is not None:
            self._by_context[id(context)] = (LiveObject(context), entry)
        return entry

    def _origin(self, code: types.CodeType, scope: Optional[Dict[str, Any]]) -> Optional[Origin]:
        try:
            return origin_of(code, compat.frame_locals(), scope)
        except Exception as error:  # names are for reading only
            self.problem("naming %s" % code.co_name, "%s: %s" % (type(error).__name__, error))
            return None

    def _entry_qualname(
        self, function: Function, code: types.CodeType, scope: Optional[Dict[str, Any]]
    ) -> str:
        """What a wrapper was compiled for this time, where that is another function than before."""
        if function.is_resume or not function.through:
            return ""
        found = self._origin(code, scope)
        return found.qualname if found is not None and found.qualname != function.qualname else ""

    def _name_function(
        self, function: Function, code: types.CodeType, scope: Optional[Dict[str, Any]]
    ) -> None:
        if not function.is_resume:
            found = self._origin(code, scope)
            if found is not None:
                function.qualname, function.module, function.through = found
            return
        # It goes on with a function that was compiled before, or that broke at once.
        name = resumed(code.co_name)[0]
        whole = [
            known
            for known in self.run.functions
            if (known.name, known.filename) == (name, code.co_filename) and not known.is_resume
        ]
        # Its first line is that of the break: the last function of the name that begins before.
        before = [known for known in whole if known.firstlineno <= code.co_firstlineno]
        here = sorted(before, key=lambda known: -known.firstlineno)[:1]
        outer = here[0].qualname if here else ""
        if not here:  # the part in front of the break had nothing to compile
            prefix = getattr(code, "co_qualname", "").rpartition("<locals>.")[2]
            outer = prefix[: -len(code.co_name)] + name if "." in prefix else ""
        if outer:
            function.qualname = outer
        if here:
            function.module, function.through = here[0].module, here[0].through

    def _function(self, code: types.CodeType, scope: Optional[Dict[str, Any]] = None) -> Function:
        function = self._functions.get(id(code))
        if function is not None and function.code is code:
            return function
        function = Function(
            name=code.co_name,
            filename=code.co_filename,
            firstlineno=code.co_firstlineno,
            is_resume=bool(compat.RESUME_CODE.match(code.co_name)),
        )
        self._name_function(function, code, scope)
        function._code = LiveObject(code)
        function._signature = _signature(code)
        known = self._resume_names.get(id(code))
        if known is not None and known[0].get() is code:
            function.global_name, function._installed_as = known[1], known[2]
        function.index = self._number("full", safe_name(function.stem()))
        self._functions[id(code)] = function
        self.run.functions.append(function)
        return function

    def _number(self, kind: str, name: str) -> int:
        key = kind + ":" + name
        number = self._numbers.get(key, 0)
        self._numbers[key] = number + 1
        return number

    # -- events

    def on_bytecode(
        self,
        code: types.CodeType,
        new_code: types.CodeType,
        context: Any,
        compile_id: str,
        attempt: int,
        scope: Optional[Dict[str, Any]],
        shared: Dict[str, Any],
    ) -> Optional[types.CodeType]:
        """Handles one transformed code object; returns the code that torch shall run instead, or None."""
        with self._lock:
            if not self._has_room(context, compile_id):
                self._left_out += 1
                return None
            entry = self._entry(context, compile_id)
            if entry in self.run.unattributed:
                self.run.unattributed.remove(entry)
            function = self._function(code, scope)
            if scope is not None and not function._globals_name:
                function._globals_name = str(scope.get("__name__") or "")
            entry.qualname = self._entry_qualname(function, code, scope)
            name = safe_name(function.stem(entry.qualname))
            entry.index = self._number("transformed", name)
            entry.name = "__transformed_code_%d_for_%s" % (entry.index, name)
            entry.attempt = max(entry.attempt, attempt)
            entry.hooked = True
            entry._home = str(scope.get("__name__") or "") if scope is not None else ""
            function.entries.append(entry)
            self._read_names(entry, new_code, scope)
            if not entry.reasons:
                entry.reasons = compat.recompile_reasons()
            graph_break = compat.graph_break_at_hand() if not entry.breaks else None
            if graph_break is not None:
                entry.breaks.append(parse_break(graph_break, attempt))
        if not function.source:
            self._original_source(function, code)
        if not function._bytecode:
            function._bytecode = shared.get("original_bytecode") or bytecode_text(code)
        entry.original_bytecode = function._bytecode
        entry.transformed_bytecode = shared.setdefault(
            "transformed_bytecode", None
        ) or bytecode_text(new_code)
        shared["original_bytecode"], shared["transformed_bytecode"] = (
            entry.original_bytecode,
            entry.transformed_bytecode,
        )
        try:
            replacement = self._decompile(entry, code, new_code, shared)
        except BaseException as error:
            entry.detail = "interrupted by %s" % type(error).__name__
            raise
        entry._hooks_behind = list(shared.get("hooks_behind") or ())
        owner = shared.get("owner")
        if owner is None and entry.replaced and self.writer is not None:
            shared["owner"] = (replacement, "the block that writes to %s" % self.writer.folder)
        elif owner is not None:
            entry.replaced_by, replacement = owner[1], owner[0]
        entry._torch_code = LiveObject(new_code)
        entry._code = LiveObject(replacement if replacement is not None else new_code)
        if self.writer is not None:
            self.writer.entry_seen(self, function, entry)
        return replacement if owner is None else None

    def _read_names(
        self, entry: Entry, new_code: types.CodeType, scope: Optional[Dict[str, Any]]
    ) -> None:
        for name in new_code.co_names:
            if compat.COMPILED_FUNCTION.match(name):
                entry.global_name = name
                entry.graph_name = short_graph_name(name)
                if scope is not None:
                    module = compat.graph_module_of(scope.get(name))
                    if module is not None:
                        entry._graph_module = LiveObject(module)
            elif compat.RESUME_FUNCTION.match(name):
                entry.calls.append(name)
                installed = scope.get(name) if scope is not None else None
                resumed = _resume_code(installed)
                if resumed is not None:
                    kind = "code" if resumed is installed else "function"
                    if getattr(installed, "__code__", resumed) is not resumed:
                        kind = "factory"
                    self._resume_names[id(resumed)] = (LiveObject(resumed), name, kind)

    def _original_source(self, function: Function, code: types.CodeType) -> None:
        if not function.is_resume:
            function.source = source_of(code)
            function.source_origin = "file" if function.source else ""
        if not function.source:
            try:
                function.source, constants = decompile_with_constants(code)
                function.source_origin = "decompiled"
                function._constants = known_constants(constants)
            except Exception as error:
                self.problem(
                    "decompiling the original of %s" % function.name,
                    str(error) or type(error).__name__,
                )

    def _decompile(
        self, entry: Entry, code: types.CodeType, new_code: types.CodeType, shared: Dict[str, Any]
    ) -> Optional[types.CodeType]:
        recompiled = shared.get("recompiled")
        owner = "recompiled" not in shared
        if owner:
            shared["recompiled"] = None
            template = self.writer.template() if self.writer is not None else None
            from depyf.recompile import recompile

            about = self._functions[id(code)].title_of(entry)
            try:
                names = compat.resume_parameters(new_code, shared.get("scope"))
                outputs = compat.graph_outputs(new_code, shared.get("scope"))
                try:
                    recompiled = recompile(
                        new_code,
                        filename_template=template,
                        name=entry.name,
                        callee_parameters=names,
                        callee_results=outputs,
                        dynamo=True,
                        scope=shared.get("scope"),
                        own_locals=code.co_varnames,
                        about=about,
                    )
                except OSError as error:
                    if template is None:
                        raise
                    self.problem(
                        "writing the dump", "%s.py was not written: %s" % (entry.name, error)
                    )
                    recompiled = recompile(
                        new_code,
                        name=entry.name,
                        callee_parameters=names,
                        callee_results=outputs,
                        dynamo=True,
                        scope=shared.get("scope"),
                        own_locals=code.co_varnames,
                        about=about,
                    )
            except Exception as error:
                entry.verdict, entry.detail = "refused", "%s: %s" % (type(error).__name__, error)
                self.problem("decompiling %s" % entry.name, entry.detail)
                shared["refused"] = entry.detail
                return None
            shared["recompiled"] = recompiled
        elif recompiled is None:
            entry.verdict, entry.detail = "refused", shared.get("refused", "")
            return None
        entry.source = recompiled.source or ""
        entry._constants = known_constants(recompiled.constants)
        entry.names = dict(recompiled.readable)
        # equal byte by byte is the strongest form of exact; nothing to compare is a refusal
        entry.verdict = {"identical": "exact", "failed": "refused"}.get(
            recompiled.verdict, recompiled.verdict
        )
        entry.detail = recompiled.detail or ""
        entry.line_map = [(row[0], row[2]) for row in recompiled.line_map if row[2]]
        if entry.verdict not in ("exact", "equivalent"):
            if owner:
                self.problem(
                    "proving %s" % entry.name,
                    "%s; torch keeps its own bytecode" % entry.verdict,
                    entry.detail,
                )
            return None
        if owner and self.writer is not None and recompiled.path:
            entry.code_path = recompiled.path
        replacement = recompiled.code
        # without a file there is nothing to step through, so torch may as well run its own
        if replacement is None or not owner or self.writer is None or not recompiled.path:
            return None
        if compat.replaces_serialised_code():
            entry.detail = "torch serialises this code (caching_precompile), so it keeps its own"
            return None
        # Torch fills the frame from one of the user's code. Where its own code does not fit that
        # (it never should), it is the measure itself.
        layout = violation(new_code if violation(code, new_code) else code, replacement)
        if layout is not None:
            entry.verdict, entry.detail = (
                "refused",
                "the recompiled code has another frame: " + layout,
            )
            self.problem("replacing %s" % entry.name, entry.detail)
            return None
        entry.replaced = True
        return replacement

    def on_event(self, mark: Mark, context: Any, compile_id: str) -> None:
        """Handles the begin or end of one of torch's own timed events."""
        with self._lock:
            known = self._by_context.get(id(context)) if context is not None else None
            entry = known[1] if known is not None and known[0].get() is context else None
            if entry is None:
                if self._full is not None:
                    return
                entry = self._by_id.get(compile_id)
                if entry is None or (entry.finished and context is not None):
                    # the compile is not known yet, or is another one of that id
                    self._early = (
                        self._early if self._early[:1] == [compile_id] else [compile_id]
                    ) + [mark]
                    return
            if self._early:
                if self._early[0] == compile_id:
                    entry.marks.extend(self._early[1:])
                self._early = []
            entry.marks.append(mark)

    def on_trace(
        self,
        kind: str,
        metadata: Dict[str, Any],
        payload: Optional[str],
        context: Any,
        compile_id: str,
        attempt: int,
    ) -> None:
        """Handles one record of torch's structured trace."""
        with self._lock:
            if not self.open and not (
                (context is not None and id(context) in self._by_context)
                or (context is None and compile_id in self._by_id)
            ):
                return
            if not self._has_room(context, compile_id):
                return
            entry = self._entry(context, compile_id)
            if attempt > entry.attempt and not entry.hooked:
                # Dynamo starts the frame again; what the abandoned attempt made is not what runs
                entry.attempt = attempt
                entry.artifacts = [kept for kept in entry.artifacts if kept.attempt >= attempt]
                entry.symbols, entry.sizes, entry.sequences = [], {}, {}
            details = metadata.get(kind)
            details = details if isinstance(details, dict) else {}
            name = str(details.get("name", "")) if kind in ("artifact", "graph_dump") else kind
            self._record(entry, kind, name, details, metadata, payload, attempt)
            if not self.open and self.writer is not None:
                self.writer.late(self, entry)

    def _record(
        self,
        entry: Entry,
        kind: str,
        name: str,
        details: Dict[str, Any],
        metadata: Dict[str, Any],
        payload: Optional[str],
        attempt: int,
    ) -> None:
        cache = _CACHE_EVENT.match(name)
        if name in GRAPH_STAGES and payload is not None:
            if name == "dynamo_output_graph":
                entry.sizes = dict(details.get("sizes") or {})
            self._add(
                entry,
                Artifact(
                    GRAPH_STAGES[name],
                    "graph",
                    attempt=attempt,
                    note=str(metadata.get("subgraph_name", "") or ""),
                    origins=_origins(entry, name),
                ),
                payload,
            )
        elif kind == "graph_dump" and payload is not None:
            self._add(
                entry, Artifact(safe_name(name or "graph"), "graph", attempt=attempt), payload
            )
        elif name == "inductor_output_code" and payload is not None:
            path = details.get("file_path") or details.get("filename")
            self._add(
                entry, Artifact("kernel", "kernel", attempt=attempt, source_path=path), payload
            )
        elif name == "dynamo_start":
            entry.user_stack = _stack_lines(details.get("stack"), self.interned_names())
        elif name == "dynamo_graph_break_reason" and payload is not None:
            found = parse_break(payload, attempt)
            # a frame that is started again reports the break which made it start again once more
            if all(
                (known.reason, known.location) != (found.reason, found.location)
                for known in entry.breaks
            ):
                entry.breaks.append(found)
        elif name == "recompile_reasons" and payload is not None:
            try:
                reasons = json.loads(payload)
            except ValueError:
                reasons = [payload]
            entry.reasons.extend(
                str(reason) for reason in (reasons if isinstance(reasons, list) else [reasons])
            )
        elif name == "dynamo_cpp_guards_str" and payload is not None:
            entry.guard_tree = payload
        elif name in ("create_symbol", "create_unbacked_symbol"):
            entry.symbols.append(
                {key: value for key, value in details.items() if key not in ("stack",)}
            )
        elif name == "compilation_metrics":
            entry.metrics = _without_configuration(details)
            entry.finished = True
            failure = details.get("fail_type")
            if failure:
                entry.failure = "%s: %s" % (failure, details.get("fail_reason") or "")
            elif not entry.hooked and not details.get("has_guarded_code"):
                # torch tells of exceptions alone; it writes its figures while this one passes
                raised = sys.exc_info()[1]
                if isinstance(raised, (KeyboardInterrupt, SystemExit)):
                    entry.failure = "%s: the compile was interrupted" % type(raised).__name__
            self._stages_not_made(entry)
            if self.writer is not None:
                self.writer.compile_ended(self, entry)
        elif name == "bwd_compilation_metrics":
            entry.backward_metrics = _without_configuration(details)
            if self.writer is not None:
                self.writer.compile_ended(self, entry)
        elif cache is not None:
            event = {"cache": cache.group("cache"), "result": cache.group("result")}
            try:
                more = json.loads(payload) if payload else {}
            except ValueError:
                more = {}
            for key in (
                "key",
                "cache_state",
                "cache_bypass_reason",
                "cache_status_detailed",
                "time_saved_ns",
            ):
                if isinstance(more, dict) and more.get(key) is not None:
                    event[key] = more[key]
            entry.cache.append(event)
        elif kind == "artifact" and payload is not None and not _SKIPPED_ARTIFACTS.match(name):
            encoding = details.get("encoding")
            self._add(
                entry,
                Artifact(
                    safe_name(name), "json" if encoding == "json" else "text", attempt=attempt
                ),
                payload,
            )

    def on_formatted(
        self, name: str, graph_module: Any, context: Any, compile_id: str, attempt: int
    ) -> None:
        """A backend asked torch to format a graph under its own name, as vLLM's does."""
        with self._lock:
            self._add(
                self._entry(context, compile_id),
                Artifact(safe_name(name), "graph", attempt=attempt, origin="backend"),
                compat.readable_graph(graph_module),
            )

    def _add(self, entry: Entry, artifact: Artifact, text: str) -> None:
        same = [known for known in entry.artifacts if known.stage == artifact.stage]
        if any(known._text == text and known.kind == "graph" for known in same):
            return  # torch emits some graphs under two names
        artifact.index = len(same)
        artifact._text = text
        entry.artifacts.append(artifact)

    def on_text(self, stage: str, text: str, context: Any, compile_id: str, attempt: int) -> None:
        """Handles a text that torch logs and does not trace."""
        with self._lock:
            if not self._has_room(context, compile_id):
                return
            self._add(
                self._entry(context, compile_id),
                Artifact(stage, "text", attempt=attempt, origin="log"),
                text,
            )

    def on_log(
        self,
        kind: str,
        text: str,
        figures: Dict[str, Any],
        context: Any,
        compile_id: str,
        attempt: int,
    ) -> None:
        """Handles a text, or figures, that stand in for a record of the structured trace, where torch has none."""
        name, payload = (kind, text) if figures else read_logged(kind, text)
        with self._lock:
            if not self._has_room(context, compile_id):
                return
            if kind == "guards":
                self._entry(context, compile_id)._logged_guards.append(text)
            elif name:
                self._record(
                    self._entry(context, compile_id), name, name, figures, {}, payload, attempt
                )

    def _stages_not_made(self, entry: Entry) -> None:
        hit = [event["cache"] for event in entry.cache if event["result"] == "hit"]
        if not hit:
            return
        present = {artifact.stage for artifact in entry.artifacts}
        reason = (
            "torch's %s had this graph, so torch did not compute this stage; caches=False computes it"
            % " and ".join(sorted(set(hit)))
        )
        for stage in (
            "BEFORE_PRE_GRAD",
            "AFTER_PRE_GRAD",
            "BEFORE_JOINT",
            "AFTER_JOINT",
            "BEFORE_POST_GRAD",
            "AFTER_POST_GRAD",
            "Forward_graph",
            "fx_graph_runnable",
            "kernel",
            "ir_pre_fusion",
            "ir_post_fusion",
        ):
            if stage not in present:
                entry.missing[stage] = reason

    # -- the end

    def finish(self) -> None:
        """Reads what is known only now and writes the rest of the dump; never raises."""
        try:
            if self._full is not None and self._left_out:
                self._full.message += "; %d code objects were left out" % self._left_out
            self.collect_guards()
            for entry in self.run.unattributed:
                entry.detail = entry.detail or _why_unattributed(entry)
            self.run.unavailable = compat.unavailable()
            self.run.finished = time.time()
            if self.writer is not None:
                self.writer.closed(self)
        except Exception as error:
            _Hub._failed(self, "finishing", error)

    def awaits_backward(self) -> bool:
        """True while a captured graph has a backward that inductor has not compiled yet. To be asked after the block."""
        if self._awaited is None:
            self._awaited = list(self.run.entries())
        while self._awaited and not _awaits_backward(self._awaited[-1]):
            self._awaited.pop()
        return bool(self._awaited)

    def _notice_other_code(self, entry: Entry, running: Any) -> None:
        # another hook, which torch calls behind depyf's, has the last word
        ours = entry.code
        if running is None or running is ours or running is entry._torch_code.get():
            return
        if ours is None and not entry.replaced:
            return
        if not entry.replaced_by:
            name = " or ".join(entry._hooks_behind) or "a bytecode hook that is not known here"
            entry.replaced_by = "%s, from %s" % (name, running.co_filename)
        entry.replaced, entry._code = False, LiveObject(running)

    def collect_guards(self) -> None:
        """Reads the guards of every entry from torch's caches, in torch's order, or from the trace where they are gone."""
        with self._lock:
            for function in self.run.functions:
                code = function.code
                found = (compat.cache_entries(code) if code is not None else None) or []
                order: Dict[int, int] = {}
                for position, cache_entry in enumerate(found):
                    entry = _matching(function, cache_entry)
                    if entry is None:
                        continue
                    order[id(entry)] = position
                    self._notice_other_code(entry, getattr(cache_entry, "code", None))
                    entry.invalidated = compat.is_invalidated(cache_entry)
                    manager = compat.entry_guard_manager(cache_entry)
                    entry._guard_manager = LiveObject(manager)
                    try:
                        entry.guards = guards.guards_of(manager)
                    except Exception as error:
                        self.problem(
                            "reading the guards of %s" % entry.name,
                            str(error) or type(error).__name__,
                        )
                for entry in function.entries:
                    if not entry.guards and entry.guard_tree:
                        entry.guards = guards.guards_of_tree_text(entry.guard_tree)
                    elif not entry.guards:
                        entry.guards = [
                            guards.make_guard(text)
                            for text in entry._logged_guards
                            if text != "GUARDS:"
                        ]
                function._order = sorted(
                    function.entries, key=lambda one: order.get(id(one), len(order) + one.index)
                )


def _why_unattributed(entry: Entry) -> str:
    if entry.failure:
        return "the compile failed before torch made code for a function"
    if entry.compile_id.startswith("!"):
        return "compiled autograd: a backward as a whole, which is no function of the program"
    if entry.metrics:
        return "torch made no code for this frame: it was skipped, or nothing in it was captured"
    return (
        "torch told of this compile only in part: it began before the block, or has not ended in it"
    )


def _awaits_backward(entry: Entry) -> bool:
    stages = [artifact.stage for artifact in entry.artifacts]
    return (
        "Backward_graph" in stages
        and stages.count("kernel") == 1
        and not entry.backward_metrics
        and entry.code is not None
    )


def _matching(function: Function, cache_entry: Any) -> Optional[Entry]:
    code = getattr(cache_entry, "code", None)
    if code is not None:
        for entry in function.entries:
            if entry.code is code or entry._torch_code.get() is code:
                return entry
    compile_id = compat.entry_compile_id(cache_entry)
    for entry in reversed(function.entries):
        if compile_id is not None and entry.compile_id == compile_id:
            return entry
    return None


def _signature(code: types.CodeType) -> Dict[str, Any]:
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames
    found: Dict[str, Any] = {
        "positional_only": list(names[: getattr(code, "co_posonlyargcount", 0)]),
        "positional": list(names[getattr(code, "co_posonlyargcount", 0) : code.co_argcount]),
        "keyword_only": list(names[code.co_argcount : count]),
        "varargs": None,
        "varkeywords": None,
        "free": list(code.co_freevars),
    }
    if code.co_flags & inspect.CO_VARARGS:
        found["varargs"] = names[count]
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found["varkeywords"] = names[count]
    return found


def _resume_code(value: Any) -> Optional[types.CodeType]:
    # a resume function, from 2.9 on a factory that holds the code in a cell when there are free variables, before that
    # the bare code object
    if isinstance(value, types.CodeType):
        return value
    code = getattr(value, "__code__", None)
    if code is None or compat.RESUME_CODE.match(code.co_name):
        return code
    for cell in getattr(value, "__closure__", None) or ():
        try:
            if isinstance(cell.cell_contents, types.CodeType):
                return cell.cell_contents
        except ValueError:
            pass
    return code


# ---- the one hook and the one handler ----------------------------------------------------------------------------------


class _TraceHandler(logging.Handler):
    def __init__(self, hub: "_Hub") -> None:
        super().__init__(level=logging.DEBUG)
        self._hub = hub

    def handle(self, record: logging.LogRecord) -> bool:  # no lock: sessions have their own
        compat.untraced(self._hub.traced, record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        compat.untraced(self._hub.traced, record)


class _TakeText(logging.Filter):
    """Takes the texts of a logger that nobody listens to, and lets those pass that somebody does."""

    def __init__(self, hub: "_Hub", stage: str, was_enabled: bool) -> None:
        super().__init__()
        self._hub = hub
        self._stage = stage
        self._was_enabled = was_enabled

    def filter(self, record: logging.LogRecord) -> bool:
        compat.untraced(self._hub.logged, self._stage, record)
        return self._was_enabled


class _Hub:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: List[Session] = []  # outermost first
        self._lingering: List[Session] = []
        self._printing = 0
        self._at_exit = False
        self._hook: Any = None
        self._handler: Optional[_TraceHandler] = None
        self._filters: List[Tuple[logging.Logger, _TakeText, int]] = []
        self._taken: set = set()  # kinds of texts that stand in for the trace
        self._fusion_attached = False
        self._in_child: Optional[Callable[[], None]] = None
        self._formatted: Any = None  # takes away what watches graphs that a backend formats

    def add(self, session: Session) -> None:
        with self._lock:
            session.open = True
            self._sessions.append(session)
            self._attach()
            self._finish_at_exit()

    def remove(self, session: Session) -> None:
        with self._lock:
            session.open = False
            if session in self._sessions:
                self._sessions.remove(session)
            self._attach()

    def linger(self, session: Session) -> None:
        with self._lock:
            self._lingering.append(session)
            self._attach()
            self._finish_at_exit()

    def _finish_at_exit(self) -> None:
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self._finish)

    def _finish(self) -> None:
        # a block that was entered by hand and never left still gets its files
        process = os.getpid()
        for session in [one for one in self._sessions if one.process == process]:
            self.remove(session)
            session.finish()
        for session in [one for one in self._lingering if one.process == process]:
            self._settle(session)

    @staticmethod
    def _settle(session: Session) -> None:
        try:
            if session.writer is not None:
                session.writer.settle(session)
        except Exception as error:
            _Hub._failed(session, "writing the dump", error)

    def print_source(self, count: int) -> None:
        with self._lock:
            self._printing = max(0, self._printing + count)
            self._attach()

    def _attach(self) -> None:
        wants_hook = bool(self._sessions) or bool(self._printing)
        if wants_hook and self._hook is None:
            self._hook = compat.register_bytecode_hook(self.hooked)
        elif not wants_hook and self._hook is not None:
            self._hook.remove()
            self._hook = None
        if self._sessions:
            self._watch_formatted()
        elif not self._sessions and self._formatted is not None:
            self._formatted()
            self._formatted = None
        wants_trace = bool(self._sessions) or bool(self._lingering)
        logger = compat.trace_logger() if wants_trace or self._handler is not None else None
        if logger is None:
            if wants_trace:
                self._attach_artifacts()
            else:
                self._release_filters()
            return
        if wants_trace and self._handler is None:
            self._handler = _TraceHandler(self)
            compat.add_trace_handler(self._handler, _SKIPPED)
            self._attach_artifacts()
        elif not wants_trace and self._handler is not None:
            compat.remove_trace_handler(self._handler)
            self._handler = None
            self._release_filters()

    def _watch_formatted(self) -> None:
        if self._formatted is None:
            self._formatted = compat.watch_formatted_graphs(self.formatted)

    def _release_filters(self) -> None:
        for logger, taker, level in self._filters:
            logger.removeFilter(taker)
            compat.stop_asking(logger, level)
        self._filters, self._taken, self._fusion_attached = [], set(), False

    def _take(self, kind: str, logger: logging.Logger, level: int) -> None:
        taker = _TakeText(self, kind, logger.isEnabledFor(level))
        self._filters.append((logger, taker, level))
        logger.addFilter(taker)
        compat.ask_for(logger, level)

    def _attach_artifacts(self) -> None:
        for kind, logger in compat.artifact_loggers().items():
            if kind not in self._taken:
                self._taken.add(kind)
                self._take(kind, logger, logging.DEBUG)

    def _attach_fusion(self) -> None:
        # inductor is imported when it is first used, which is after a block was opened
        with self._lock:
            if self._fusion_attached or self._handler is None:
                return
            self._fusion_attached = True
            for stage, logger in compat.fusion_loggers().items():
                self._take(stage, logger, logging.INFO)

    def _active(self, lingering: bool = False) -> List[Session]:
        # a forked process inherits the blocks of its parent; their folder and their run are the parent's
        process = os.getpid()
        if self._in_child is not None:
            begin, self._in_child = self._in_child, None
            begin()
        sessions = self._sessions + self._lingering if lingering else self._sessions
        return [session for session in sessions if session.process == process]

    def hooked(self, code: types.CodeType, new_code: types.CodeType) -> Optional[types.CodeType]:
        """The bytecode hook. An exception must not reach torch, which would pass it on to the user's program."""
        replacement = None
        try:
            context, compile_id, attempt = compat.current_compile()
            scope = compat.frame_globals()
        except Exception as error:
            self._tell("asking torch for the compile at hand", error)
            context, compile_id, attempt, scope = None, None, 0, None
        shared: Dict[str, Any] = {"scope": scope}
        try:
            shared["hooks_behind"] = compat.hooks_behind(self.hooked)
        except Exception as error:
            self._tell("asking torch for the other bytecode hooks", error)
        # the innermost block that writes files owns the replacement; without one nothing is replaced
        active = self._active()
        owners = [session for session in reversed(active) if session.writer is not None]
        for session in owners + [session for session in reversed(active) if session.writer is None]:
            try:
                found = session.on_bytecode(
                    code, new_code, context, compile_id or "?", attempt, scope, shared
                )
                replacement = replacement if replacement is not None else found
            except Exception as error:
                self._failed(session, "looking at the transformed code of %s" % code.co_name, error)
        if self._printing:
            try:
                self._print(new_code, shared)
            except Exception as error:
                log.debug("depyf: printing source failed: %r", error)
        return replacement

    @staticmethod
    def _print(new_code: types.CodeType, shared: Dict[str, Any]) -> None:
        logger = compat.evaluation_log()
        if logger is None or not logger.isEnabledFor(logging.DEBUG):
            return
        recompiled = shared.get("recompiled")
        if recompiled is not None and recompiled.source:
            text = recompiled.source
        else:
            import depyf

            try:
                text = depyf.decompile(new_code, check=False)
            except Exception as error:
                text = "# not decompiled: %s" % error
        logger.debug("possible source code:\n%s", text)

    def traced(self, record: logging.LogRecord) -> None:
        """The handler of the structured trace; never raises."""
        try:
            metadata = getattr(record, "metadata", None)
            if not isinstance(metadata, dict):
                return
            kind = record_kind(metadata)
            if kind in _SKIPPED or not kind:
                return
            sessions = self._active(lingering=True)
            if not sessions:
                return
            context, compile_id, attempt = compat.current_compile()
            if compile_id is None:
                compile_id = _compile_id(metadata)
                attempt = int(metadata.get("attempt", 0))
                context = None
            if compile_id is None:
                return
            if kind == "dynamo_start":
                with self._lock:
                    self._attach_artifacts()
                    self._watch_formatted()  # Dynamo is imported when it is first used
            if not self._fusion_attached and compat.inductor_loaded():
                self._attach_fusion()
            payload = getattr(record, "payload", None)
            if kind == "chromium_event":
                mark = read_mark(payload)
                if mark is not None:
                    for session in sessions:
                        session.on_event(mark, context, compile_id)
                return
        except Exception as error:
            self._tell("reading torch's trace", error)
            return
        for session in sessions:
            try:
                session.on_trace(kind, metadata, payload, context, compile_id, attempt)
            except Exception as error:
                self._failed(session, "reading torch's trace record %s" % kind, error)
        if self._lingering and kind in ("bwd_compilation_metrics", "compilation_metrics"):
            with self._lock:
                done = [one for one in self._lingering if not one.awaits_backward()]
                self._lingering = [one for one in self._lingering if one not in done]
                self._attach()
            for session in done:
                if session.process == os.getpid():
                    self._settle(session)

    def follow_in_child(self, begin: Callable[[], None]) -> None:
        """In a process that was forked: `begin` opens its block when it first compiles."""
        self._lock = threading.RLock()  # another thread of the parent may have held it
        self._in_child = begin

    def formatted(self, name: str, graph_module: Any) -> None:
        """Takes a graph that a backend formats; never raises."""
        try:
            context, compile_id, attempt = compat.current_compile()
        except Exception as error:
            self._tell("asking torch for the compile at hand", error)
            return
        for session in self._active() if compile_id is not None else ():
            try:
                session.on_formatted(name, graph_module, context, compile_id, attempt)
            except Exception as error:
                self._failed(session, "reading the graph %r of a backend" % name, error)

    def logged(self, stage: str, record: logging.LogRecord) -> None:
        """Takes a text of torch's log; never raises."""
        try:
            if self._taken:
                with self._lock:
                    self._attach_artifacts()  # inductor is loaded when it is first used
            context, compile_id, attempt = compat.current_compile()
            if compile_id is None:
                return
            figures = compat.logged_metrics(record) if stage == compat.METRICS else {}
            if figures is None:
                return
            text = compat.logged_text(record) if not figures else ""
        except Exception as error:
            self._tell("reading torch's log", error)
            return
        for session in self._active(lingering=True):
            try:
                if stage in self._taken:
                    session.on_log(stage, text, figures, context, compile_id, attempt)
                else:
                    session.on_text(stage, text, context, compile_id, attempt)
            except Exception as error:
                self._failed(session, "reading torch's log of %s" % stage, error)

    def _tell(self, where: str, error: Exception) -> None:
        for session in self._active():
            self._failed(session, where, error)

    @staticmethod
    def _failed(session: Session, where: str, error: Exception) -> None:
        import traceback

        try:
            session.problem(where, "%s: %s" % (type(error).__name__, error), traceback.format_exc())
        except Exception:
            log.debug("depyf: %s failed: %r", where, error)


def _compile_id(metadata: Dict[str, Any]) -> Optional[str]:
    frame, compiled = metadata.get("frame_id"), metadata.get("frame_compile_id")
    autograd = metadata.get("compiled_autograd_id")
    text = "%s/%s" % (frame, compiled) if frame is not None and compiled is not None else None
    if autograd is not None:
        return "!%s/%s" % (autograd, text) if text else "!%s" % autograd
    return text


_hub = _Hub()


def follow_in_child(begin: Callable[[], None]) -> None:
    """Opens a block of a forked process when that first compiles; see depyf.follow."""
    _hub.follow_in_child(begin)


# ---- the public doors --------------------------------------------------------------------------------------------------


class capture:
    """Watches torch.compile inside the block and gives what it made as a `Run`; writes nothing, replaces nothing.

    Example:
        >>> with depyf.capture() as run:
        ...     compiled(x)
        >>> run.functions[0].entries[0].source

    Args:
        caches: False turns torch's compile caches off inside the block, so that every stage is computed.
    Raises:
        ImportError: on entering, when torch is not installed.
    """

    def __init__(self, caches: bool = True) -> None:
        self._caches = caches
        self._session: Optional[Session] = None
        self._stack: Optional[contextlib.ExitStack] = None

    def _writer(self) -> Any:
        return None

    def _options(self) -> Dict[str, Any]:
        return {}

    def __enter__(self) -> Run:
        torch = compat.require_torch()
        return compat.untraced(self._open, torch)

    def _open(self, torch: Any) -> Run:
        if self._session is not None:
            raise RuntimeError(
                "this block is already open; make another one with depyf.%s(...)"
                % type(self).__name__
            )
        session = Session(self._writer(), caches=self._caches, **self._options())
        session.run.torch_version = str(torch.__version__)
        try:
            compat.hide_from_dynamo()
            compat.hide_debuggers()
            compat.probe_all()
            session.run.unavailable = compat.unavailable()
        except Exception as error:
            _Hub._failed(session, "looking at what this torch offers", error)
        stack = contextlib.ExitStack()
        if not self._caches:
            stack.enter_context(compat.caches_off())
        self._session, self._stack = session, stack
        if session.writer is not None:
            session.writer.opened(session)
        try:
            _hub.add(session)
        except Exception as error:
            _Hub._failed(session, "watching torch", error)
        return session.run

    def __exit__(self, kind: Any = None, value: Any = None, trace: Any = None) -> None:
        session, stack = self._session, self._stack
        if session is None:
            return
        self._session, self._stack = None, None
        compat.untraced(self._close, session, stack)

    @staticmethod
    def _close(session: Session, stack: Optional[contextlib.ExitStack]) -> None:
        try:
            _hub.remove(session)
        except Exception as error:
            _Hub._failed(session, "ending the watch on torch", error)
        try:
            if stack is not None:
                stack.close()
        except Exception as error:
            session.problem("turning torch's caches on again", str(error))
        session.finish()
        if session.awaits_backward():
            _hub.linger(session)


def rank_folder(folder: str) -> str:
    """`folder/rank_N` in a process of a distributed job of several, else `folder`.

    torchrun and its like tell each process its rank by RANK and WORLD_SIZE; where a program starts its own processes, the
    process group knows.
    """
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    try:
        group = compat.process_group()
    except Exception as error:
        warn("depyf: the rank of this process is not known: %r" % error)
        group = None
    if group is not None:
        rank, size = str(group[0]), str(group[1])
    if rank.isdigit() and size.isdigit() and int(size) > 1:
        return os.path.join(folder, "rank_%d" % int(rank))
    return folder


class prepare_debug(capture):
    """Watches torch.compile inside the block, writes everything it made to a folder, and makes it steppable.

    Each transformed code object is replaced by code compiled from its decompiled source in the folder, after a proof that
    both do the same; where there is no proof torch keeps its own. Inside `depyf.debug()` afterwards, breakpoints in those
    files stop. The block can be nested, used from threads, and entered and left by hand.

    Args:
        dump_src_dir: the folder; made when it does not exist. What an earlier run left there is replaced. In a distributed
            job of several processes each writes `rank_N` in it.
        clean_wild_fx_code: kept for programs that pass it; no unattributed graph code is written, so there is none to clean.
        log_bytecode: also write the bytecode of each function before and after, as text.
        caches: False turns torch's compile caches off inside the block, so that every stage is computed.
        existing: what to do with an earlier dump in the folder: "replace" it, write to a "number"ed folder beside it, or
            "keep" it and write nothing. Blocks of one process that name one folder share it.
        limit: bytes of files and texts after which nothing more goes into the dump, and torch
            keeps its own code for what it compiles then; None for no limit. A warning and the
            dump's problems say when it is reached.
    Raises:
        ImportError: on entering, when torch is not installed.
        ValueError: `existing` is none of these, or `limit` is negative.
    """

    def __init__(
        self,
        dump_src_dir: Any,
        clean_wild_fx_code: bool = True,
        log_bytecode: bool = False,
        *,
        caches: bool = True,
        existing: str = "replace",
        limit: Optional[int] = DUMP_LIMIT,
    ) -> None:
        super().__init__(caches=caches)
        if limit is not None and limit < 0:
            raise ValueError("limit=%r: must be a number of bytes, or None for no limit" % (limit,))
        if existing not in ("replace", "number", "keep"):
            raise ValueError('existing=%r: must be "replace", "number" or "keep"' % (existing,))
        self._folder = os.fspath(dump_src_dir)
        self._log_bytecode = log_bytecode
        self._existing = existing
        self._limit = limit

    def _writer(self) -> Any:
        try:
            return DumpWriter(rank_folder(self._folder), existing=self._existing, limit=self._limit)
        except EarlierDump as error:
            warn("depyf: nothing is dumped to %s: %s" % (self._folder, error))
            return None
        except OSError as error:
            warn(
                "depyf: cannot write to %s (%s): nothing is dumped and the program goes on; give prepare_debug a folder "
                "that can be written" % (self._folder, error)
            )
            return None

    def _options(self) -> Dict[str, Any]:
        return {"log_bytecode": self._log_bytecode}


def explain_call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Run:
    """Calls a function once under torch.compile and returns what was compiled; the call's result is `run.result`.

    Args:
        fn: a function, module or already compiled callable; what is not compiled yet is compiled with default options.
    """
    torch = compat.require_torch()
    compiled = fn if compat.is_compiled(fn) else torch.compile(fn)
    with capture() as run:
        result = compiled(*args, **kwargs)
    run.result = result  # type: ignore[attr-defined]
    return run


def install() -> None:
    """From now on the decompiled source follows each "MODIFIED BYTECODE" in the log of TORCH_LOGS=+bytecode.

    Raises:
        ImportError: torch is not installed.
    """
    compat.require_torch()
    _hub.print_source(1)


def uninstall() -> None:
    """Ends what `install` began; harmless when it never was called."""
    _hub.print_source(-1)
