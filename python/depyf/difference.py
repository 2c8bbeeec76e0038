"""What differs between two dumps, and between the ranks of one distributed run.

Both sides are documents of docs/run_schema.md. Functions are matched by name and file, compiles by
what they made, and texts are compared after `normal` took out what differs from run to run: numbers
in names that torch counts up, object ids, places in files, paths of caches.
"""

import collections
import difflib
import os
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from depyf import dumped, summary
from depyf.report import collectives, overview, words
from depyf.schema import STAGES, Document
from depyf.terminal import place, shown
from depyf.trace.names import resume_title, resumed

#: a file of the user's program and a line in it
Place = Tuple[str, int]
#: stage and number of an artifact
Key = Tuple[str, int]

#: kinds of artifacts that are compared; the others repeat these, or hold times and settings
_COMPARED = ("graph", "kernel")

_RULES = (
    (re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}"), ""),
    (re.compile(r"__compiled_fn_\d+"), "__compiled_fn"),
    (re.compile(r"__resume_at_\d+_\d+"), "__resume"),
    (re.compile(r"resumed after line \d+"), "resumed"),
    (re.compile(r"(torch_dynamo_resume_in_\w+?)_at_\d+"), r"\1"),
    (re.compile(r"__transformed_code_\d+_for_"), "__transformed_code_for_"),
    (re.compile(r"(___context_manager|__builtins_dict__|__gen_rand_values|___stack)_\w+"), r"\1"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "ADDRESS"),
    (re.compile(r"\b\d{9,}\b"), "ID"),
    (re.compile(r"\bc[a-z2-7]{40,}\b"), "HASH"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "HASH"),
    (re.compile(r"[^\s'\"(]*/[a-z2-7]{2}/HASH"), "CACHE/HASH"),
    (re.compile(r"(?:#\s*)?[Ff]ile:? \"?([^\s\":]*/)?([^\s\":/]+)\"?(?::|, line )\d+"), r"File \2"),
    (re.compile(r"(?<![\w.])/[^\s'\":,)]*/([^\s'\":,/)]+\.py):\d+"), r"\1"),
)
#: `name = None` at the end of a graph's line; it follows from where the name is used last
_RELEASED = re.compile(r";\s+\w+(?: = \w+)* = None;?[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^# \w+, compile \S+.*$", re.MULTILINE)
_DEVICE = re.compile(r"\b(cuda|xpu|hpu|mps|npu)(:|, index=)\d+")


