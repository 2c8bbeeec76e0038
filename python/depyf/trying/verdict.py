"""What a change did to a program, told from a run before it and a run after it."""

from typing import Callable, List, NamedTuple, Optional

from depyf.summary.counting import many
from depyf.terminal import shown
from depyf.trying.comparing import Difference, difference, own_lines, varying
from depyf.trying.runs import Counts, Outcome, counts_of


class Verdict(NamedTuple):
    """What a change did to a program."""

    #: whether the program does the same and torch compiles or breaks less often
    kept: bool
    #: that in words
    words: str
    #: what the run found
    rows: List[str]


_UNKNOWN = "torch does less; whether the program does the same is not known"
_COSTS = ", but compiling took longer in this run"
#: times of two runs of the same program differ by so much
_LONGER = 1.25
_LONGEST = 70  # of a line that is quoted


def verdict(before: Outcome, after: Outcome, again: Callable[[], Outcome]) -> Verdict:
    """Whether a change helps.

    Args:
        again: runs the program once more as it was before; called only where the outputs differ, to
            see what differs from run to run.
    """
    if after.code is None:
        words = "it was stopped after %.0f s; it took %.1f s before"
        return _not_kept(words % (after.seconds, before.seconds))
    if after.code != before.code and after.code != 0:
        return _not_kept("it " + ended_because(after))
    rows: List[str] = []
    found: Optional[Difference] = None
    if before.code == after.code:
        outcomes = _Pair(before, after, again)
        found = outcomes.difference(lambda one: one.output)
        if found is None:
            rows.append("it prints another number of lines from run to run: not compared")
        elif found.line is not None:
            return _not_kept(_differs(found, "line %d that it prints"))
    if before.code == after.code == 0:
        of_errors = outcomes.difference(lambda one: own_lines(one.errors))
        if of_errors is not None and of_errors.line is not None:
            return _not_kept(_differs(of_errors, "line %d that it writes to standard error"))
    if before.code != after.code:
        rows.append("it ends well, and %s before" % ended(before))
    elif not after.output:
        rows.append("it prints nothing, so its results were not compared")
    elif found is not None:
        rows.append(_same(found.largest, found.apart))
    if before.document is None or after.document is None:
        return _not_kept(*rows, "it left no dump, so nothing is known of its compiles")
    counts = [counts_of(one) for one in (before, after)]
    rows.append(counted(counts[1], after.seconds))
    rows += _worse(*counts)
    shorter = after.seconds < before.seconds
    if before.code == after.code and not is_less(counts[0], counts[1], shorter):
        return _not_kept(*rows)
    compared = before.code != after.code or (after.output and found is not None)
    words = "it helps" if compared else _UNKNOWN
    if before.code == after.code and counts[1].seconds > _LONGER * counts[0].seconds:
        words += _COSTS
    return Verdict(True, words, rows)


class _Pair:
    """Two runs whose lines are compared; the program is run once more, and only if lines differ."""

    def __init__(self, before: Outcome, after: Outcome, again: Callable[[], Outcome]) -> None:
        self._before, self._after, self._again = before, after, again
        self._third: Optional[Outcome] = None

    def difference(self, lines_of: Callable[[Outcome], List[str]]) -> Optional[Difference]:
        """Where the lines differ first; None where they differ in number from run to run."""
        one, other = lines_of(self._before), lines_of(self._after)
        found = difference(one, other, {})
        if found.line is None:
            return found
        if self._third is None:
            self._third = self._again()
        known = varying(one, lines_of(self._third))
        if known is None:
            return None
        return difference(one, other, known) if known else found


def _differs(found: Difference, where: str) -> str:
    quoted = [_quoted(one) for one in (found.other, found.one)]
    words = "it does not do the same: %s is %%s, was %%s" % where
    return words % (found.line, *quoted)


def _not_kept(*rows: str) -> Verdict:
    return Verdict(False, "it is not kept", list(rows))


def is_less(before: Counts, after: Counts, shorter: bool) -> bool:
    """Whether torch has less to do, and gives up no more.

    Args:
        shorter: the whole run took less time after the change.
    """
    if _worse(before, after) or after.uncompiled > before.uncompiled:
        return False
    fewer = after.uncompiled < before.uncompiled
    changes = after.breaks - before.breaks, after.compiles - before.compiles
    if not fewer and min(changes) >= 0:
        return False
    # what torch gave up before has compiles and breaks of its own; that it recompiles is no gain
    rising = () if fewer else changes
    return shorter or max(*rising, after.recompiles - before.recompiles, 0) <= 0


def _worse(before: Counts, after: Counts) -> List[str]:
    """What counts of the whole run do not tell: functions that torch gives up as a whole, and not
    only a rest of them behind a graph break, or compiles oftener and longer from their begin on.
    """
    given_up = (after.whole - before.whole) & before.rests
    rows = [_ALL_OF % name for _, name in sorted(given_up)]
    if after.seconds > _LONGER * before.seconds:
        rows += [
            _OFTENER % (name, after.often[file, name], before.often[file, name])
            for file, name in sorted(before.often)
            if after.often[file, name] > before.often[file, name]
        ]
    return rows


_ALL_OF = "torch gives up all of %s, and only gave up a rest of it before"
_OFTENER = "torch compiles all of %s %d times, before %d, and compiling took longer"


def counted(counts: Counts, seconds: float) -> str:
    """The counts of a run in words."""
    told = [*map(many, counts[:3], ("compile", "graph break", "recompile"))]
    if counts.uncompiled:
        told.append(many(counts.uncompiled, "function") + " uncompiled")
    told.append("%.1f s of compiling" % counts.seconds)
    return "%s; %.1f s in all" % (", ".join(told), seconds)


def _same(largest: float, apart: int) -> str:
    told = "it prints the same"
    if largest > 0:
        told += ", with numbers that differ by at most %.0e of their size" % largest
    if apart:
        one = apart == 1
        form = "%d number%s or line%s that differ%s from run to run %s not compared"
        told += "; " + form % (apart, "s"[one:], "s"[one:], "s" * one, "was" if one else "were")
    return told


def ended(outcome: Outcome) -> str:
    """How a run ended, in words."""
    if outcome.code is None:
        return "took too long and was stopped"
    if outcome.code < 0:
        return "ended by signal %d" % -outcome.code
    return "ended with exit code %d" % outcome.code


def ended_because(outcome: Outcome) -> str:
    """The same, with the last line of standard error."""
    lines = [one.strip() for one in outcome.errors if one.strip()]
    return ": ".join([ended(outcome)] + [shown(one) for one in lines[-1:]])


def _quoted(line: Optional[str]) -> str:
    if line is None:
        return "missing"
    text = shown(line.strip())
    return "`%s`" % (text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
