"""What a run of torch.compile produced, as plain data.

A `Run` holds the functions that were compiled, a `Function` its entries (one per compile), an
`Entry` everything that is known of that compile. Code objects and graph modules are held weakly, so
that a run keeps nothing alive that torch would have freed. The same data as JSON is documented in
docs/run_schema.md. Nothing here knows torch or files: readers (`trace`, `torch.capture`) fill the
model, and writers (`torch.dump`, `report`, `torch.notebook`) register in `Writers`.
"""

import json
import re
import sys
import time
import types
import weakref
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from depyf.schema import SCHEMA, SCHEMA_VERSION, STAGES, seconds
from depyf.terminal import shown

#: one of torch's timed events: name, microseconds since the epoch, "B" where it begins or "E" where
#: it ends
Mark = Tuple[str, float, str]
_MOST_EVENTS = 400

#: names in decompiled source that stand for objects -> (expression that finds the object, None
#: where there is none; its id)
Constants = Dict[str, Tuple[Optional[str], int]]


def resumed_after(title: str, line: int) -> str:
    """How a reader is told of the rest of a function behind a graph break.

    Args:
        title: what the function itself is called.
        line: of the break.
    """
    return "%s, resumed after line %d" % (title, line)


#: the part of such a title up to the line and its file
RESUMED = re.compile(r", resumed after line \d+(?: of [^,]+)?")


def told_apart(title: str, apart: str) -> str:
    """The title of a resume function with what tells it from another one of that title.

    Args:
        title: as `resumed_after` makes it, with or without where its code begins.
        apart: as "(2nd of 2)" with a blank before it, or "".
    """
    if not RESUMED.search(title):
        return title + apart
    return RESUMED.sub(lambda match: match.group() + apart, title, count=1) if apart else title


_COMPILED_AUTOGRAD = " (compiled autograd)"


def backward_of(functions: List[str]) -> str:
    """What a backward pass is called that compiled autograd traced into one function.

    Args:
        functions: those that it is the backward of, as far as they are known.
    """
    if not functions:
        return "backward pass" + _COMPILED_AUTOGRAD
    first = functions[:2] if len(functions) < 3 else [functions[0], "%d others"]
    named = " and ".join(first).replace("%d", str(len(functions) - 1))
    return "backward of %s%s" % (named, _COMPILED_AUTOGRAD)


def is_backward_pass(title: str) -> bool:
    """Whether it is one of the names that `backward_of` gives."""
    return title.endswith(_COMPILED_AUTOGRAD)


#: where the code of a backward pass is that compiled autograd traced
TRACED_BACKWARD = "a whole backward pass, which compiled autograd traced: its code is in no file"


def spans(marks: List[Mark]) -> List[List[Any]]:
    """Events as [name, start, length] in microseconds from the first start.

    The longest where there are very many.
    """
    found: List[List[Any]] = []
    begun: Dict[str, List[float]] = {}
    for name, moment, phase in marks:
        if phase == "B":
            begun.setdefault(name, []).append(moment)
        elif begun.get(name):
            start = begun[name].pop()
            found.append([name, start, moment - start])
    if not found:
        return []
    first = min(map(itemgetter(1), found))
    found.sort(key=itemgetter(2), reverse=True)
    rows = [
        [name, round(start - first), round(length)] for name, start, length in found[:_MOST_EVENTS]
    ]
    rows.sort(key=itemgetter(2), reverse=True)
    rows.sort(key=itemgetter(1))
    return rows


class Writers:
    """What the methods of a run, function and entry call; `depyf.torch` sets all of them."""

    dump: Callable[["Run", str], str]
    page: Callable[["Run", Optional[str]], Any]
    run_html: Callable[["Run"], str]
    function_html: Callable[["Function"], str]
    entry_html: Callable[["Entry"], str]
    advice: Callable[["GraphBreak"], List[str]]


class LiveObject:
    """A weak reference that is absent, and not an error, for what cannot be referred to weakly."""

    __slots__ = ("_ref",)

    def __init__(self, target: Any = None) -> None:
        self._ref = None
        if target is not None:
            try:
                self._ref = weakref.ref(target)
            except TypeError:
                pass

    def get(self) -> Any:
        """The object, or None when it has died or was never there."""
        return self._ref() if self._ref is not None else None


