"""What differs between two dumps, and between the ranks of one distributed run.

Both sides are documents of docs/run_schema.md. Functions are matched by name and file, compiles by
what they made, and texts are compared after `normal` took out what differs from run to run: numbers
in names that torch counts up, object ids, places in files, paths of caches.
"""

import collections
import difflib
import os
import re
import sys

from depyf import dumped, summary
from depyf.report import collectives, overview, words
from depyf.schema import STAGES
from depyf.terminal import hyperlinks, place, short_path, shown

#: kinds of artifacts that are compared; the others repeat these, or hold times and settings
_COMPARED = ("graph", "kernel")

_RULES = (
    (re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}"), ""),
    (re.compile(r"__compiled_fn_\d+"), "__compiled_fn"),
    (re.compile(r"__resume_at_\d+_\d+"), "__resume"),
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
#: names that a graph's line lets go of: that follows from where they are used last
_LET_GO = re.compile(r";\s+\w+(?: = \w+)* = None;?[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^# \w+, compile \S+.*$", re.MULTILINE)
_DEVICE = re.compile(r"\b(cuda|xpu|hpu|mps|npu)(:|, index=)\d+")


def normal(text, ranks=False):
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

    def __init__(self, sign, function, what, lines=(), where=None):
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

    def __init__(self, label, a, b, kind):
        self.label, self.a, self.b, self.kind = label, a, b, kind

    def cells(self):
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

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.totals = []
        self.notes = []
        self.changes = []
        # (side, reason) -> function -> stages that the side did not make, for that reason
        self.absent = {}

    def __bool__(self):
        return bool(self.changes)

    def text(self, links=False, lines=40):
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
            for total, row in zip([None] + self.totals, rows):
                label = ("  " if total and total.kind == "phase" else "") + row[0]
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


def _stage_order(key):
    stage, index = key
    return (STAGES.index(stage) if stage in STAGES else len(STAGES), stage, index)


class _Texts:
    """The texts of one side, read when they are compared."""

    def __init__(self, document, ranks):
        self.document = document
        self.ranks = ranks
        self.texts = {}

    def artifacts(self, entry):
        found = {}
        for artifact in entry.get("artifacts") or ():
            if artifact["kind"] in _COMPARED and artifact.get("path"):
                found[artifact["stage"], artifact["index"]] = artifact["path"]
            elif (
                artifact["kind"] in _COMPARED and "text" in artifact
            ):  # read from a log, which has no files
                self.texts[id(artifact)] = artifact["text"]
                found[artifact["stage"], artifact["index"]] = id(artifact)
        return found

    def graph_or_kernel(self, entry, key):
        """The text of one artifact, without the names that a graph lets go of."""
        text = self.read(self.artifacts(entry)[key])
        return text if key[0] == "kernel" else _LET_GO.sub("", text)

    def read(self, path):
        if path in self.texts:
            return normal(self.texts[path], self.ranks)
        return normal(dumped.text_of(self.document["folder"], path), self.ranks)

    def guards(self, entry):
        return sorted(normal(guard["text"], self.ranks) for guard in entry.get("guards") or ())

    def breaks(self, entry):
        return [
            normal(_break_words(words.of_break(one)), self.ranks)
            for one in entry.get("breaks") or ()
        ]

    def reasons(self, entry):
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

    def graph(self, entry):
        key = "Captured_Graph", 0
        return self.graph_or_kernel(entry, key) if key in self.artifacts(entry) else None


def _break_words(said):
    at = ", at `%s`" % said["source"] if said["source"] else ""
    return "%s%s%s" % (
        said["why"].replace("`", "").rstrip("."),
        at,
        " (%s)" % said["what"] if said["what"] not in said["why"] else "",
    )


def _failure_words(entry):
    """What a compile that came to nothing says, in one line."""
    failure = str(entry["failure"])
    said = words.of_failure(failure)
    metrics = entry.get("metrics") or {}
    name = "%s: " % metrics["co_name"] if metrics.get("co_name") else ""
    return normal("%s%s (%s)" % (name, said["why"].replace("`", ""), said["what"]))


def _function_name(function):
    return normal(function["name"])


def _pair_functions(a, b):
    """Pairs of functions, (function, None) and (None, function) for those of one side, in the order
    of A, then of B.
    """

    def keyed(document, key):
        found = {}
        for function in document["functions"]:
            found.setdefault(key(function), []).append(function)
        return found

    partner, taken = {}, set()
    for key in (
        lambda f: (_function_name(f), os.path.basename(f["filename"]), f["firstlineno"]),
        lambda f: (_function_name(f), os.path.basename(f["filename"])),
        _function_name,
    ):
        there = keyed(b, key)
        for function in a["functions"]:
            if id(function) in partner:
                continue
            for candidate in there.get(key(function), ()):
                if id(candidate) not in taken:
                    partner[id(function)] = candidate
                    taken.add(id(candidate))
                    break
    pairs = [(function, partner.get(id(function))) for function in a["functions"]]
    return pairs + [(None, function) for function in b["functions"] if id(function) not in taken]


def _pair_entries(texts_a, texts_b, a, b):
    def signature(texts, entry):
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


def _unified(a, b):
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=2))
    return lines[2:]  # without the two lines of file names