def normal(text: str, ranks: bool = False) -> str:
    """The text without what differs from run to run.

    With `ranks` also without the numbers of devices.
    """
    text = _HEADING.sub("", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    if ranks:
        text = _DEVICE.sub(r"\1", text)
    return text.strip("\n")


class Change:
    """One difference.

    Attributes:
        sign: "+" only in B, "-" only in A, "~" in both and not the same.
        function: name of the function, "" for the run as a whole.
        what: what appeared, vanished or changed, in words.
        lines: more of it, such as a unified diff of two texts.
        place: (path, line) in the user's program, or None.
    """

    def __init__(
        self,
        sign: str,
        function: str,
        what: str,
        lines: Sequence[str] = (),
        where: Optional[Place] = None,
    ) -> None:
        self.sign = sign
        self.function = function
        self.what = what
        self.lines = list(lines)
        self.place = where


class Total:
    """One number of two runs.

    Attributes:
        label: what it counts, in words.
        a, b: of each side.
        kind: "count", "seconds", or "phase" for the seconds of a part of the compiles.
    """

    def __init__(self, label: str, a: float, b: float, kind: str) -> None:
        self.label, self.a, self.b, self.kind = label, a, b, kind

    def cells(self) -> Tuple[str, str, str, str]:
        """The label, both numbers and their difference, as texts."""
        form = "%d" if self.kind == "count" else "%.2f s"
        change = self.b - self.a
        said = form % abs(change)
        sign = "" if said == form % 0 else "+" if change > 0 else "−"
        return self.label, form % self.a, form % self.b, sign + said if sign else ""


class Difference:
    """All differences of two dumps.

    Attributes:
        a, b: names of the two sides.
        totals: list of `Total`, counts and then seconds; empty for ranks.
        notes: what is not the same and no difference: versions, seconds, stages that one side did
            not make.
        changes: see `Change`.
    """

    def __init__(self, a: str, b: str) -> None:
        self.a, self.b = a, b
        self.totals: List[Total] = []
        self.notes: List[str] = []
        self.changes: List[Change] = []
        # (side, reason) -> function -> stages that the side did not make, for that reason
        self.absent: Dict[Tuple[str, str], Dict[str, List[str]]] = {}

    def __bool__(self) -> bool:
        return bool(self.changes)

    def text(self, links: bool = False, lines: int = 40) -> str:
        """The differences as text.

        Args:
            links: write places as hyperlinks.
            lines: of each text difference; 0 shows none of them.
        """
        out = ["- %s" % shown(self.a), "+ %s" % shown(self.b)]
        if self.totals:
            heads = ("", "-", "+", "")
            rows = [heads] + [total.cells() for total in self.totals]
            wide = [max(len(row[at]) for row in rows) + 2 for at in range(4)]
            out.append("")
            for kind, row in zip([""] + [total.kind for total in self.totals], rows):
                label = ("  " if kind == "phase" else "") + row[0]
                cells = "".join(cell.rjust(width) for cell, width in zip(row[1:], wide[1:]))
                out.append(("  " + label.ljust(wide[0] + 2) + cells).rstrip())
            out.append("")
        out += ["  " + note for note in self.notes]
        current = None
        for change in self.changes:
            if change.function != current:
                current = change.function
                out.append("")
                out.append(
                    shown(current or "the run")
                    + (
                        "  (%s)" % place(change.place[0], change.place[1], links)
                        if change.place
                        else ""
                    )
                )
            out.append("  %s %s" % (change.sign, shown(change.what)))
            more = change.lines[:lines]
            out += ["      " + shown(line) for line in more]
            if lines and len(change.lines) > len(more):
                out.append("      ... %d lines more" % (len(change.lines) - len(more)))
        if not self.changes:
            out.append("no differences")
        return "\n".join(out)


def _stage_order(key: Key) -> Tuple[int, str, int]:
    stage, index = key
    return (STAGES.index(stage) if stage in STAGES else len(STAGES), stage, index)


class _Texts:
    """The texts of one side, read when they are compared."""

    def __init__(self, document: Document, ranks: bool) -> None:
        self.document = document
        self.ranks = ranks
        # by the identity of the artifact, for those read from a log, which has no files
        self.texts: Dict[int, str] = {}

    def artifacts(self, entry: Document) -> Dict[Key, Any]:
        """Stage and number -> what `read` takes."""
        found: Dict[Key, Any] = {}
        for artifact in entry.get("artifacts") or ():
            if artifact["kind"] in _COMPARED and artifact.get("path"):
                found[artifact["stage"], artifact["index"]] = artifact["path"]
            elif artifact["kind"] in _COMPARED and "text" in artifact:
                self.texts[id(artifact)] = artifact["text"]
                found[artifact["stage"], artifact["index"]] = id(artifact)
        return found

    def graph_or_kernel(self, entry: Document, key: Key) -> str:
        """The text of one artifact, without what a graph sets to None."""
        text = self.read(self.artifacts(entry)[key])
        return text if key[0] == "kernel" else _RELEASED.sub("", text)

    def read(self, path: Any) -> str:
        if path in self.texts:
            return normal(self.texts[path], self.ranks)
        return normal(dumped.text_of(self.document["folder"], path), self.ranks)

    def guards(self, entry: Document) -> List[str]:
        found: List[str] = []
        marks: Dict[str, int] = collections.Counter()
        for guard in entry.get("guards") or ():
            text = normal(guard["text"], self.ranks)
            mark = summary.MARK.match(text)
            if mark is None:
                found.append(text)
            else:  # torch asks it of each tensor, several times
                marks[mark.group(1)] += 1
        return sorted(found + [summary.folded_marks(count, of) for of, count in marks.items()])

    def breaks(self, entry: Document) -> List[str]:
        return [
            normal(_break_words(words.of_break(one)), self.ranks)
            for one in entry.get("breaks") or ()
        ]

    def reasons(self, entry: Document) -> List[str]:
        """Why it was compiled again, for each earlier entry, in words that stay where a line moves
        or functions are counted otherwise.
        """
        said = [words.of_reason(str(reason)) for reason in entry.get("reasons") or ()]
        return [
            normal(
                "%s%s (%s)"
                % (
                    "entry %s: " % one["tried"].rpartition("/")[2] if one["tried"] else "",
                    one["words"].replace("`", ""),
                    one["failed"],
                )
            )
            for one in said
        ]

    def graph(self, entry: Document) -> Optional[str]:
        key = "Captured_Graph", 0
        return self.graph_or_kernel(entry, key) if key in self.artifacts(entry) else None


def _break_words(said: Mapping[str, Any]) -> str:
    at = ", at `%s`" % said["source"] if said["source"] else ""
    return "%s%s%s" % (
        said["why"].replace("`", "").rstrip("."),
        at,
        " (%s)" % said["what"] if said["what"] not in said["why"] else "",
    )


def _failure_words(entry: Document) -> str:
    """What a compile that came to nothing says, in one line."""
    failure = str(entry["failure"])
    said = words.of_failure(failure)
    metrics = entry.get("metrics") or {}
    name = entry.get("qualname") or metrics.get("co_name")
    name = "%s: " % name if name else ""
    what = "" if said["what"] in said["why"] else " (%s)" % said["what"]
    return normal(name + said["why"].replace("`", "") + what)


def _function_name(function: Document) -> str:
    name = function["name"]
    title = resume_title(name, function.get("qualname") or "", function["firstlineno"])
    return title or normal(name)


def _lines_resumed(document: Document) -> Dict[int, Tuple[str, int]]:
    """For each resume function of a run, by id: the line after which it goes on, as text, and its
    number in the function that it is the rest of; ("", 0) for one whose source is not there.
    """
    origins: Dict[Tuple[str, str], List[Document]] = {}
    for function in document["functions"]:
        if not function["is_resume"] and function.get("source_origin") == "file":
            name = function.get("qualname") or function["name"]
            origins.setdefault((name, function["filename"]), []).append(function)
    found = {}
    for function in document["functions"]:
        parent, line = resumed(function["name"])
        if not parent:
            continue
        line = line or function["firstlineno"]
        found[id(function)] = "", 0
        for origin in origins.get((function.get("qualname") or parent, function["filename"]), ()):
            lines, number = origin["source"].splitlines(), line - origin["firstlineno"]
            if 0 <= number < len(lines):
                found[id(function)] = lines[number].strip(), number
    return found


def _pair_functions(
    a: Document, b: Document
) -> List[Tuple[Optional[Document], Optional[Document]]]:
    """Pairs of functions, (function, None) and (None, function) for those of one side, in the order
    of A, then of B.

    Resume functions belong together that go on after the same line of their function: the same
    text, else, where a line was edited, the same number in it.
    """

    def keyed(document: Document, key: Callable[[Document], Any]) -> Dict[Any, List[Document]]:
        found: Dict[Any, List[Document]] = {}
        for function in document["functions"]:
            given = key(function)
            if given is not None:
                found.setdefault(given, []).append(function)
        return found

    lines = _lines_resumed(a)
    lines.update(_lines_resumed(b))

    def after_text(function: Document) -> Any:
        text, number = lines.get(id(function), ("", 0))
        return (_parent(function), text, number) if text else None

    def after_moved_text(function: Document) -> Any:
        text, _ = lines.get(id(function), ("", 0))
        return (_parent(function), text) if text else None

    def after_line(function: Document) -> Any:
        text, number = lines.get(id(function), ("", 0))
        return (_parent(function), number) if text else None

    def plain(key: Callable[[Document], Any]) -> Callable[[Document], Any]:
        # the number in the name of a resume function is that of a line, which says nothing alone
        return lambda function: None if lines.get(id(function), ("", 0))[0] else key(function)

    partner: Dict[int, Document] = {}
    taken: Set[int] = set()
    keys: Tuple[Callable[[Document], Any], ...] = (
        after_text,
        after_moved_text,
        after_line,
        plain(lambda f: (_function_name(f), os.path.basename(f["filename"]), f["firstlineno"])),
        plain(lambda f: (_function_name(f), os.path.basename(f["filename"]))),
        plain(_function_name),
    )
    for key in keys:
        there = keyed(b, key)
        for function in a["functions"]:
            if id(function) in partner:
                continue
            for candidate in there.get(key(function), ()):
                if id(candidate) not in taken:
                    partner[id(function)] = candidate
                    taken.add(id(candidate))
                    break
    pairs: List[Tuple[Optional[Document], Optional[Document]]] = [
        (function, partner.get(id(function))) for function in a["functions"]
    ]
    return pairs + [(None, function) for function in b["functions"] if id(function) not in taken]


def _parent(function: Document) -> Tuple[str, str]:
    name = function.get("qualname") or resumed(function["name"])[0]
    return name, os.path.basename(function["filename"])


def _pair_entries(
    texts_a: _Texts, texts_b: _Texts, a: List[Document], b: List[Document]
) -> Iterator[Tuple[Optional[Document], Optional[Document]]]:
    def signature(texts: _Texts, entry: Document) -> Tuple[Optional[str], Tuple[str, ...]]:
        return (texts.graph(entry), tuple(texts.guards(entry)))

    left = [signature(texts_a, entry) for entry in a]
    right = [signature(texts_b, entry) for entry in b]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for _, a0, a1, b0, b1 in matcher.get_opcodes():
        for offset in range(max(a1 - a0, b1 - b0)):
            yield (
                a[a0 + offset] if a0 + offset < a1 else None,
                b[b0 + offset] if b0 + offset < b1 else None,
            )


def _unified(a: str, b: str) -> List[str]:
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=2))
    return lines[2:]  # without the two lines of file names


