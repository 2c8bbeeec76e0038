"""What differs between two compiles of one function."""

import collections
import difflib
from typing import Dict, List, NamedTuple, Optional, Tuple

from depyf.difference.normal_form import normal
from depyf.difference.result import Change, Difference, Place
from depyf.difference.texts import Key, Texts, failure_words
from depyf.schema import STAGES, Document


class Sides(NamedTuple):
    """The texts of both sides of a comparison, and where what differs is added."""

    result: Difference
    a: Texts
    b: Texts


def _stage_order(key: Key) -> Tuple[int, str, int]:
    stage, index = key
    return (STAGES.index(stage) if stage in STAGES else len(STAGES), stage, index)


def unified(a: str, b: str) -> List[str]:
    """The lines of a unified diff of two texts."""
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=2))
    return lines[2:]  # without the two lines of file names


def _one_line(text: str) -> str:
    return " ".join(text.split())


_FEW = 12


def compare_lists(
    result: Difference,
    name: str,
    where: Optional[Place],
    word: str,
    a: List[str],
    b: List[str],
) -> None:
    """Adds what only one of two lists has; together where that is much.

    Args:
        word: what an item is, such as "guard".
    """
    before, after = collections.Counter(a), collections.Counter(b)
    # what says only that an attribute is not there comes last
    items = sorted(
        (item for item in before | after if before[item] != after[item]),
        key=lambda item: (item.startswith("hasattr("), item),
    )
    signed = [("-" if before[item] > after[item] else "+", _one_line(item)) for item in items]
    if len(signed) <= _FEW:
        result.changes += [
            Change(sign, name, "%s: %s" % (word, item), (), where) for sign, item in signed
        ]
        return
    gone = sum(1 for sign, _ in signed if sign == "-")
    what = "%ss: %d vanished, %d appeared" % (word, gone, len(signed) - gone)
    result.changes.append(Change("~", name, what, ["%s %s" % one for one in signed], where))


def one_sided(
    result: Difference, texts: Texts, name: str, where: Place, entry: Document, sign: str
) -> None:
    """A compile that only one side has."""
    what = "compile %s" % entry["compile_id"]
    reasons = texts.reasons(entry)
    if reasons:
        what += ", because %s" % _one_line(
            reasons[0].partition(": ")[2] if reasons[0].startswith("entry ") else reasons[0]
        )
    if entry.get("failure"):
        what += ", which failed: %s" % failure_words(entry)
    result.changes.append(Change(sign, name, what, (), where))


def compare_entries(
    sides: Sides, name: str, where: Place, a: Document, b: Document, deep: bool
) -> None:
    """Adds what differs between two compiles.

    Args:
        deep: also what two ranks may have each to itself, such as guards.
    """
    result, texts_a, texts_b = sides
    if bool(a.get("failure")) != bool(b.get("failure")):
        sign, failed = ("-", a) if a.get("failure") else ("+", b)
        result.changes.append(
            Change(sign, name, "failure of the compile: %s" % failure_words(failed), (), where)
        )
    compare_lists(result, name, where, "graph break", texts_a.breaks(a), texts_b.breaks(b))
    if deep:
        compare_lists(result, name, where, "guard", texts_a.guards(a), texts_b.guards(b))
        reasons_a, reasons_b = texts_a.reasons(a), texts_b.reasons(b)
        if bool(reasons_a) and bool(reasons_b) and reasons_a != reasons_b:
            result.changes.append(
                Change(
                    "~",
                    name,
                    "reason of the recompile",
                    unified("\n".join(reasons_a), "\n".join(reasons_b)),
                    where,
                )
            )
    _compare_artifacts(sides, name, where, a, b, deep)
    if not deep:
        return
    one, other = normal(a.get("source") or ""), normal(b.get("source") or "")
    if one != other:
        result.changes.append(Change("~", name, "decompiled code", unified(one, other), where))
    proven = ("exact", "equivalent")
    if (a.get("verdict") in proven) != (b.get("verdict") in proven):
        result.changes.append(
            Change("~", name, "proof: %s, then %s" % (a["verdict"], b["verdict"]), (), where)
        )


def _compare_artifacts(
    sides: Sides, name: str, where: Place, a: Document, b: Document, deep: bool
) -> None:
    result, texts_a, texts_b = sides
    there_a, there_b = texts_a.artifacts(a), texts_b.artifacts(b)
    changed: List[Tuple[str, str, str]] = []
    alone: Dict[str, List[str]] = {"+": [], "-": []}
    for key in sorted(set(there_a) | set(there_b), key=_stage_order):
        stage = key[0]
        if not deep and stage not in ("Captured_Graph", "Compiled_autograd_graph"):
            continue
        label = "%s %d" % key if key[1] else stage
        if key not in there_a or key not in there_b:
            side, missing = (
                ("a", a.get("missing")) if key not in there_a else ("b", b.get("missing"))
            )
            if missing and (stage in missing or key[1] == 0):
                reason = missing.get(stage) or next(iter(missing.values()))
                labels = result.absent.setdefault((side, reason), {}).setdefault(name, [])
                if label not in labels:
                    labels.append(label)
                continue
            alone["+" if key not in there_a else "-"].append(label)
            continue
        one, other = texts_a.graph_or_kernel(a, key), texts_b.graph_or_kernel(b, key)
        if one != other:
            changed.append((label, one, other))
    result.changes += [
        Change(sign, name, ", ".join(labels), (), where) for sign, labels in alone.items() if labels
    ]
    if changed:
        # what follows the first stage that differs differs because of it
        label, one, other = changed[0]
        what = label
        if len(changed) > 1:
            what += ", and after it %s" % ", ".join(label for label, _, _ in changed[1:])
        result.changes.append(Change("~", name, what, unified(one, other), where))
