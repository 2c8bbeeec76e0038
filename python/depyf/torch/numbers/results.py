"""What `find_nonfinite` and `compare_stages` report."""

import contextlib
from dataclasses import dataclass, field
from typing import Any, List, Optional, Tuple

from depyf.terminal import place, shown


@dataclass
class TensorStatistics:
    """Statistics of a tensor or a number.

    Minimum, maximum and mean are those of its finite elements.
    """

    name: str
    dtype: str = ""
    shape: Tuple[int, ...] = ()
    device: str = ""
    elements: int = 0
    nan: int = 0
    infinite: int = 0
    zeros: int = 0
    minimum: Optional[float] = None
    maximum: Optional[float] = None
    mean: Optional[float] = None
    value: Optional[str] = None  # of a number that is no tensor

    @property
    def is_finite(self) -> bool:
        """True when no element is NaN or infinite."""
        return not self.nan and not self.infinite

    def __str__(self) -> str:
        if self.value is not None:
            return "%s = %s" % (self.name, self.value)
        text = "%s: %s%s" % (self.name, self.dtype, list(self.shape))
        if self.device and self.device != "cpu":
            text += " " + self.device
        if self.minimum is not None and self.maximum is not None and self.mean is not None:
            text += ", %.6g to %.6g, mean %.6g" % (self.minimum, self.maximum, self.mean)
        for count, word in ((self.zeros, "zero"), (self.nan, "NaN"), (self.infinite, "infinite")):
            if count:
                text += ", %d %s" % (count, word)
        return text


def statistics(name: str, value: Any) -> TensorStatistics:
    """The statistics of a tensor or number; what cannot be computed stays empty."""
    import torch

    if not isinstance(value, torch.Tensor):
        return TensorStatistics(name, value=repr(value)[:80])
    found = TensorStatistics(
        name,
        str(value.dtype).replace("torch.", ""),
        tuple(int(size) for size in value.shape),
        str(value.device),
        int(value.numel()),
    )
    with contextlib.suppress(Exception), torch.no_grad():
        numbers = value.detach()
        if numbers.is_complex():
            numbers = numbers.abs()
        numbers = numbers.to(torch.float64 if numbers.device.type != "mps" else torch.float32)
        finite = numbers[torch.isfinite(numbers)]
        found.nan = int(torch.isnan(numbers).sum())
        found.infinite = int(torch.isinf(numbers).sum())
        found.zeros = int((numbers == 0).sum())
        if finite.numel():
            found.minimum, found.maximum = float(finite.min()), float(finite.max())
            found.mean = float(finite.mean())
    return found


@dataclass
class _Place:
    node: str
    operation: str
    direction: str  # "forward" or "backward"
    graph: int  # which captured graph, in order of compilation
    path: Optional[str] = None
    line: Optional[int] = None
    code: str = ""
    stack: List[str] = field(default_factory=list)

    def _place_text(self) -> str:
        if self.path is None:
            return ""
        return "  at %s: %s" % (place(self.path, self.line), shown(self.code))

    def _stack_text(self) -> List[str]:
        return (
            ["  called from"] + ["    " + shown(frame) for frame in self.stack[:-1]]
            if len(self.stack) > 1
            else []
        )


@dataclass
class Nonfinite(_Place):
    """A node of a captured graph that made NaN or infinity, or an input that held it already.

    Attributes:
        kind: "NaN", "infinity" or "NaN and infinity".
        call: the number of earlier calls of the graph.
        is_input: the value comes from outside of the captured graphs.
        output: statistics of the node's output (in backward: of the gradient that it passed on).
        inputs: statistics of the node's inputs (in backward: of the incoming gradients, and of the
            values that forward saved).
        element: the first element that is not finite, and what was computed there: "[0, 3]: 0 / 0".
    """

    kind: str = ""
    call: int = 0
    is_input: bool = False
    output: Optional[TensorStatistics] = None
    inputs: List[TensorStatistics] = field(default_factory=list)
    element: str = ""

    def summary(self) -> str:
        """The operation and its location, in one line."""
        made = "" if self.is_input else " (%s)" % shown(self.operation)
        where = ", %s" % self._place_text().strip() if self.path else ""
        return "%s%s of captured graph %d%s" % (shown(self.node), made, self.graph, where)

    def __str__(self) -> str:
        if self.is_input:
            lines = [
                "%s came in as %s of captured graph %d" % (self.kind, shown(self.node), self.graph)
            ]
        else:
            lines = [
                "%s made by %s (%s) in the %s of captured graph %d%s"
                % (
                    self.kind,
                    shown(self.node),
                    shown(self.operation),
                    self.direction,
                    self.graph,
                    ", call %d" % (self.call + 1) if self.call else "",
                )
            ]
        if self.path:
            lines.append(self._place_text())
        if self.output is not None:
            lines.append("  out  %s" % self.output)
        if self.element:
            lines.append("  first at " + shown(self.element))
        lines += ["  in   %s" % one for one in self.inputs]
        return "\n".join(lines + self._stack_text())