@dataclass
class Artifact:
    """One text that torch made of one compile: a graph, a kernel, a wrapper, a report."""

    stage: str
    kind: str  # "graph", "kernel", "source", "text" or "json"
    index: int = 0
    attempt: int = 0
    origin: str = "trace"
    source_path: Optional[str] = None  # where torch itself keeps it
    path: Optional[str] = None  # relative to the dump's folder
    note: str = ""
    origins: Dict[str, str] = field(
        default_factory=dict
    )  # node of a graph -> node of the captured graph that it came from
    structure: Dict[str, Any] = field(
        default_factory=dict, repr=False
    )  # of a graph, see docs/run_schema.md; empty where the graph was not seen alive
    _text: Optional[str] = field(default=None, repr=False)
    #: reads the text back where it is no longer in memory
    _stored: Optional[Callable[[], str]] = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The text, read from the dump when it is no longer in memory.

        Empty when that file is gone.
        """
        if self._text is not None:
            return self._text
        return self._stored() if self._stored is not None else ""

    def to_json(self) -> Dict[str, Any]:
        return {
            "stage": self.stage,
            "kind": self.kind,
            "index": self.index,
            "path": self.path,
            "torch_path": self.source_path,
            "origin": self.origin,
            "note": self.note,
            "origins": self.origins,
            "structure": self.structure,
        }


@dataclass
class Guard:
    """One condition under which a compiled entry may be used."""

    text: str  # as torch prints it, without the trailing comment
    kind: str = ""
    source: str = ""  # the thing that is guarded, e.g. L['x']
    comment: str = ""  # user code and place, as torch prints them
    expression: Optional[str] = None  # Python that decides the same, None when there is none
    user_stack: List[str] = field(default_factory=list)

    def to_json(self) -> Dict[str, Any]:
        return {
            "text": self.text,
            "kind": self.kind,
            "source": self.source,
            "comment": self.comment,
            "expression": self.expression,
            "user_stack": self.user_stack,
        }


@dataclass
class GraphBreak:
    """A place where Dynamo had to leave the graph.

    Attributes:
        reason: torch's name for it.
        text: all that torch printed.
        explanation: torch's.
        hints: torch's hints, word for word; `advice` is depyf's own.
        location: `file:line` of the user's code.
        url: torch's page about it.
        user_stack: the frames that led there, as a traceback has them.
        attempt: in which of torch's attempts at the compile it was met.
    """

    reason: str
    text: str = ""
    explanation: str = ""
    hints: List[str] = field(default_factory=list)
    location: str = ""
    url: str = ""
    user_stack: List[str] = field(default_factory=list)
    attempt: int = 0

    @property
    def advice(self) -> List[str]:
        """What helps, in depyf's words: the advice of the report, which tests follow.

        Empty where only torch has hints.
        """
        return Writers.advice(self)

    def to_json(self) -> Dict[str, Any]:
        return {
            "reason": self.reason,
            "explanation": self.explanation,
            "hints": self.hints,
            "location": self.location,
            "url": self.url,
            "user_stack": self.user_stack,
            "text": self.text,
        }


@dataclass
class Problem:
    """Something that depyf could not do; the user's program went on without it."""

    where: str
    message: str
    detail: str = ""

    def to_json(self) -> Dict[str, Any]:
        return {"where": self.where, "message": self.message, "detail": self.detail}