def _one_line(text: str) -> str:
    return " ".join(text.split())


_FEW = 12


def _compare_lists(
    result: Difference,
    name: str,
    where: Optional[Place],
    word: str,
    a: List[str],
    b: List[str],
) -> None:
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


def _one_sided(
    result: Difference, texts: _Texts, name: str, where: Place, entry: Document, sign: str
) -> None:
    """A compile that only one side has."""
    what = "compile %s" % entry["compile_id"]
    reasons = texts.reasons(entry)
    if reasons:
        what += ", because %s" % _one_line(
            reasons[0].partition(": ")[2] if reasons[0].startswith("entry ") else reasons[0]
        )
    if entry.get("failure"):
        what += ", which failed: %s" % _failure_words(entry)
    result.changes.append(Change(sign, name, what, (), where))


def _compare_entries(
    result: Difference,
    texts_a: _Texts,
    texts_b: _Texts,
    name: str,
    where: Place,
    a: Document,
    b: Document,
    deep: bool,
) -> None:
    if bool(a.get("failure")) != bool(b.get("failure")):
        sign, failed = ("-", a) if a.get("failure") else ("+", b)
        result.changes.append(
            Change(sign, name, "failure of the compile: %s" % _failure_words(failed), (), where)
        )
    _compare_lists(result, name, where, "graph break", texts_a.breaks(a), texts_b.breaks(b))
    if deep:
        _compare_lists(result, name, where, "guard", texts_a.guards(a), texts_b.guards(b))
        reasons_a, reasons_b = texts_a.reasons(a), texts_b.reasons(b)
        if bool(reasons_a) and bool(reasons_b) and reasons_a != reasons_b:
            result.changes.append(
                Change(
                    "~",
                    name,
                    "reason of the recompile",
                    _unified("\n".join(reasons_a), "\n".join(reasons_b)),
                    where,
                )
            )
    _compare_artifacts(result, texts_a, texts_b, name, where, a, b, deep)
    if not deep:
        return
    one, other = normal(a.get("source") or ""), normal(b.get("source") or "")
    if one != other:
        result.changes.append(Change("~", name, "decompiled code", _unified(one, other), where))
    proven = ("exact", "equivalent")
    if (a.get("verdict") in proven) != (b.get("verdict") in proven):
        result.changes.append(
            Change("~", name, "proof: %s, then %s" % (a["verdict"], b["verdict"]), (), where)
        )


