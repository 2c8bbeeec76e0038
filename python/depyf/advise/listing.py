"""The changes of a run in their order, found once for all that tell of them."""

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from depyf.advise.causing import MADE_BEFORE
from depyf.advise.change import Change, is_open, shown_at, takes_loop_out
from depyf.advise.finding import changes_of
from depyf.advise.joining import (
    merged_by_advice,
    one_for_each_advice,
    without_combined,
    without_done,
    without_gone,
)
from depyf.advise.order import Order, after_those_before, taken_one_by_one
from depyf.advise.outside import counts_in, kept_out
from depyf.advise.patches import beyond
from depyf.advise.staying import failing_in, kept_by, recompiled_behind
from depyf.advise.uncompiled import left_untold, uncompiled
from depyf.advise.wording import (
    OF_MADE,
    asked_first,
    called_from_in_words,
    left_out,
    made_before,
    patch_now,
    saving,
    sentences_of,
    told_at,
    told_given_up,
)
from depyf.schema import Document
from depyf.terminal import place, shown


def changes(document: Document, most: int = 3) -> List[Change]:
    """The changes worth most in a run, the one that saves most first; failures are among them.

    A function that torch gave up is among them whatever it saves: it runs uncompiled at each call.
    To be among them, the seconds of a graph break count twice: a break costs time at each call,
    too.
    Changes of one patch or advice are one change with the seconds of all. What needs no action is
    no change, nor is a limit that was reached by a recompile that is listed, nor what another
    change leaves nothing of: a function that is a compile of its own because of a break alone.
    The numbers of changes are those of all of them, from three on.

    Args:
        document: see `depyf.summary.load`.
        most: how many.
    """
    return Advice(document).listed(most)[:most]


class Advice:
    """The changes of a run, found once for all that tell of them: the terminal, the dump's README,
    the page.

    Attributes:
        document: the run.
        nodes: as `overview.nodes_of` gives them, with what is advised here as what helps first.
        causes: as `overview.causes` gives them.
        found: a change for each cause for which there is advice, the most important first.
    """

    def __init__(self, document: Document, nodes: Optional[Sequence[Any]] = None) -> None:
        from depyf.report import overview

        self.document = document
        self.nodes = overview.nodes_of([document]) if nodes is None else list(nodes)
        self.causes = overview.causes(self.nodes)
        self.found = changes_of(document, self.nodes, self.causes)
        for one in self.found:
            _lead_with(one)
        self._listed: Dict[int, List[Change]] = {}

    def listed(self, most: int = 3) -> List[Change]:
        """All changes in the order in which they are numbered: the `most` that are worth most by
        what each saves, then the others by what each saves.
        """
        most = min(most, _CHOSEN)
        if most not in self._listed:
            self._listed[most] = _listed(self.found, most, self.nodes)
        return self._listed[most]

    def ranked(self) -> Dict[int, Tuple[int, str, str]]:
        """What the list of changes has of causes, for what lists these.

        Returns:
            By the id of a cause: its place in the order; what its change saves, or where that is
            counted; and what is said of it instead of advice where another change leaves nothing
            of it.
        """
        found: Dict[int, Tuple[int, str, str]] = {}
        for change in self.listed():
            at = place(*shown_at(change), False)
            rows = [(change, saving(change), "")]
            rows += [(one, "counted at " + at, "") for one in change.also]
            rows += [(one, "counted at " + at, _told_gone(one, at)) for one in change.gone]
            for one, saved, gone in rows:
                found.setdefault(id(one.cause), (len(found) + 1, saved, gone))
        return found

    def patches(self, most: int = 3) -> Dict[int, str]:
        """The patches of the `most` changes that are worth most, by the ids of their causes: as
        they are shown with these, each after those above it.
        """
        found: Dict[int, str] = {}
        above: Dict[int, str] = {}  # by the numbers of their changes
        top = self.listed(most)[:most]
        for number, one in enumerate(top, 1):
            if patch_now(one, top[: number - 1]):
                found[id(one.cause)] = beyond(one.patch, above)
                above[number] = one.patch
        return found

    def brief(self) -> List[str]:
        """The changes that are worth most as the lines of a list in Markdown, without patches; the
        functions first that run uncompiled for another reason.
        """
        top = self.listed()[:_CHOSEN]
        gone = uncompiled(left_untold(self.nodes, top), False)
        rows = ["Runs uncompiled: %s." % gone, ""] * bool(gone and top)
        for number, one in enumerate(top, 1):
            file, line = shown_at(one)
            words = " ".join(one.words.split()) + told_given_up(one, number, {}) + left_out(one)
            words += "" if words.endswith(".") else "."
            at = place(file, line, False) + called_from_in_words(one)
            head = "%d. %s, %s: %s" % (number, saving(one), at, words)
            told = "%s Change: %s" % (head, " ".join(one.advice.split()))
            rows.append(shown(" ".join([told] + sentences_of(one))))
        return rows

    def spared(self) -> Set[str]:
        """The keys of the recompiles of which nothing is left after the change of a graph break."""
        gone = [each for one in self.listed() for each in one.gone if each.kind == "recompile"]
        gone = [one for one in gone if one.row != MADE_BEFORE]
        return {node.key for one in gone for node in one.cause["nodes"]}

    def places(self) -> Dict[int, Tuple[str, int]]:
        """(file, line) at which each change is told, by the id of its cause."""
        return {id(one.cause): shown_at(one) for one in self.listed()}

    def heads(self) -> List[Tuple[Dict[str, Any], str, str]]:
        """(cause, what its change saves, advice) of each change, in their order."""
        return [(one.cause, saving(one), one.advice) for one in self.listed()]


