"""The order of changes: by what each saves beyond those above it."""

import heapq
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from depyf.advise.change import Change, ends, fails, is_late, is_open, is_shared, raises, shown_at
from depyf.advise.staying import kept_by
from depyf.advise.uncompiled import takes_step_out


def taken_one_by_one(
    changes: List[Change],
    taken: Dict[str, float],
    rank: Callable[[Change], Tuple[Any, ...]],
    most: Optional[int] = None,
    told: Optional[Set[Any]] = None,
) -> List[Change]:
    """The changes in the order in which each is the first of those left, with the `seconds` that
    are left of it after those before it; of those that are alike, the first given.

    Args:
        taken: what those above save, by the keys of compiles, to which theirs is added.
        rank: by which the least is the first.
        most: how many are wanted.
        told: the functions that those above keep from running uncompiled, as `taken`.
    """
    waiting = [(rank(one), at) for at, one in enumerate(_left(one, taken) for one in changes)]
    heapq.heapify(waiting)
    found: List[Change] = []
    while waiting and (most is None or len(found) < most):
        at = heapq.heappop(waiting)[1]
        one = _left(changes[at], taken)
        if waiting and (rank(one), at) > waiting[0]:  # less is left of it than before
            heapq.heappush(waiting, (rank(one), at))
            continue
        found.append(one)
        if told is not None:
            told |= _spares(one)
        _take(one, taken)
    return found


def _take(change: Change, taken: Dict[str, float]) -> None:
    """Adds what a change saves to what is taken, if that is known."""
    if not is_open(change):
        taken.update((key, max(value, taken.get(key, 0.0))) for key, value in change.each.items())


def after_those_before(changes: List[Change]) -> List[Change]:
    """The same changes, each after those that are to be made before it, and else in their order,
    with the `seconds` that are left of each after those that stand before it then.
    """
    at = {id(one.cause): place for place, one in enumerate(changes)}
    found: List[Change] = []
    met: Set[int] = set()
    taken: Dict[str, float] = {}
    for one in changes:
        path = [one]
        while path:
            top = path[-1]
            met.add(id(top.cause))
            waited = [before for before in top.before if id(before.cause) in at]
            waited = [before for before in waited if id(before.cause) not in met]
            if waited:
                path.append(changes[at[id(waited[0].cause)]])
                continue
            path.pop()
            if id(top.cause) in at:
                found.append(_left(top, taken))
                _take(top, taken)
                del at[id(top.cause)]
    return found


def _left(change: Change, taken: Dict[str, float]) -> Change:
    """A change with the seconds that it saves beyond those that are taken."""
    left = [max(0.0, value - taken.get(key, 0.0)) for key, value in change.each.items()]
    return change._replace(seconds=sum(left), alone=sum(change.each.values()))


#: a break costs time at each call, too, which its seconds of compiling leave out
_OF_A_BREAK = 2
#: parts of all compiling; what differs by less is no difference, as times vary from run to run
_PARTS = 40
#: seconds of a compile that count
_LEAST = 0.005


def _weight(one: Change) -> float:
    return _seconds(one) * (_OF_A_BREAK if one.kind == "break" else 1)


def _seconds(one: Change) -> float:
    """The seconds that count: where other values differ beside, all that they take together."""
    if is_shared(one):
        return sum(float(each.cause["cost"]) for each in (one,) + one.also)
    return float(one.seconds)


class Order:
    """The order of some changes: by parts of all compiling, so that two runs of a program have one
    order; what is alike in that by the number of compiles, and then by place.

    Attributes:
        told: the functions that a change before keeps from running uncompiled.
    """

    def __init__(self, found: Sequence[Change]) -> None:
        from depyf.report import overview

        every: Dict[str, float] = {}
        for one in found:
            every = overview.joined(every, one.each)
        self.part = max(sum(every.values()) / _PARTS, _LEAST)
        self.told: Set[Any] = set()

    def rank(self, one: Change) -> Tuple[Any, ...]:
        """What ends in an exception first, then what runs uncompiled and would not after the
        change, of a function once, then what costs most: which changes are listed.
        """
        spared = _spares(one) - self.told
        return _begin(one) + (not spared, is_late(one)) + self._by(one, _weight(one))

    def by_saving(self, one: Change) -> Tuple[Any, ...]:
        """What ends in an exception first, then what runs uncompiled at each call and would not
        after the change, then what saves most.
        """
        return _begin(one) + (not _compiles(one), is_late(one)) + self._by(one, _seconds(one))

    def _by(self, one: Change, seconds: float) -> Tuple[Any, ...]:
        compiles = sum(1 for value in one.each.values() if value >= _LEAST)
        return -round(seconds / self.part), -compiles, shown_at(one)


def _begin(one: Change) -> Tuple[bool, int, bool]:
    """What torch raises for, what the program ended at, what is outside of a training step."""
    return not raises(one), ends(one), not takes_step_out(one) or is_late(one)


def _compiles(one: Change) -> bool:
    """Whether a function that runs uncompiled at each call is compiled after a change."""
    return any(fails(each) and kept_by(one, each)[0] is None for each in (one,) + one.gone)


def _spares(one: Change) -> Set[Any]:
    """The functions that run uncompiled, and would not after a change."""
    return {
        each.function
        for each in (one,) + one.gone
        if each.gave_up > 0 or each.row == "limit" or fails(each) and kept_by(one, each)[0] is None
    }


def rank_of(one: Change) -> Tuple[Any, ...]:
    """The place of a change by itself: what raises first, what runs uncompiled, what costs most."""
    return _begin(one) + (not _spares(one), is_late(one), -_weight(one))
