"""What is known of one compile, each fact as plain data."""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from depyf.model.live import LiveObject
from depyf.model.writers import Writers

#: names in decompiled source that stand for objects -> (expression that finds the object, None
#: where there is none; its id)
Constants = Dict[str, Tuple[Optional[str], int]]


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
        title: its name in texts for a reader.
        files: which files its code is in, or will be, as a pattern.
    """

    name: str
    title: str
    files: str
    _code: LiveObject = field(default_factory=LiveObject)
    _installed_as: str = ""  # as that of a function
