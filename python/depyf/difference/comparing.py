"""What differs between two runs."""

import collections
from typing import Dict, List, Optional

from depyf import summary
from depyf.difference.entries import Sides, compare_entries, compare_lists, one_sided, unified
from depyf.difference.normal_form import normal
from depyf.difference.pairing import name_of, pair_entries, pair_functions
from depyf.difference.result import Change, Difference, Total
from depyf.difference.texts import Texts, failure_words
from depyf.report import collectives, overview
from depyf.schema import Document


def _cache_results(document: Document) -> str:
    results = [
        event["result"]
        for _, entry in summary.all_entries(document)
        for event in entry.get("cache") or ()
    ]
    return ", ".join(
        "%d %s" % (results.count(word), word)
        for word in ("hit", "miss", "bypass")
        if word in results
    )


_COUNTS = (
    ("compiles", "compiles"),
    ("breaks", "graph breaks"),
    ("recompiles", "recompiles"),
    ("failures", "compiles that failed"),
    ("hits", "cache hits"),
    ("misses", "cache misses"),
)


def _totals(a: Document, b: Document) -> List[Total]:
    """What two runs come to: counts, seconds of compiling, and of these each phase's."""
    one, other = summary.counts(a), summary.counts(b)
    rows = [
        Total(label, one[key], other[key], "count")
        for key, label in _COUNTS
        if key in ("compiles", "breaks", "recompiles") or one[key] or other[key]
    ]
    spent: List[Dict[str, float]] = []
    for document in (a, b):
        phases: Dict[str, float] = collections.defaultdict(float)
        for _, entry in summary.all_entries(document):
            for key, seconds in overview.phases(entry).items():
                phases[key] += seconds
        spent.append(phases)
    rows.append(Total("compiling", sum(spent[0].values()), sum(spent[1].values()), "seconds"))
    for key, label, _ in overview.PHASES:
        if spent[0][key] or spent[1][key]:
            rows.append(Total(label, spent[0][key], spent[1][key], "phase"))
    return rows


def compare(a: Document, b: Document, ranks: bool = False) -> Difference:
    """What differs between two runs.

    Args:
        a, b: documents, see `depyf.summary.load`.
        ranks: the two are ranks of one job: only what must be the same on all ranks is compared
            (which functions were compiled how often, graphs, breaks, collectives), and the numbers
            of devices are not.
    Returns:
        A `Difference`.
    """
    result = Difference(a.get("name") or a["folder"], b.get("name") or b["folder"])
    sides = Sides(result, Texts(a, ranks), Texts(b, ranks))
    for key, word in (("torch_version", "torch"), ("python_version", "Python")):
        if a.get(key) != b.get(key):
            result.notes.append("%s %s, then %s" % (word, a.get(key), b.get(key)))
    if not ranks:
        result.totals = _totals(a, b)
    else:
        _compare_collectives(sides)
        hits, others = _cache_results(a), _cache_results(b)
        if hits != others:
            result.notes.append(
                "caches: %s, then %s; who compiles lets those wait who do not"
                % (hits or "nothing", others or "nothing")
            )
    for before, after in pair_functions(a, b):
        _compare_functions(sides, before, after, ranks)
    failures_a, failures_b = (
        sorted(failure_words(entry) for entry in side["unattributed"] if entry.get("failure"))
        for side in (a, b)
    )
    compare_lists(result, "", None, "not compiled", failures_a, failures_b)
    for (side, reason), functions in result.absent.items():
        stages = "; ".join(
            "%s of %s" % (", ".join(labels), name) for name, labels in functions.items()
        )
        result.notes.append(
            "not made by %s, and so not compared: %s (%s)" % (getattr(result, side), stages, reason)
        )
    return result


def _compare_collectives(sides: Sides) -> None:
    """Adds the collectives of captured graphs where two ranks have others."""
    found = [collectives.of_run(texts.document, texts.graph) for texts in (sides.a, sides.b)]
    one, other = ([each.words for each in side] for side in found)
    if one == other:
        return
    counts = tuple(collectives.counted(side) or "none" for side in found)
    what = "collectives in captured graphs: %s, then %s" % counts
    lines = unified("\n".join(one), "\n".join(other))
    sides.result.changes.append(Change("~", "", what, lines))


def _compare_functions(
    sides: Sides, before: Optional[Document], after: Optional[Document], ranks: bool
) -> None:
    """Adds what differs between two functions, of which one may not be there."""
    result, texts_a, texts_b = sides
    function: Document = before or after or {}
    name = name_of(function)
    where = (function["filename"], function["firstlineno"])
    if before is None or after is None:
        sign = "+" if before is None else "-"
        count = len(function["entries"])
        what = "%s, compiled %s" % (
            "resume function" if function["is_resume"] else "function",
            "once" if count == 1 else "%d times" % count,
        )
        result.changes.append(Change(sign, name, what, (), where))
        return
    source, other_source = before["source"], after["source"]
    if not ranks and not before["is_resume"] and normal(source) != normal(other_source):
        result.changes.append(Change("~", name, "source", unified(source, other_source), where))
    pairs = pair_entries(texts_a, texts_b, before["entries"], after["entries"])
    for entry_a, entry_b in pairs:
        if entry_a is None:
            one_sided(result, texts_b, name, where, entry_b or {}, "+")
        elif entry_b is None:
            one_sided(result, texts_a, name, where, entry_a, "-")
        else:
            compare_entries(sides, name, where, entry_a, entry_b, deep=not ranks)