@dataclass
class Saved:
    """What a forward graph keeps for its backward graph.

    Attributes:
        tensors: how many tensors.
        computed_bytes: of those that the forward graph computed and would else have freed.
        input_bytes: of its inputs (parameters too) and views of them, which exist anyway.
        unknown: how many tensors have a size that is not known here.
    """

    tensors: int = 0
    computed_bytes: int = 0
    input_bytes: int = 0
    unknown: int = 0

    def add(self, other: "Saved") -> None:
        """Adds what another graph of the same compile keeps."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Rest:
    """A resume function that an entry calls.

    Attributes:
        name: what the entry's source calls it.
        title: what it is called before a reader.
        files: which files its code is in, or will be, as a pattern.
    """

    name: str
    title: str
    files: str
    _code: LiveObject = field(default_factory=LiveObject)
    _installed_as: str = ""  # as that of a function


@dataclass(
    eq=False, repr=False
)  # each is one thing; comparing two means asking whether they are the same
class Entry:
    """One compile of one function."""

    compile_id: str
    index: int = 0  # the K of __transformed_code_K_for_<function>
    graph_name: Optional[str] = None  # __compiled_fn_N, without the UUID that torch appends
    global_name: Optional[str] = None  # the name under which torch installed the graph
    name: str = ""  # __transformed_code_K_for_<function>
    qualname: str = ""  # of what it was compiled for, where that is not the function's: one wrapper
    # of a decorator, compiled for several functions
    through: str = ""  # of a compile without a function: the wrapper's own name
    source: str = ""  # decompiled transformed code
    verdict: str = "refused"
    detail: str = ""
    replaced: bool = False  # torch runs code compiled from the dumped file
    replaced_by: str = ""  # the block or hook whose code torch runs instead
    path: Optional[str] = None  # the dumped file, relative to the dump's folder
    code_path: Optional[str] = None  # the file that the running code object names
    original_bytecode: str = ""
    transformed_bytecode: str = ""
    names: Dict[str, str] = field(
        default_factory=dict
    )  # name of a global in `source` -> the name that torch gave it
    calls: List[str] = field(default_factory=list)  # global names of the resume functions it calls
    # torch installs the code of a resume function under one more global for each compile that
    # breaks at its place: names of `calls` -> the first one
    aliases: Dict[str, str] = field(default_factory=dict)
    #: those of `calls` that have no compile -> whether torch looked at a call of it
    rests_called: Dict[str, bool] = field(default_factory=dict)
    resumes: str = ""  # of a resume function for which torch made no code: its global name
    runs_on: int = 0  # the line from which on the function's own code runs behind the graph, or 0
    artifacts: List[Artifact] = field(default_factory=list)
    missing: Dict[str, str] = field(default_factory=dict)  # stage -> why torch did not make it
    guards: List[Guard] = field(default_factory=list)
    guard_tree: str = ""
    breaks: List[GraphBreak] = field(default_factory=list)
    reasons: List[str] = field(default_factory=list)  # why earlier entries did not fit
    cache: List[Dict[str, Any]] = field(default_factory=list)
    symbols: List[Dict[str, Any]] = field(default_factory=list)
    sizes: Dict[str, Any] = field(default_factory=dict)
    conditions: List[List[str]] = field(
        default_factory=list
    )  # stacks, like `user_stack`, of the lines that decided something on a symbolic shape
    saved: Optional[Saved] = None  # what its backward graph needs kept
    sequences: Dict[int, str] = field(
        default_factory=dict
    )  # autograd's number of an operation -> node of the captured graph
    metrics: Dict[str, Any] = field(default_factory=dict)
    backward_metrics: Dict[str, Any] = field(default_factory=dict)
    marks: List[Mark] = field(default_factory=list)
    line_map: List[Tuple[int, int]] = field(
        default_factory=list
    )  # line of `source` -> line of the original's file
    user_stack: List[str] = field(default_factory=list)
    failure: Optional[str] = None
    failure_operation: str = ""  # of a graph, at which the exception was raised
    failure_stack: List[str] = field(default_factory=list)  # the lines that it is from
    invalidated: bool = False
    dropped: bool = False  # torch no longer has it, as after torch._dynamo.reset()
    resets: int = 0  # calls of torch._dynamo.reset() that were noticed in the process before it
    finished: bool = False
    hooked: bool = False
    _unfinished: bool = False  # torch had made code, but not its guards, when the block ended
    _home: str = ""  # name of the module in whose globals torch installed the graph
    attempt: int = 0
    _constants: Constants = field(default_factory=dict)
    _code: LiveObject = field(default_factory=LiveObject)
    _torch_code: LiveObject = field(default_factory=LiveObject)
    _hooks_behind: List[str] = field(default_factory=list)
    _rests: List[Rest] = field(default_factory=list)
    _broke_at: int = 0  # the line of the function behind which a rest of it goes on
    _goes_on: str = ""  # of a resume function, what its own source says that it is
    _notes: str = ""  # what `source` says of resume functions
    _spans_of: Tuple[int, List[List[Any]]] = (0, [])  # how many marks `spans` was made of, and it
    _graph_module: LiveObject = field(default_factory=LiveObject)
    _logged_guards: List[str] = field(default_factory=list)
    _guard_manager: LiveObject = field(default_factory=LiveObject)

    def __repr__(self) -> str:
        name = self.name.partition("_for_")[2] or self.metrics.get("co_name") or "?"
        parts = ["not compiled" if self.failure else self.verdict]
        for count, word in (
            (len(self.guards), "guard"),
            (len(self.breaks), "graph break"),
            (len(self.artifacts), "artifact"),
        ):
            if count:
                parts.append("%d %s%s" % (count, word, "" if count == 1 else "s"))
        return shown("<Entry %s of %s: %s>" % (self.compile_id, name, ", ".join(parts)))

    def _repr_html_(self) -> str:
        return Writers.entry_html(self)

    @property
    def code(self) -> Optional[types.CodeType]:
        """The code object that torch runs for this entry, while it lives."""
        return self._code.get()

    @property
    def seconds(self) -> float:
        """The seconds that torch spent on this compile, its backward included.

        0 where torch did not measure.
        """
        return seconds({"metrics": self.metrics, "backward_metrics": self.backward_metrics})

    @property
    def graph_module(self) -> Any:
        """The captured torch.fx.GraphModule, while it lives and torch lets it be found (backend
        "eager").
        """
        return self._graph_module.get()

    @property
    def guard_manager(self) -> Any:
        """torch's own guard manager of this entry, while it lives."""
        return self._guard_manager.get()

    @property
    def graphs(self) -> Dict[str, str]:
        """Stage -> text of the graph.

        A stage with several graphs has `stage.K` for the later ones.
        """
        found = {}
        for artifact in self.artifacts:
            if artifact.kind == "graph":
                key = (
                    artifact.stage
                    if not artifact.index
                    else "%s.%d" % (artifact.stage, artifact.index)
                )
                found[key] = artifact.text
        return found

    @property
    def kernels(self) -> List[str]:
        """The text of each kernel file: wrapper and kernels, forward first."""
        return [artifact.text for artifact in self.artifacts if artifact.kind == "kernel"]

    def artifact(self, stage: str, index: int = 0) -> Optional[Artifact]:
        """The artifact of one stage, or None."""
        for candidate in self.artifacts:
            if candidate.stage == stage and candidate.index == index:
                return candidate
        return None

    def called(self) -> List[str]:
        """Of each resume function that it calls, the first global that holds it."""
        return [self.aliases.get(name, name) for name in self.calls]

    def _spans(self) -> List[List[Any]]:
        known, found = self._spans_of
        if known != len(self.marks):  # marks are only added
            found = spans(self.marks)
            self._spans_of = len(self.marks), found
        return [list(row) for row in found]

    def to_json(self) -> Dict[str, Any]:
        return {
            "compile_id": self.compile_id,
            "index": self.index,
            "name": self.name,
            "qualname": self.qualname,
            "through": self.through,
            "graph_name": self.graph_name,
            "global_name": self.global_name,
            "path": self.path,
            "code_path": self.code_path,
            "source": self.source,
            "names": self.names,
            "verdict": self.verdict,
            "detail": self.detail,
            "replaced": self.replaced,
            "replaced_by": self.replaced_by,
            "invalidated": self.invalidated,
            "dropped": self.dropped,
            "resets": self.resets,
            "failure": self.failure,
            "failure_operation": self.failure_operation,
            "failure_stack": self.failure_stack,
            "calls": self.calls,
            "aliases": self.aliases,
            "rests_called": self.rests_called,
            "resumes": self.resumes,
            "runs_on": self.runs_on,
            "original_bytecode": self.original_bytecode,
            "transformed_bytecode": self.transformed_bytecode,
            "guards": [guard.to_json() for guard in self.guards],
            "breaks": [graph_break.to_json() for graph_break in self.breaks],
            "reasons": self.reasons,
            "artifacts": [artifact.to_json() for artifact in self.artifacts],
            "missing": self.missing,
            "cache": self.cache,
            "symbols": self.symbols,
            "sizes": self.sizes,
            "conditions": self.conditions,
            "saved": None if self.saved is None else dict(vars(self.saved)),
            "metrics": self.metrics,
            "backward_metrics": self.backward_metrics,
            "events": self._spans(),
            "line_map": self.line_map,
            "user_stack": self.user_stack,
        }