def _compare_artifacts(
    result: Difference,
    texts_a: _Texts,
    texts_b: _Texts,
    name: str,
    where: Place,
    a: Document,
    b: Document,
    deep: bool,
) -> None:
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
        result.changes.append(Change("~", name, what, _unified(one, other), where))


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
    texts_a, texts_b = _Texts(a, ranks), _Texts(b, ranks)
    for key, word in (("torch_version", "torch"), ("python_version", "Python")):
        if a.get(key) != b.get(key):
            result.notes.append("%s %s, then %s" % (word, a.get(key), b.get(key)))
    if not ranks:
        result.totals = _totals(a, b)
    else:
        found = [
            collectives.of_run(document, texts.graph)
            for document, texts in ((a, texts_a), (b, texts_b))
        ]
        one, other = ([each.words for each in side] for side in found)
        if one != other:
            counts = tuple(collectives.counted(side) or "none" for side in found)
            result.changes.append(
                Change(
                    "~",
                    "",
                    "collectives in captured graphs: %s, then %s" % counts,
                    _unified("\n".join(one), "\n".join(other)),
                )
            )
        hits, others = _cache_results(a), _cache_results(b)
        if hits != others:
            result.notes.append(
                "caches: %s, then %s; who compiles lets those wait who do not"
                % (hits or "nothing", others or "nothing")
            )
    for before, after in _pair_functions(a, b):
        function: Document = before or after or {}
        name = _function_name(function)
        where = (function["filename"], function["firstlineno"])
        if before is None or after is None:
            sign = "+" if before is None else "-"
            count = len(function["entries"])
            what = "%s, compiled %s" % (
                "resume function" if function["is_resume"] else "function",
                "once" if count == 1 else "%d times" % count,
            )
            result.changes.append(Change(sign, name, what, (), where))
            continue
        source, other_source = before["source"], after["source"]
        if not ranks and not before["is_resume"] and normal(source) != normal(other_source):
            result.changes.append(
                Change("~", name, "source", _unified(source, other_source), where)
            )
        for entry_a, entry_b in _pair_entries(
            texts_a, texts_b, before["entries"], after["entries"]
        ):
            if entry_a is None:
                _one_sided(result, texts_b, name, where, entry_b or {}, "+")
            elif entry_b is None:
                _one_sided(result, texts_a, name, where, entry_a, "-")
            else:
                _compare_entries(
                    result, texts_a, texts_b, name, where, entry_a, entry_b, deep=not ranks
                )
    failures_a = sorted(
        _failure_words(entry) for entry in a["unattributed"] if entry.get("failure")
    )
    failures_b = sorted(
        _failure_words(entry) for entry in b["unattributed"] if entry.get("failure")
    )
    _compare_lists(result, "", None, "not compiled", failures_a, failures_b)
    for (side, reason), functions in result.absent.items():
        stages = "; ".join(
            "%s of %s" % (", ".join(labels), name) for name, labels in functions.items()
        )
        result.notes.append(
            "not made by %s, and so not compared: %s (%s)" % (getattr(result, side), stages, reason)
        )
    return result


