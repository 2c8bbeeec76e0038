"""Changes that are one: those of one patch or advice, and what another leaves nothing of."""

import functools
import re
from typing import Any, Dict, List, Set, Tuple

from depyf.advice import breaks, uses
from depyf.advise.change import Change
from depyf.advise.order import rank_of
from depyf.advise.staying import leaves_outer

#: a setting in an advice or a patch
_SETTING = re.compile(r"\btorch\._dynamo\.config\.\w+ = True")


def without_done(ordered: List[Change]) -> List[Change]:
    """The changes, without those that make a setting alone which is a part of one above them."""
    kept: List[Change] = []
    for one in ordered:
        made = re.findall(r"(?m)^\+(?!\+)(.+)$", one.patch)
        alone = one.advice.startswith(made[-1]) if made and _SETTING.match(made[-1]) else False
        at = next(
            (at for at, each in enumerate(kept) if alone and made[-1] in each.advice), len(kept)
        )
        if at < len(kept):
            kept[at] = joined([kept[at], one])._replace(patch=kept[at].patch or one.patch)
        else:
            kept.append(one)
    return kept


def without_combined(changes: List[Change]) -> List[Change]:
    """The changes, without those whose advice is that of two others, for two values of a compile:
    who follows these has nothing more to do.
    """
    kept = list(changes)
    for one in changes:
        own = one.cause["reason"]["own"] if one.kind == "recompile" else ""
        if not own or not one.advice.endswith(" " + own) or one.patch:
            continue
        parts = one.advice[: -len(own) - 1], own.partition(": ")[2]
        others = [next((each for each in kept if each.advice == part), None) for part in parts]
        if others[0] is not None and others[1] is not None:
            kept[kept.index(others[0])] = joined([others[0], one])
            kept.remove(one)
    return kept


def without_gone(merged: List[Change]) -> List[Change]:
    """The changes, with those of which another leaves nothing as its `gone`."""
    kept = list(merged)
    for one in merged:
        for at, other in enumerate(kept):
            removed = {
                (each.file, each.line)
                for each in (other,) + other.also
                if not each.within and each.kind != "recompile"
            }
            within = all(each.within and each.within <= removed for each in (one,) + one.also)
            if within and not leaves_outer(one, removed, other.advice):
                kept[at] = _and_gone(other, one)
                kept.remove(one)
                break
    return sorted(kept, key=rank_of)


def _and_gone(change: Change, gone: Change) -> Change:
    from depyf.report import overview

    each = overview.joined(change.each, gone.each)
    more = change.gone + (gone._replace(also=()),) + gone.also
    whole = change._replace(each=each, seconds=sum(each.values()), gone=more)
    return whole._replace(unsure=_staying(whole))


def merged_by_advice(found: List[Change]) -> List[Change]:
    """The changes with those of one patch, of one advice without a patch, or of the objects that
    one method serves, joined.
    """
    groups: Dict[Tuple[Any, ...], List[Change]] = {}
    for one in _as_removed(found):
        # a recompile that a break causes is not a separate change: see `without_gone`
        apart = (one.within, one.words if one.within else "")
        same: Tuple[Any, ...] = (one.patch, "" if one.patch else one.advice)
        if one.row == "value of each object":  # whatever they differ in, one compile holds them
            same = one.row, one.function
        if one.row == "growing dict" and one.kind == "recompile":  # whatever differs beside it
            same = one.row, one.function, one.cause["reason"]["name"].partition("[")[0]
        groups.setdefault(same + apart, []).append(one)
    costly = [sorted(group, key=_by_cost) for group in groups.values()]
    return sorted(map(joined, costly), key=rank_of)


def _as_removed(found: List[Change]) -> List[Change]:
    """The changes, with a recompile as one that no break causes where no patch or advice removes
    all of its breaks: those that are left make a rest that guards the same.
    """
    removed: Dict[Tuple[str, str], Set[Tuple[str, int]]] = {}
    advice: Dict[Tuple[str, str], str] = {}
    for one in found:
        if not one.within and one.kind != "recompile":
            same = one.patch, "" if one.patch else one.advice
            removed.setdefault(same, set()).add((one.file, one.line))
            advice.setdefault(same, one.advice)
    kept = []
    for one in found:
        apart = one.kind == "recompile" and not any(
            one.within <= places
            and not leaves_outer(one, places, advice[same])
            and not _hands_on(one, places, advice[same])
            for same, places in removed.items()
        )
        one = one._replace(within=frozenset()) if apart else one
        if one.within or one.advice:
            kept.append(one)
    return kept


#: advice after which a second function is given what was decided outside
_DECIDES_OUTSIDE = breaks.BY_KEY["item that decides"].help[1].text


def _hands_on(recompile: Change, places: Set[Tuple[str, int]], advice: str) -> bool:
    """Whether a recompile is for a number that the function behind a break needs as one, after some
    advice, too.
    """
    from depyf.report import words

    if advice != _DECIDES_OUTSIDE or not words.is_number(recompile.cause["reason"]["before"]):
        return False
    return any(uses.number_needed_of(*at) for at in places)


def _by_cost(one: Change) -> Tuple[Any, ...]:
    """As `rank_of`, with what costs most first, whatever is left of it after a change."""
    return rank_of(one)[:4] + (-one.cause["cost"],)


def joined(group: List[Change]) -> Change:
    """The first of some changes, with the others as its `also`."""
    from depyf.report import overview, savings

    first = group[0]
    each = functools.reduce(overview.joined, [one.each for one in group])
    flat = [one for other in group[1:] for one in (other._replace(also=(), gone=()),) + other.also]
    gone = tuple(one for other in group for one in other.gone)
    also = first.also + tuple(flat)
    breaks_of = [one.cause for one in (first,) + also if one.kind == "break"]
    if len(breaks_of) > 1:  # without all of them more is compiled together than without each
        each = overview.joined(each, savings.without_breaks(breaks_of))
    unsure = tuple(dict.fromkeys(place for one in group for place in one.unsure))
    seconds = sum(each.values())
    whole = first._replace(seconds=seconds, each=each, unsure=unsure, also=also, gone=gone)
    return whole._replace(unsure=_staying(whole))


def _staying(change: Change) -> Tuple[Tuple[str, int], ...]:
    """What a change has as `unsure`, without the breaks that it removes itself."""
    removed = {
        (one.file, one.line)
        for one in (change,) + change.also + change.gone
        if one.kind != "recompile"
    }
    return tuple(place for place in change.unsure if place not in removed)


def one_for_each_advice(merged: List[Change]) -> List[Change]:
    """The changes with those without a patch joined to one of the same advice with a patch."""
    patched: Dict[str, Change] = {}
    for one in merged:
        if one.patch:
            patched.setdefault(one.advice, one)
    kept = []
    for one in merged:
        first = patched.get(one.advice)
        if one is first:
            others = [each for each in merged if each.advice == one.advice and not each.patch]
            kept.append(joined([one] + others))
        elif one.patch or first is None:
            kept.append(one)
    return sorted(kept, key=rank_of)
