"""A change to a program, and where it is told."""

from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from depyf.advice import breaks

#: (file, line)
Place = Tuple[str, int]


class Change(NamedTuple):
    """A change to a program: what happened, what to change, and what compiling that would save."""

    #: of compiling that it would save at most, each counted once
    seconds: float
    #: as in `overview.causes`
    kind: str
    #: where it happened
    file: str
    line: int
    #: what happened
    words: str
    #: what to change
    advice: str
    #: a unified diff, or ""
    patch: str
    #: that of `depyf.advice`
    row: str
    #: what torch compiled, as `overview.Node.frame`
    function: Any
    #: the reader's own line (file, line, code) that led into a library's, ("", 0, "") for none
    caller: Tuple[Any, ...]
    #: after how many compiles torch gave the function up, 0 where it did not
    gave_up: int
    #: (file, line) of the breaks without which the function would be no compile of its own
    within: FrozenSet[Place]
    #: `seconds` by the key of the compile (`overview.Node.key`) that took them
    each: Dict[str, float]
    #: the changes that the same patch or advice makes elsewhere, the costliest first
    also: Tuple["Change", ...]
    #: those of which nothing is left after it, the costliest first
    gone: Tuple["Change", ...]
    #: (file, line) of what is to be edited, None where that is the place of the cause
    shown_at: Optional[Place]
    #: the functions, as `function`, whose calls led there: those of the program's torch.compile
    outermost: FrozenSet[Any]
    #: (file, line) of the breaks that stay, and because of which torch may need more time after the
    #: change than before, so that `seconds` are no figure; the first is met first
    unsure: Tuple[Place, ...]
    #: the one of `overview.causes`
    cause: Dict[str, Any]
    #: the seconds that it would save without the changes above it, where `seconds` are what is left
    #: after them
    alone: float
    #: ((file, line), whether torch met it) of the break that keeps uncompiled what it is about
    left: Optional[Tuple[Place, bool]] = None
    #: the changes of recompiles that are to be made before, as without the break all of a function
    #: is compiled again for them: with one of the two, `seconds` are no figure
    first: Tuple["Change", ...] = ()
    #: calls that it must not have compiled (`outside.Call`): `seconds` are no figure
    kept_out: Tuple[Any, ...] = ()
    #: (file, line, what is changed from its own value) in functions that torch would compile then
    counts: Tuple[Tuple[str, int, str], ...] = ()
    #: whether the program ended with an exception in code that torch made there
    ended: bool = False
    #: all the changes that are to be made before: `first`, and those that its advice names
    before: Tuple["Change", ...] = ()


class Known(NamedTuple):
    """What a patch asks of a run."""

    #: the file that it began with
    program: str
    #: of `overview`
    nodes: List[Any]


def shown_at(change: Change) -> Tuple[str, int]:
    """(file, line) at which a change is told: of what is to be edited, else of the cause."""
    return change.shown_at or (change.file or "?", change.line)


def fails(one: Change) -> bool:
    """Whether torch gave a function up because of what a change is about."""
    return one.kind == "failure" and one.row not in ("nothing to compile", "limit")


def raises(change: Change) -> bool:
    """Whether torch raises an exception to the program because of what a change is about."""
    every = (change,) + change.also + change.gone
    return any(fails(one) and one.cause["failure"].get("raised") for one in every)


def ends(change: Change) -> int:
    """How far the exception with which the program ended is from a change: 0 where it came in code
    that torch made at its own place, 1 at another one of it, 2 elsewhere.
    """
    also = any(one.ended for one in change.also + change.gone)
    return 0 if change.ended else 1 if also else 2


def is_shared(change: Change) -> bool:
    """Whether another value, too, differs in each compile that was made for a change, so that the
    change spares it only together with one of that value.
    """
    if change.kind != "recompile" or any(change.each.values()):
        return False
    every = [one for one in (change,) + change.also if one.kind == "recompile"]
    reasons = [node.reasons[0] for one in every for node in one.cause["nodes"] if node.reasons]
    return any(one["differing"] for one in reasons)


def takes_loop_out(advice: str) -> bool:
    """Whether some advice takes the loop around a break out of compiled code."""
    return advice in breaks.OF_LOOPS


def is_open(change: Change) -> bool:
    """Whether it depends on other changes what a change saves."""
    waits = change.left or change.first or change.kept_out or is_shared(change)
    return bool(change.unsure or waits or change.counts or stays_uncompiled(change))


def stays_uncompiled(change: Change) -> bool:
    """Whether the function that torch gave up stays so after a change, which has it call another
    one that torch compiles.
    """
    return fails(change) and change.advice == breaks.LOOP.help[0].text


def is_late(change: Change) -> bool:
    """Whether others are to be made before: it may cost more than it saves by itself."""
    return bool(change.unsure or change.first or change.kept_out)