def _one_line(text):
    return " ".join(text.split())


_FEW = 12


def _compare_lists(result, name, where, word, a, b):
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


def _compare_entries(result, texts_a, texts_b, name, where, a, b, deep):
    if a is None or b is None:
        entry, sign = (b, "+") if a is None else (a, "-")
        what = "compile %s" % entry["compile_id"]
        reasons = (texts_b if a is None else texts_a).reasons(entry)
        if reasons:
            what += ", because %s" % _one_line(
                reasons[0].partition(": ")[2] if reasons[0].startswith("entry ") else reasons[0]
            )
        if entry.get("failure"):
            what += ", which failed: %s" % _failure_words(entry)
        result.changes.append(Change(sign, name, what, (), where))
        return
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


def _compare_artifacts(result, texts_a, texts_b, name, where, a, b, deep):
    there_a, there_b = texts_a.artifacts(a), texts_b.artifacts(b)
    changed, alone = [], {"+": [], "-": []}
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


def _cache_results(document):
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


def _totals(a, b):
    """What two runs come to: counts, seconds of compiling, and of these each phase's."""
    one, other = summary.counts(a), summary.counts(b)
    rows = [
        Total(label, one[key], other[key], "count")
        for key, label in _COUNTS
        if key in ("compiles", "breaks", "recompiles") or one[key] or other[key]
    ]
    spent = [collections.Counter(), collections.Counter()]
    for document, phases in zip((a, b), spent):
        for _, entry in summary.all_entries(document):
            phases.update(overview.phases(entry))
    rows.append(Total("compiling", sum(spent[0].values()), sum(spent[1].values()), "seconds"))
    for key, label, _ in overview.PHASES:
        if spent[0][key] or spent[1][key]:
            rows.append(Total(label, spent[0][key], spent[1][key], "phase"))
    return rows