@dataclass(repr=False)
class NonfiniteReport:
    """What `find_nonfinite` found.

    Attributes:
        first: the first node that made NaN or infinity; None if all values except masks are finite.
        first_nan: the first node that made NaN, if that is another one.
        mask: the first node that made a -inf which looks like a mask: a constant that was filled
            in, or an input that holds no other infinity.
        graphs: the number of captured graphs that ran.
        nodes: the number of nodes that were checked; a node counts once for each run.
        error: the exception that ended the run early.
        notes: what could not be checked.
    """

    first: Optional[Nonfinite] = None
    first_nan: Optional[Nonfinite] = None
    graphs: int = 0
    nodes: int = 0
    error: Optional[str] = None
    notes: List[str] = field(default_factory=list)
    mask: Optional[Nonfinite] = None

    def __bool__(self) -> bool:
        return self.first is not None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        head = "depyf: ran %d captured graph%s operation by operation, and checked %d value%s" % (
            self.graphs,
            "" if self.graphs == 1 else "s",
            self.nodes,
            "" if self.nodes == 1 else "s",
        )
        if not self.graphs:
            head = "depyf: no graph was captured, so no value was checked"
        if self.first is None:
            but = ", but for -inf in what looks like a mask" if self.mask is not None else ""
            parts = [head + (": every value was finite" + but if self.graphs else "")]
        else:
            parts = [head, str(self.first_nan or self.first)]
            if self.first_nan is not None and self.first_nan is not self.first:
                parts += ["and before it, the first infinity:", str(self.first)]
        if self.mask is not None:
            parts.append("-inf on purpose, as a mask? " + self.mask.summary())
        if self.error:
            parts.append("the run ended with %s" % shown(self.error))
        return "\n".join(parts + self.notes)


@dataclass
class Parting(_Place):
    """A value at which one stage differs from the one before it.

    Attributes:
        stage: the stage that differs from `before`.
        what: "value", "gradient", "result" or "side effect".
        absolute, relative: the largest differences.
        one, other: statistics of the value in the two stages.
        kernel: the name of the kernel that computed the value, if inductor made it.
        kernel_nodes: the nodes that this kernel computes.
        alone: for a kernel: True if the node also differs when inductor compiles it alone, False if
            it differs only inside the kernel, None if that was not tried.
    """

    stage: str = ""
    before: str = ""
    what: str = "value"
    absolute: float = 0.0
    relative: float = 0.0
    one: Optional[TensorStatistics] = None
    other: Optional[TensorStatistics] = None
    kernel: Optional[str] = None
    kernel_nodes: List[str] = field(default_factory=list)
    alone: Optional[bool] = None
    note: str = ""

    def __str__(self) -> str:
        lines = [
            "%s differs from %s at the %s of %s%s%s"
            % (
                self.stage,
                self.before,
                self.what,
                shown(self.node),
                " (%s)" % shown(self.operation) if self.operation else "",
                " in the %s of captured graph %d" % (self.direction, self.graph)
                if self.graph >= 0
                else "",
            ),
            "  differs by %.3g (%.3g relative)" % (self.absolute, self.relative),
        ]
        if self.path:
            lines.append(self._place_text())
        if self.kernel:
            lines.append(
                "  kernel %s%s"
                % (
                    shown(self.kernel),
                    ", which computes %s" % _some(self.kernel_nodes) if self.kernel_nodes else "",
                )
            )
        if self.alone is not None:
            lines.append(
                "  compiled alone, the operation %s"
                % ("differs as well" if self.alone else "agrees: the whole kernel is at fault")
            )
        lines += ["  %s" % one for one in (self.one, self.other) if one is not None]
        if self.note:
            lines.append("  " + self.note)
        return "\n".join(lines + self._stack_text())


@dataclass
class Stage:
    """One stage at which the function ran.

    Attributes:
        name: "eager", "captured graph", "AOT graph" or "inductor".
        graphs: the number of graphs that ran.
        difference: the largest difference of results and gradients from those of "eager"; None if
            the stage could not run.
        error: why the stage could not run.
    """

    name: str
    graphs: int = 0
    difference: Optional[float] = None
    error: Optional[str] = None


@dataclass(repr=False)
class StageComparison:
    """What `compare_stages` found.

    Attributes:
        stages: the stages in the order in which they ran.
        first: the first value at which a stage differs from the one before it by more than the
            tolerance; None if there is none.
        result: what the function returned, run eagerly.
    """

    stages: List[Stage] = field(default_factory=list)
    first: Optional[Parting] = None
    result: Any = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.first is not None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = []
        for stage in self.stages:
            text = "  %-14s  " % stage.name
            if stage.error:
                text += "could not run: " + shown(stage.error)
            elif stage.name == "eager":
                text += "the reference"
            else:
                text += "%d graph%s, results differ by at most %.3g" % (
                    stage.graphs,
                    "" if stage.graphs == 1 else "s",
                    stage.difference or 0.0,
                )
            lines.append(text)
        if self.first is not None:
            lines.append(str(self.first))
        elif all(stage.error is None for stage in self.stages):
            lines.append("all stages agree within the tolerance")
        return "\n".join(lines)


def _some(names: List[str], most: int = 12) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (" and %d more" % more if more > 0 else "")
