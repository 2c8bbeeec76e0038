"""Recompiles of functions that compiled code calls: what is advised of what their callers give them
is for callers that are not compiled.
"""

from typing import Sequence

from depyf import advice
from depyf.advice import given
from depyf.report import words
from depyf.report.overview.node import Node
from depyf.report.words.stacks import short_place


def tell_of_callers(nodes: Sequence[Node]) -> None:
    """Says of a function, or the rest of one, that is compiled by itself because of a break, what
    that has to do with its recompiles.
    """
    for node in nodes:
        for reason in node.reasons:
            if reason["help"]:
                _tell_apart(node, reason)
                _tell_made(node, reason)


def _tell_apart(node: Node, reason: words.Said) -> None:
    """Has no advice to compile what calls a method of several objects where torch has met that."""
    outer = node.whole().outer
    if reason["row"] != "value of each object" or outer is None:
        return
    if outer.cuts:
        words.describe_apart(reason, outer.title, outer.key, False)
    elif outer.entry.get("failure"):
        words.describe_apart(reason, outer.title, outer.key, True)


#: rows of advice that holds for what compiled code makes, too
_OF_ANY_CALLER = (*words.SYMBOLIC, *advice.NORMAL, *advice.NO_ACTION, "growing cache", "kept value")


def _tell_made(node: Node, reason: words.Said) -> None:
    """Says of what compiled code makes, and gives a function, that nobody else can change it."""
    whole = node.whole()
    outer, name = whole.outer, words.argument_of(reason["name"])
    if outer is None or not name or reason["row"] in _OF_ANY_CALLER or node.hands_on(reason):
        return
    if words.is_of_global(reason) or not outer.entry.get("name"):
        return
    if given.made_by_caller(whole.called_at, whole.place, name):
        met = [one for one in outer.breaks_inside(whole) if one["line"]]
        if met:
            words.describe_made_before(reason, short_place(met[0]["file"], met[0]["line"]))