@dataclass(eq=False, repr=False)
class Function:
    """A function, method or resume function that Dynamo compiled at least once."""

    name: str
    qualname: str = ""  # `LlamaModel.forward`; of a wrapper's code, that of what it wraps; of a
    # resume function, that of the function which it goes on with
    module: str = ""
    through: str = ""  # the wrapper's own name
    filename: str = ""
    firstlineno: int = 0
    index: int = 0  # the K of full_code_for_<function>_K.py
    source: str = ""
    source_origin: str = ""  # "file", "decompiled" or ""
    is_resume: bool = False
    global_name: Optional[str] = None  # __resume_at_<offset>_<n> for a resume function
    entries: List[Entry] = field(default_factory=list)
    path: Optional[str] = None  # full_code file, relative to the dump's folder
    # from which compile on torch compiles it no more, and why; see docs/run_schema.md
    given_up: Dict[str, str] = field(default_factory=dict)
    _constants: Constants = field(default_factory=dict)
    _code: LiveObject = field(default_factory=LiveObject)
    _globals_name: str = ""
    _bytecode: str = ""  # disassembly of the original, shared by all entries
    _signature: Any = None
    _titled_as: str = ""  # its title, where its caller knows more
    _defaults: Optional[str] = None  # a sentence on its default values, where it was asked for
    _installed_as: str = ""  # how torch holds a resume function: "function", "factory", "code"
    _order: List[Entry] = field(default_factory=list)  # entries as torch tries them

    def __repr__(self) -> str:
        count = len(self.entries)
        what = (
            self.name,
            self.filename,
            self.firstlineno,
            count,
            "entry" if count == 1 else "entries",
        )
        return shown("<Function %s, %s:%d: %d %s>" % what)

    def _repr_html_(self) -> str:
        return Writers.function_html(self)

    @property
    def title(self) -> str:
        """Its name for people: qualified, and with the wrapper that it runs in."""
        name = self.qualname or self.name
        others = {one.qualname: None for one in self.entries if one.qualname}
        if others:
            second = next(iter(others)) if len(others) == 1 else "%d others" % len(others)
            name = "%s and %s" % (name, second)
        return self._titled(name)

    def _titled(self, name: str) -> str:
        if self._titled_as:
            return self._titled_as
        if self.is_resume and self.qualname:
            name = resumed_after(name, self.firstlineno)
        return name + (", through " + self.through if self.through else "")

    def title_of(self, entry: Entry) -> str:
        """What the code of an entry does, where the name of its file does not say it all; or ""."""
        is_first = entry in self.entries and entry.index > self.entries.index(entry)
        if is_first and not self.through and not self.is_resume and self.qualname:
            if not is_backward_pass(self.qualname):  # another function has files of this name
                return "%s (%s:%d)" % (self.qualname, self.filename, self.firstlineno)
        if not self.through and not is_backward_pass(self.qualname):
            return ""
        return self._titled(entry.qualname or self.qualname or self.name)

    def stem(self, qualname: str = "") -> str:
        """Its part of the names of files, which tells two methods of one name apart.

        Args:
            qualname: that of the entry, see `Entry`.
        """
        whole = qualname or self.qualname
        if is_backward_pass(whole) and not self.is_resume:
            return whole[: -len(_COMPILED_AUTOGRAD)].replace(" ", "_").replace(".", "_")
        if not self.is_resume or not whole:
            return (whole or self.name).replace(".", "_")
        plain = self.through or whole.rpartition(".")[2]
        return self.name.replace("_in_" + plain, "_in_" + whole, 1).replace(".", "_")

    @property
    def where(self) -> str:
        """Its place for people."""
        if is_backward_pass(self.qualname) and not self.is_resume:
            return TRACED_BACKWARD
        return "%s:%d" % (self.filename, self.firstlineno)

    @property
    def code(self) -> Optional[types.CodeType]:
        """The original code object, while it lives."""
        return self._code.get()

    def to_json(self, with_entries: bool = True) -> Dict[str, Any]:
        return {
            "name": self.name,
            "qualname": self.qualname,
            "module": self.module,
            "through": self.through,
            "filename": self.filename,
            "firstlineno": self.firstlineno,
            "index": self.index,
            "source": self.source,
            "source_origin": self.source_origin,
            "is_resume": self.is_resume,
            "global_name": self.global_name,
            "path": self.path,
            "given_up": self.given_up,
            "entries": [entry.to_json() for entry in self.entries] if with_entries else [],
        }