def _told_gone(gone: Change, at: str) -> str:
    """What is said in place of advice of what a change at a place leaves nothing of."""
    more = OF_MADE if gone.row == MADE_BEFORE else ""
    return "Nothing is left of it after the change at %s%s." % (at, more)


#: changes that are worth most, and stand before the others
_CHOSEN = 3


def _lead_with(change: Change) -> None:
    """Has the advice of a change stand first where its break is told elsewhere, without what was
    passed over for it.
    """
    reason = change.cause.get("reason")
    if reason is not None and change.advice in reason["help"]:
        for one in [each for node in change.cause["nodes"] for each in node.reasons[:1]]:
            _put_first(one, change.advice)
    said = change.cause.get("break") or change.cause.get("failure")
    if said is None or not change.advice:
        return
    known = said["file"], said["line"], said["row"]
    for node in change.cause["nodes"]:
        for one in node.breaks + ([node.failure] if node.failure else []):
            if (one["file"], one["line"], one["row"]) == known and one["help"][:1]:
                at = one["help"].index(change.advice) if change.advice in one["help"] else None
                one["help"] = [change.advice] if at is None else one["help"][at:]
                one["patches"] = [""] if at is None else one["patches"][at:]


def _put_first(said: Dict[str, Any], advice: str) -> None:
    """Has one piece of advice stand before the others."""
    at = said["help"].index(advice) if advice in said["help"] else 0
    for key in ("help", "patches") if at else ():
        said[key] = [said[key][at], *said[key][:at], *said[key][at + 1 :]]


def _told_whole(change: Change, every: List[Change], nodes: Sequence[Any]) -> Change:
    """A change with what it leaves, and what is to be made before it."""
    # where the loop is taken out of compiled code, no break in it keeps anything uncompiled
    failing = failing_in(change) if not takes_loop_out(change.advice) else []
    kept = [kept_by(change, one) for one in failing]
    left = next(((place, met) for place, met in kept if place is not None), None)
    return change._replace(
        left=left,
        first=tuple(recompiled_behind(change, every)),
        kept_out=kept_out(change, nodes),
        counts=counts_in(failing),
    )


def _with_what_is_first(change: Change, every: List[Change]) -> Change:
    """A change with what the changes save that its advice asks to make before it."""
    from depyf.report import overview

    first = asked_first(change)
    each = change.each
    for one in every if first else ():
        if one is not change and told_at(one) & first and not is_open(one):
            each = overview.joined(each, one.each)
    return change._replace(each=each, seconds=sum(each.values()))


def _listed(found: List[Change], most: int, nodes: Sequence[Any] = ()) -> List[Change]:
    """See `Advice.listed`."""
    merged = without_done(one_for_each_advice(without_gone(merged_by_advice(found))))
    merged = without_combined(merged)
    every = [each for one in merged for each in (one,) + one.also + one.gone]
    recompiled = {one.function for one in every if one.kind == "recompile"}
    kept = [one for one in found if one.row != "limit" or one.function not in recompiled]
    if len(kept) < len(found):
        return _listed(kept, most, nodes)
    # a failure without advice of its own that no other change removes is no change
    merged = [_told_whole(one, merged, nodes) for one in merged if one.advice]
    merged = [one._replace(before=made_before(one, merged)) for one in merged]
    merged = [_with_what_is_first(one, merged) for one in merged]
    order = Order(merged)
    chosen = taken_one_by_one(merged, {}, order.rank, most, order.told)
    places = {id(one.cause) for one in chosen}
    taken: Dict[str, float] = {}
    first = taken_one_by_one(chosen, taken, order.by_saving)
    others = [one for one in merged if id(one.cause) not in places]
    return after_those_before(first + taken_one_by_one(others, taken, order.by_saving))
