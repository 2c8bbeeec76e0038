"""One compile."""

import types
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Dict, List, Optional, Tuple

from depyf.model.facts import Artifact, Constants, GraphBreak, Guard, Rest, Saved
from depyf.model.live import LiveObject
from depyf.model.writers import Writers
from depyf.schema import STAGES, seconds
from depyf.terminal import shown

#: one of torch's timed events: name, microseconds since the epoch, "B" where it begins or "E" where
#: it ends
Mark = Tuple[str, float, str]
_MOST_EVENTS = 400


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
    _broke_at: int = 0  # the line of the function after which a resume function of it continues
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