def compare(a, b, ranks=False):
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
        one, other = (
            [found.words for found in collectives.of_run(document, texts.graph)]
            for document, texts in ((a, texts_a), (b, texts_b))
        )
        if one != other:
            result.changes.append(
                Change(
                    "~",
                    "",
                    "collectives in captured graphs: %d, then %d" % (len(one), len(other)),
                    _unified("\n".join(one), "\n".join(other)),
                )
            )
        hits, others = _cache_results(a), _cache_results(b)
        if hits != others:
            result.notes.append(
                "caches: %s, then %s; who compiles lets those wait who do not"
                % (hits or "nothing", others or "nothing")
            )
    for one, other in _pair_functions(a, b):
        function = one or other
        name = _function_name(function)
        where = (function["filename"], function["firstlineno"])
        if one is None or other is None:
            sign = "+" if one is None else "-"
            count = len(function["entries"])
            what = "%s, compiled %s" % (
                "resume function" if function["is_resume"] else "function",
                "once" if count == 1 else "%d times" % count,
            )
            result.changes.append(Change(sign, name, what, (), where))
            continue
        if not ranks and normal(one["source"]) != normal(other["source"]) and not one["is_resume"]:
            result.changes.append(
                Change("~", name, "source", _unified(one["source"], other["source"]), where)
            )
        for entry_a, entry_b in _pair_entries(texts_a, texts_b, one["entries"], other["entries"]):
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

    def __init__(self, groups, differences):
        self.groups = groups
        self.differences = differences

    def __bool__(self):
        return len(self.groups) > 1

    def text(self, links=False, lines=20):
        """What all ranks agree on, or where they part."""
        if not self:
            return "all %d ranks compiled the same graphs" % len(self.groups[0])
        out = [
            "RANKS DIFFER. A job hangs when its ranks do not meet in the same collectives; they "
            "compiled:",
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


def compare_ranks(documents):
    """Groups ranks by what they compiled.

    Args:
        documents: rank number -> document.
    """
    groups, differences = [], []
    for rank in sorted(documents):
        found = None
        for group in groups:
            difference = compare(documents[group[0]], documents[rank], ranks=True)
            if not difference:
                group.append(rank)
                break
            found = found or difference
        else:
            if groups:
                differences.append(found)
            groups.append([rank])
    return RankGroups(groups, differences)


# ---- the commands --------------------------------------------------------------------------------


def _load_any(path):
    """The document of a dump's folder, or of a log of TORCH_TRACE."""
    if (
        os.path.exists(os.path.join(path, summary.MANIFEST))
        or os.path.basename(path) == summary.MANIFEST
    ):
        return summary.load(path)
    from depyf.report import ReportError, document

    try:
        found = document.load(path)
    except (ReportError, OSError, ImportError) as error:
        raise summary.DumpError(str(error))
    found.setdefault("name", os.path.basename(os.path.normpath(path)))
    return found


def _load_ranks(folder):
    """Rank -> document; a dump of one process is rank 0."""
    folders = summary.ranks(folder)
    documents = {}
    for rank, path in (folders or {0: folder}).items():
        document = _load_any(path)
        if folders:
            document["name"] = "rank %d" % rank
        documents[rank] = document
    return documents


def diff_command(options):
    """`depyf diff`; returns the exit code."""
    try:
        sides = [_load_ranks(options.a), _load_ranks(options.b)]
        results = []
        for rank in sorted(set(sides[0]) | set(sides[1])):
            if rank not in sides[0] or rank not in sides[1]:
                only = Difference(options.a, options.b)
                sign = "+" if rank not in sides[0] else "-"
                only.changes.append(Change(sign, "", "rank %d" % rank))
                results.append(only)
                continue
            one, other = sides[0][rank], sides[1][rank]
            more = " rank %d" % rank if len(sides[0]) > 1 else ""
            one["name"], other["name"] = options.a + more, options.b + more
            results.append(compare(one, other))
        links = hyperlinks(sys.stdout)
        print("\n\n".join(found.text(links, options.lines) for found in results))
        if options.page:
            write_page(options.page, results)
            print("depyf: " + place(options.page, None, links))
    except BrokenPipeError:
        raise
    except (summary.DumpError, OSError) as error:
        sys.stderr.write("depyf diff: %s\n" % error)
        return 2
    except (KeyError, TypeError, AttributeError) as error:
        sys.stderr.write("depyf diff: a dump is damaged: %s: %s\n" % (type(error).__name__, error))
        return 2
    return 1 if any(results) else 0


def report_command(options):
    """`depyf report`; returns the exit code."""
    try:
        return _report(options)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        sys.stderr.write(
            "depyf report: a dump is damaged: %s: %s\n" % (type(error).__name__, error)
        )
        return 2


def _report(options):
    from depyf import launch

    links = hyperlinks(sys.stdout)
    folders = {}
    documents = {}
    try:
        for position, given in enumerate(options.dumps):
            there = summary.ranks(given)
            for rank, path in there.items():
                folders.setdefault(rank, path)
            if not there:
                folders[position] = given
        for rank, path in folders.items():
            documents[rank] = _load_any(path)
            if len(folders) > 1:
                documents[rank]["name"] = "rank %d" % rank
    except summary.DumpError as error:
        sys.stderr.write("depyf report: %s\n" % error)
        return 2
    page = None
    workers = _workers_of(documents)
    if not options.text:
        try:
            from depyf import report
            from depyf.report.base import PAGE

            sources = [folders[rank] for rank in sorted(folders)]
            if workers:
                target = options.dumps[0]
                page = report.build(_with_code(workers), os.path.join(target, PAGE))
            elif len(sources) == 1:
                page = report.build(sources[0])
            else:
                target = (
                    options.dumps[0] if len(options.dumps) == 1 else os.path.dirname(sources[0])
                )
                page = report.build(sources, os.path.join(target or ".", PAGE))
        except Exception as error:  # the text below is still of use
            sys.stderr.write(
                "depyf report: no page was written: %s: %s\n" % (type(error).__name__, error)
            )
    for rank in sorted(documents):
        document = documents[rank]
        if workers:
            from depyf.follow import merged

            print("depyf: of %d processes:" % len(workers))
            document = merged(workers[0], workers[1:])
        if len(documents) > 1 and summary.rank_of(document.get("folder")) is None:
            print("rank %d" % rank)
        print(summary.summary(document, None, links))
    differ = False
    if len(documents) > 1:
        groups = compare_ranks(documents)
        differ = bool(groups)
        print(groups.text(links))
    if page is not None:
        print("depyf: " + place(str(page), None, links))
        if options.open:
            launch.open_page(str(page), None, sys.stdout)
    if page is None and not options.text:
        return 2
    return 1 if differ else 0


def _workers_of(documents):
    """The one document and those of the workers beside it; [] for none, or for ranks."""
    from depyf import follow

    if len(documents) != 1:
        return []
    (document,) = documents.values()
    folder = document.get("folder")
    if not folder or not os.path.isdir(folder):
        return []
    found = follow.documents(folder, tidy=False)
    return [document] + found if found else []


def _with_code(documents):
    """The folders of those processes that compiled something."""
    return [one["folder"] for one in documents if one["functions"] or one["unattributed"]]


# ---- the page ------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light dark; --bg: #f5f6f8; --card: #fff; --fg: #1c2126; --dim: #57606a;
    --line: #dde1e6; --accent: #0f766e;
  --add: #dafbe1; --add-fg: #14602f; --del: #ffebe9; --del-fg: #a3211a; --hunk: #eef2fb }
@media (prefers-color-scheme: dark) { :root { --bg: #14181c; --card: #1b2026; --fg: #e4e8ec;
    --dim: #9ba5b0; --line: #333b44;
  --accent: #4fd1c0; --add: #12361f; --add-fg: #7fdc9d; --del: #4a1b1b; --del-fg: #ffa198;
    --hunk: #232c3d } }
body { font: 14.5px/1.5 system-ui, sans-serif; background: var(--bg); color: var(--fg);
    max-width: 76rem; margin: 0 auto; padding: 1rem }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem;
    margin-bottom: .6rem }
h1 { font-size: 1.2rem; margin: 0 } h2 { font: 650 1rem ui-monospace, monospace; margin: 0;
    overflow-wrap: anywhere }
.brand { font-weight: 750; letter-spacing: -.02em; background: var(--accent); color: var(--card);
    border-radius: 6px; padding: 1px 8px 2px }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
    padding: .8rem 1rem; margin-top: .8rem }
pre { border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; padding: .4rem 0;
    margin: .3rem 0 .6rem; font-size: 12.5px; tab-size: 4 }
pre span { display: block; min-height: 1.45em; width: max-content; min-width: calc(100% - 1.4rem);
    padding: 0 .7rem }
pre .add { background: var(--add) } pre .del { background: var(--del) } pre .hunk {
    background: var(--hunk); color: var(--dim) }
p { margin: .3rem 0; overflow-wrap: anywhere } summary { cursor: pointer; overflow-wrap: anywhere }
.place, .note { color: var(--dim); overflow-wrap: anywhere } .item { padding-left: 1.6em;
    text-indent: -1.6em }
.sign { font: bold 1em ui-monospace, monospace; display: inline-block; width: 1.6em;
    text-indent: 0 } .plus { color: var(--add-fg) } .minus { color: var(--del-fg) }
table { border-collapse: collapse; margin: .4rem 0 } th, td { padding: .1rem .9rem .1rem 0 }
th { text-align: left; font-weight: 500 } td, thead th { text-align: right;
    font-variant-numeric: tabular-nums } thead th { color: var(--dim) }
.phase th { padding-left: 1.2em; color: var(--dim) } .seconds th, .seconds td {
    border-top: 1px solid var(--line) }
@media print { body { background: none } section { border: 0; padding: 0 } pre {
    white-space: pre-wrap } pre span { width: auto } }
"""
_WORDS = {"+": ("appeared", "plus"), "-": ("vanished", "minus"), "~": ("changed", "both")}
_KINDS = {"+": " class=add", "-": " class=del", "@": " class=hunk"}


def page(results):
    """The differences as one self-contained HTML page: no scripts, nothing from any network."""
    from html import escape

    def text(value):
        return escape(shown(value))

    def sign(one):
        return '<span class="sign %s">%s</span>' % (
            _WORDS[one][1],
            "&minus;" if one == "-" else one,
        )

    out = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
        "'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width"><title>depyf diff</title>',
        "<style>%s</style></head><body><header><span class=brand>depyf</span><h1>What "
        "changed</h1></header><main>" % _STYLE,
    ]
    for result in results:
        out.append(
            "<section><p>%s%s<br>%s%s</p>" % (sign("-"), text(result.a), sign("+"), text(result.b))
        )
        counts = [
            (word, sum(1 for change in result.changes if change.sign == one))
            for one, (word, _) in _WORDS.items()
        ]
        out.append(
            "<p><strong>%s</strong></p>"
            % (
                ", ".join("%d %s" % (count, word) for word, count in counts if count)
                or "No differences."
            )
        )
        if result.totals:
            rows = "".join(
                "<tr class=%s><th scope=row>%s</th>%s</tr>"
                % (
                    total.kind,
                    text(total.label),
                    "".join("<td>%s</td>" % text(cell) for cell in total.cells()[1:]),
                )
                for total in result.totals
            )
            out.append(
                "<table><thead><tr><th></th><th scope=col>&minus;</th><th scope=col>+</th>"
                "<th scope=col>change</th></tr></thead><tbody>%s</tbody></table>" % rows
            )
        out += ["<p class=note>%s</p>" % text(note) for note in result.notes]
        current = None
        for change in result.changes:
            if change.function != current or current is None:
                current = change.function
                out.append("</section><section><h2>%s</h2>" % text(current or "The run"))
                if change.place:
                    out.append(
                        "<p class=place>%s:%d</p>"
                        % (text(short_path(change.place[0])), change.place[1])
                    )
            head = "%s%s <span class=note>(%s)</span>" % (
                sign(change.sign),
                text(change.what),
                _WORDS[change.sign][0],
            )
            if not change.lines:
                out.append("<p class=item>%s</p>" % head)
                continue
            rows = [
                "<span%s>%s</span>" % (_KINDS.get(line[:1], ""), text(line) or " ")
                for line in change.lines
            ]
            opened = " open" if len(change.lines) <= 60 else ""
            out.append(
                "<details%s><summary>%s</summary><pre>%s</pre></details>"
                % (opened, head, "".join(rows))
            )
        out.append("</section>")
    out.append("</main></body></html>\n")
    return "\n".join(out)


def write_page(path, results):
    """Writes `page` to a file.

    Raises:
        OSError: it cannot be written.
    """
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(page(results))
