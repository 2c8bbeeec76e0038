"""What keeps every earlier compile of a function from fitting: torch names the first guard that
fails, and a change of what that is about spares nothing while another one fails in each of them.
"""

from typing import TYPE_CHECKING, List, Tuple

from depyf import advice
from depyf.advice import given, uses
from depyf.report import words
from depyf.report.overview.guards import values_asked
from depyf.schema import Document

if TYPE_CHECKING:
    from depyf.report.overview.node import Node


def blocking_first(node: "Node", found: List[words.Said]) -> List[words.Said]:
    """The reasons of a compile, with one in front for a dict of which the function itself changes
    the elements, where that holds something else than in every earlier compile.
    """
    earlier = node.earlier()
    first = found[0] if found else None
    if first is None or not earlier or first["of_another"] or node.is_resume:
        return found
    if first["row"] in advice.NORMAL + advice.MODES + _TAKE_DICTS_OUT or first["beside"]:
        return found
    tried = node.tried(first["tried"]) or earlier[-1]
    named = {_owner(words.argument_of(first["name"])), *given.parameters(node.place)}
    for owner in dict.fromkeys(_owner(name) for _, name, _, _ in _changed(tried, node.entry)):
        if owner in named:
            continue
        line = uses.counts_at(node.place[0], uses.body_line(*node.place), owner)
        if line and all(_differs(one, node.entry, owner) for one in earlier):
            return [_said(first, tried, node.entry, owner, (node.place[0], line))] + found
    return found


#: rows whose advice takes the dict out of the function
_TAKE_DICTS_OUT = ("size as a key", "size that is looked up")


def _owner(name: str) -> str:
    return name.partition("[")[0]


def _changed(before: Document, now: Document) -> List[Tuple[str, str, str, str]]:
    """("value" or "length", name, before, after) of what two compiles ask for differently."""
    after = values_asked(now)
    return [
        (what, name, value, after[what, name])
        for (what, name), value in values_asked(before).items()
        if after.get((what, name), value) != value
    ]


def _differs(before: Document, now: Document, owner: str) -> bool:
    return any(_owner(name) == owner for _, name, _, _ in _changed(before, now))


def _said(
    first: words.Said, tried: Document, entry: Document, owner: str, at: Tuple[str, int]
) -> words.Said:
    """What is said of such a dict.

    Args:
        first: the reason that torch names.
        at: (file, line) that fills it.
    """
    every = [one for one in _changed(tried, entry) if _owner(one[1]) == owner]
    what, name, before, after = every[0]
    told = "`%s` had %s, has %s" if what == "length" else "`%s` was %s, is %s"
    had = before + (" key" if before == "1" else " keys") if what == "length" else before
    found = dict(first, name=owner, failed=name, before=before, after=after, kind="container")
    found.update(words=told % (name, had, after), beside="", differing=[], own="", raw="")
    found.update(file=at[0], line=at[1], source="")
    words.describe_filled(found)
    return found