@dataclass(eq=False, repr=False)
class Run:
    """Everything that was compiled while depyf looked.

    Attributes:
        folder: where it was dumped, or None.
    """

    torch_version: str = ""
    python_version: str = sys.version.split()[0]
    program: str = field(default_factory=lambda: sys.argv[0] if getattr(sys, "argv", None) else "")
    started: float = field(default_factory=time.time)
    finished: Optional[float] = None
    folder: Optional[str] = None
    functions: List[Function] = field(default_factory=list)
    unattributed: List[Entry] = field(
        default_factory=list
    )  # compiles without a function: failed ones, compiled autograd
    problems: List[Problem] = field(default_factory=list)
    error: str = ""  # the exception that ended the block: its type and message
    #: by whose code it was raised: see docs/run_schema.md
    raised_at: Dict[str, Any] = field(default_factory=dict)
    unavailable: Dict[str, str] = field(default_factory=dict)
    profiles: List[Dict[str, Any]] = field(default_factory=list)  # see depyf.torch.profile
    nonfinite: List[Dict[str, Any]] = field(default_factory=list)  # see depyf.torch.numbers
    cudagraph_skips: List[str] = field(default_factory=list)  # torch's words, once each
    #: file of the dump that is not there -> why it could not be written
    _unwritten: Dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    #: a list for `depyf.advise.Advice` of the dump, of who tells of the run after its end
    _advice: Optional[List[Any]] = field(default=None, repr=False, compare=False)

    def entries(self) -> Iterator[Entry]:
        """Every entry of every function, in order of compilation within each function."""
        for function in self.functions:
            for entry in function.entries:
                yield entry
        for entry in self.unattributed:
            yield entry

    def function(self, name: str) -> Function:
        """The first function of that name.

        Raises:
            KeyError: no function of that name was compiled; the message lists those that were.
        """
        for function in self.functions:
            if name in (function.name, function.qualname) and not (
                function.is_resume and name != function.name
            ):
                return function
        raise KeyError(
            "no function %r was compiled; compiled functions: %s"
            % (name, ", ".join(f.name for f in self.functions) or "none")
        )

    def resume_names(self) -> Dict[str, List[str]]:
        """The globals under which torch installed each resume function, by the first of them."""
        found: Dict[str, List[str]] = {}
        for function in self.functions:
            if function.global_name:
                found.setdefault(function.global_name, [function.global_name])
        for entry in self.entries():
            for name, first in entry.aliases.items():
                names = found.setdefault(first, [first])
                if name not in names:
                    names.append(name)
        return found

    def dump(self, folder: str) -> str:
        """Writes the files of `prepare_debug` for this run.

        Args:
            folder: where to write; made when it does not exist.
        Returns:
            The absolute path of the folder.
        Raises:
            OSError: the folder cannot be made or written.
        """
        return Writers.dump(self, folder)

    def report(self, path: Optional[str] = None) -> Any:
        """Writes one self-contained page about this run.

        Args:
            path: the file; without it `index.html` of the folder that the run was dumped to, else
                `depyf_report.html` in the current folder.
        Returns:
            The page's absolute path, as a `pathlib.Path`.
        Raises:
            ImportError: Jinja2 is not installed.
            OSError: the page cannot be written.
        """
        if path is None and self.folder is None:
            path = "depyf_report.html"
        return Writers.page(self, path)

    def to_json(self, with_entries: bool = True) -> Dict[str, Any]:
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "torch_version": self.torch_version,
            "python_version": self.python_version,
            "program": self.program,
            "started": self.started,
            "finished": self.finished,
            "functions": [one.to_json() for one in self.functions] if with_entries else [],
            "unattributed": [one.to_json() for one in self.unattributed] if with_entries else [],
            "error": self.error,
            "raised_at": self.raised_at,
            "problems": [problem.to_json() for problem in self.problems],
            "unavailable": self.unavailable,
            "profiles": self.profiles,
            "nonfinite": self.nonfinite,
            "cudagraph_skips": self.cudagraph_skips,
        }

    def __repr__(self) -> str:
        entries = [
            entry for function in self.functions for entry in function.entries
        ] + self.unattributed
        counts = (
            (len(entries), "compile"),
            (sum(len(entry.breaks) for entry in entries), "graph break"),
            (sum(1 for entry in entries if entry.reasons), "recompile"),
        )
        return "<Run: %s>" % ", ".join(
            "%d %s%s" % (count, word, "" if count == 1 else "s") for count, word in counts
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: lists to pick a function, a compile and one of its texts from."""
        return Writers.run_html(self)

    def dumps(self) -> str:
        """The run as JSON text, all of it spelled out.

        Values that JSON does not know are written as their repr.
        """
        return json.dumps(self.to_json(), default=repr)


def sorted_artifacts(entry: Entry) -> List[Artifact]:
    """An entry's artifacts in the order in which torch makes the stages."""
    order = {stage: position for position, stage in enumerate(STAGES)}
    return sorted(
        entry.artifacts,
        key=lambda artifact: (
            order.get(artifact.stage, len(order)),
            artifact.stage,
            artifact.index,
        ),
    )