class RankGroups:
    """The ranks of one job, grouped by what they compiled.

    Attributes:
        groups: lists of rank numbers; ranks of one list agree. One list means that all agree.
        differences: for each list but the first, the `Difference` between its first rank and that
            of the first list.
    """

    def __init__(self, groups: List[List[int]], differences: List[Difference]) -> None:
        self.groups = groups
        self.differences = differences

    def __bool__(self) -> bool:
        return len(self.groups) > 1

    def text(self, links: bool = False, lines: int = 20) -> str:
        """What all ranks agree on, or where they part."""
        if not self:
            return "all %d ranks compiled the same graphs" % len(self.groups[0])
        out = [
            "RANKS DIFFER. A job hangs if the collectives of its ranks differ; they compiled:",
        ]
        for group, difference in zip(self.groups[1:], self.differences):
            out.append(
                "rank%s %s unlike rank%s %s:"
                % (
                    "" if len(group) == 1 else "s",
                    ", ".join(map(str, group)),
                    "" if len(self.groups[0]) == 1 else "s",
                    ", ".join(map(str, self.groups[0])),
                )
            )
            out += ["  " + line for line in difference.text(links, lines).splitlines()]
        return "\n".join(out)


def compare_ranks(documents: Mapping[int, Document]) -> RankGroups:
    """Groups ranks by what they compiled.

    Args:
        documents: rank number -> document.
    """
    groups: List[List[int]] = []
    differences: List[Difference] = []
    for rank in sorted(documents):
        found = None
        for group in groups:
            difference = compare(documents[group[0]], documents[rank], ranks=True)
            if not difference:
                group.append(rank)
                break
            found = found or difference
        else:
            if found:
                differences.append(found)
            groups.append([rank])
    return RankGroups(groups, differences)
