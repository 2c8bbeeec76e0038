"""What a run of torch.compile comes to, in a few lines of text.

Works on the document of docs/run_schema.md alone.
"""

import os
import re
import textwrap
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from depyf.dumped import DumpError as DumpError
from depyf.dumped import load as load
from depyf.schema import MANIFEST as MANIFEST
from depyf.schema import Document, seconds
from depyf.terminal import parse_place, place, shown


def _by_rank(folder: str, pattern: str) -> List[Tuple[int, str]]:
    """(rank number, path) of each name in the folder that the pattern matches, its first group
    being the number; by rank.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    # no link is followed: the dump may be anybody's
    paths = [(name, os.path.join(folder, name)) for name in names]
    matches = [(re.match(pattern, name), path) for name, path in paths if not os.path.islink(path)]
    return sorted((int(match.group(1)), path) for match, path in matches if match)


def rank_of(folder: Any) -> Optional[int]:
    """The rank whose folder this is, by its name; None for the dump of one process."""
    match = (
        re.match(r"^rank_(\d+)$", os.path.basename(os.path.normpath(folder))) if folder else None
    )
    return int(match.group(1)) if match else None


def ranks(folder: str) -> Dict[int, str]:
    """The ranks of a distributed run, as rank number -> folder or log of TORCH_TRACE.

    Empty for the dump of one process.
    """
    folders = _by_rank(folder, r"^rank_(\d+)$")
    return {
        rank: path for rank, path in folders if os.path.exists(os.path.join(path, MANIFEST))
    } or rank_logs(folder)


def rank_logs(folder: str) -> Dict[int, str]:
    """The logs that TORCH_TRACE wrote for the ranks of one job, as rank number -> file.

    Empty where a rank has several.
    """
    logs = _by_rank(folder, r"^dedicated_log_torch_trace_rank_(\d+)_.*\.log$")
    return dict(logs) if len(dict(logs)) == len(logs) else {}


def all_entries(document: Document) -> Iterator[Tuple[Optional[Document], Document]]:
    """(function or None, entry) for every compile of a run, in order of compilation within each
    function.
    """
    for function in document["functions"]:
        for entry in function["entries"]:
            yield function, entry
    for entry in document["unattributed"]:
        yield None, entry


def user_line(
    document_or_stack: Any, fallback: Optional[Tuple[str, int]] = None
) -> Optional[Tuple[str, int]]:
    """(path, line) of the innermost frame of a stack as text lines, or `fallback`."""
    for text in reversed(document_or_stack or []):
        found = parse_place(text)
        if found is not None:
            return found
    return fallback


_GUARD_COMMENT = re.compile(r"(?<!\s)\s+# .*$", re.DOTALL)
#: where a guard was made, with the beginning of the path left out, which is all that torch tells up
#: to 2.9
_SHORTENED_PLACE = re.compile(r"# (?P<tail>[^\s#]+):(?P<line>\d+) in \S+\s*$")


def reason_parts(reason: str, filename: str = "") -> Tuple[str, Optional[Tuple[str, int]]]:
    """(text, (path, line) or None) of torch's reason for a recompile: the guard, and the user's
    line that made it.

    Args:
        filename: of the function that was compiled again; where torch shortens paths, only lines of
            this file are found.
    """
    frames = re.findall(r'File "([^"\n]+)", line (\d+)', reason)
    where = (frames[-1][0], int(frames[-1][1])) if frames else None
    shortened = _SHORTENED_PLACE.search(reason)
    if where is None and shortened and filename.endswith(shortened.group("tail")):
        where = filename, int(shortened.group("line"))
    text = _GUARD_COMMENT.sub("", reason)
    return " ".join(text.split()) or " ".join(reason.split()), where


def _failed_function(entry: Document) -> Optional[Tuple[Any, ...]]:
    """(name, file, line) of the function of a compile that came to nothing, None where torch does
    not tell, and for the rest of a function after a break.
    """
    from depyf.trace.names import resumed

    metrics = entry.get("metrics") or {}
    if resumed(metrics.get("co_name"))[0]:
        return None
    found = metrics.get("co_name"), metrics.get("co_filename"), metrics.get("co_firstlineno")
    return found if all(found) else None


def _is_empty(entry: Document) -> bool:
    """Whether torch traced a function to its end and found nothing to compile."""
    made = ("name", "failure", "breaks", "artifacts")
    return bool(entry.get("metrics")) and not any(entry.get(one) for one in made)


def _by_a_block(entry: Document) -> bool:
    return str(entry.get("replaced_by") or "").startswith("the block that writes to ")


def break_lines(entries: Iterable[Document]) -> int:
    """At how many lines of the user's the graph breaks of these compiles are: a line counts once,
    however many compiles met it. Breaks whose line is not known count as one.
    """
    return _lines_of(one for entry in entries for one in entry.get("breaks") or ())


def _lines_of(breaks: Iterable[Document]) -> int:
    return len({place_of_break(one, None) for one in breaks})


def place_of_break(graph_break: Document, said: Optional[Document]) -> Optional[Tuple[str, int]]:
    """(path, line) of a graph break; `said`: what `words.of_break` says of it, where known."""
    from depyf.report import words

    said = said or words.of_break(graph_break)
    if said["line"]:
        return said["file"], said["line"]
    return user_line(graph_break.get("user_stack"))


def graph_breaks(breaks: int, lines: int) -> str:
    """A count of graph breaks in words, with that of their lines where it is another."""
    return _many(breaks, "graph break") + (
        " at %s" % _many(lines, "line") if lines != breaks else ""
    )


def counts(document: Document) -> Dict[str, Any]:
    """Numbers of a run: compiles, functions (`library`: those of libraries among them), breaks,
    their lines, recompiles, failures, compiles that found nothing to compile, cache hits and
    misses, seconds, decompiled code, replaced, replaced by another block, proven.
    """
    from depyf.report import words

    entries = list(all_entries(document))
    caches = [event for _, entry in entries for event in entry.get("cache") or ()]
    with_code = [entry for _, entry in entries if entry.get("name")]
    failed = {_failed_function(entry) for entry in document["unattributed"]} - {None}
    whole = {
        (one["name"], one["filename"], one["firstlineno"])
        for one in document["functions"]
        if not one["is_resume"]
    }
    files = [one[1] for one in failed - whole if one]
    files += [one["filename"] for one in document["functions"] if not one["is_resume"]]
    return {
        "functions": len(files),
        "library": sum(
            # code that a program makes of a text is in no file
            1
            for filename in files
            if words.in_library(filename) and not filename.startswith("<")
        ),
        "compiles": len(entries),
        "breaks": sum(len(entry.get("breaks") or ()) for _, entry in entries),
        "break_lines": break_lines(entry for _, entry in entries),
        "recompiles": sum(
            1
            for _, entry in entries
            if entry.get("reasons") and not words.is_limit(entry.get("failure"))
        ),
        "failures": sum(1 for _, entry in entries if entry.get("failure")),
        "empty": sum(1 for _, entry in entries if _is_empty(entry)),
        "hits": sum(1 for event in caches if event.get("result") == "hit"),
        "misses": sum(1 for event in caches if event.get("result") == "miss"),
        "seconds": sum(seconds(entry) for _, entry in entries),
        "code": len(with_code),
        "replaced": sum(1 for entry in with_code if entry["replaced"]),
        "inner": sum(1 for entry in with_code if _by_a_block(entry)),
        "proven": sum(1 for entry in with_code if entry["verdict"] in ("exact", "equivalent")),
    }


def over_budget(
    document: Document,
    breaks: Optional[int] = None,
    recompiles: Optional[int] = None,
    compile_seconds: Optional[float] = None,
    told: Sequence[str] = (),
) -> List[str]:
    """What a run has more of than is allowed: one text for each, which names what it was.

    Args:
        document: see `load`.
        breaks, recompiles, compile_seconds: what is allowed; None allows all.
        told: "breaks", "recompiles": those that the reader has been told of, so that a number will
            do.
    """
    number = counts(document)
    over = []
    found = _breaks_to_mend(document)
    if breaks is not None and len(found) > breaks:
        text = "" if "breaks" in told else breaks_text(document, on_purpose=False)
        counted = graph_breaks(len(found), _lines_of(found))
        over.append("%s, %d allowed%s" % (counted, breaks, _below(text)))
    if recompiles is not None and number["recompiles"] > recompiles:
        text = "" if "recompiles" in told else recompiles_text(document)
        over.append(
            "%s, %d allowed%s"
            % (_many(number["recompiles"], "recompile"), recompiles, _below(text))
        )
    if compile_seconds is not None and number["seconds"] > compile_seconds:
        over.append("%.2f s of compiling, %g allowed" % (number["seconds"], compile_seconds))
    return over


def _breaks_to_mend(document: Document) -> List[Document]:
    """The graph breaks of a run without those that torch makes by design."""
    from depyf import advice
    from depyf.report import words

    found = [one for _, entry in all_entries(document) for one in entry.get("breaks") or ()]
    return [one for one in found if words.of_break(one)["row"] not in advice.NORMAL]


def _below(text: str) -> str:
    return ":\n" + textwrap.indent(text, "    ") if text else ""


def _many(count: int, word: str) -> str:
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


#: what stands for the rest of a text that is too long
_CUT = " … (all of it is in the report)"


def numbers_explained(text: str) -> str:
    """A line that says what the numbers of compiles in a text are, "" where it has none."""
    found = re.search(r"\[(\d+)/(\d+)", text)
    if found is None:
        return ""
    return (
        "[%s/%s] is torch's number of a compile: function %s, its compile %s, both counted from 0; "
        "the code after a graph break is a separate function" % (found.groups() * 2)
    )


def summary(
    document: Document,
    report: Optional[str] = None,
    links: bool = False,
    told: Sequence[str] = (),
    advice: Any = None,
) -> str:
    """The run in ten lines or less: what was compiled, what it cost, the three changes that are
    worth most, where the report is.

    Args:
        document: see `load`.
        report: path of the page, or of the folder, that the last line names.
        links: write places as hyperlinks.
        told: kinds of causes ("break", "recompile") that the reader is told of elsewhere.
        advice: the changes of the document, a `depyf.advise.Advice`, where they are known.
    """
    number = counts(document)
    if not number["compiles"]:
        return (
            "depyf: torch compiled nothing. Is torch.compile reached, and not turned off by "
            "TORCHDYNAMO_DISABLE,\n"
            "       a stance, or an earlier compile of the same code in this process?"
        )
    lines = [
        "depyf: %s of %s in %.1f s%s"
        % (
            _many(number["compiles"], "compile"),
            _functions(number),
            number["seconds"],
            _came_to_nothing(number),
        ),
        "       %s, %s%s"
        % (
            graph_breaks(number["breaks"], number["break_lines"]),
            _many(number["recompiles"], "recompile"),
            _cached(number["hits"], number["misses"]),
        ),
    ]
    if number["code"]:  # a log of TORCH_TRACE has none
        code = _many(number["code"], "decompiled code object")
        lines.append(
            "       %d of %s proven equal to torch's; torch runs %d of them%s"
            % (
                number["proven"],
                code,
                number["replaced"],
                ", %d of another block of the program" % number["inner"] if number["inner"] else "",
            )
        )
    from depyf import advise

    advice = advise.Advice(document) if advice is None else advice
    lines[1:1] = _uncompiled(advice.nodes, links)
    most = [row for row in _first_of(advice) if row[0]["kind"] not in told]
    places = advice.places()
    for cause, saved, helps in most[:3]:
        told_at = places.get(id(cause)) if cause["kind"] == "recompile" else None
        line, help_text = _cause(cause, links, saved, helps, told_at)
        lines.append("  " + line)
        if help_text and len(lines) < 9 and "            " + help_text not in lines:
            lines.append("            " + help_text)  # it is told once
    if len(most) > 3 and len(lines) < 9:
        lines.append("            and %d more" % (len(most) - 3))
    rank = rank_of(document.get("folder"))
    if rank is not None:
        lines[0] = lines[0].replace("depyf: ", "depyf: rank %d: " % rank, 1)
    if document.get("open"):
        stopped = document.get("stopped")
        lines[0] += "; " + (
            "the dump is incomplete: " + _plain(str(stopped))
            if stopped
            else "the program is still running, or was killed before its block ended; the end "
            "writes full_code_for_*, and README.md, which `depyf report` writes, too"
        )
    if report:
        lines.append("depyf: " + place(report, None, links))
    return "\n".join(lines)


#: beginnings of names of a dump's files -> what they are called, in this order
_KINDS = (
    ("depyf.", "depyf.json"),
    ("README", "README.md"),
    ("depyf-README", "README.md"),
    ("index.html", "index.html"),
    ("full_code_for_", "full code"),
    ("__transformed_code_", "transformed code"),
    ("Captured_Graph.", "Captured_Graph.tables.txt"),
    ("", "graphs and kernels"),
)


def unwritten(files: Mapping[str, str]) -> str:
    """Why files of a dump are missing, and of which kinds they are; "" if none is missing.

    Args:
        files: name -> why the file could not be written.
    """
    kinds: Dict[str, int] = {}
    for name in files:
        kind = next(kind for start, kind in _KINDS if name.startswith(start))
        kinds[kind] = kinds.get(kind, 0) + 1
    listed = [
        kind if "." in kind else "%s (%s)" % (kind, _many(kinds[kind], "file"))
        for kind in dict.fromkeys(kind for _, kind in _KINDS)
        if kind in kinds
    ]
    reasons = ", ".join(dict.fromkeys(files.values()))
    return "%s; not written: %s" % (reasons, ", ".join(listed)) if listed else ""


def _functions(number: Dict[str, Any]) -> str:
    """The functions that were compiled, those of libraries apart."""
    library, own = number["library"], number["functions"] - number["library"]
    if not library:
        return _many(own, "function")
    if not own:
        return _many(library, "function") + " of libraries"
    return "%s and %d of libraries" % (_many(own, "function"), library)


def _came_to_nothing(number: Dict[str, Any]) -> str:
    """The compiles that made no code, in words; those without anything to compile where no other
    made any.
    """
    told = ", %d of them failed" % number["failures"] if number["failures"] else ""
    if number["empty"] and number["empty"] + number["failures"] == number["compiles"]:
        told += ", %d of them had nothing to compile" % number["empty"]
    return told


#: functions that are named in a line; the rest is counted
_MOST_NAMED = 3


def _uncompiled(nodes: Sequence[Any], links: bool) -> List[str]:
    """A line that names the functions that torch gave up, so that they run as plain Python."""
    found: Dict[Tuple[Any, ...], str] = {}
    for node in nodes:
        said = node.failure
        if said is None or said["raised"] or said["row"] == "nothing to compile":
            continue
        limit = ", for calls that fit none of its compiles (recompile limit)"
        where = _node_place(node, links)
        named = shown(node.called) + (" " + where if where != "?" else "")
        found.setdefault((node.place, node.called), named + limit * node.is_limit)
    if not found:
        return []
    told = list(found.values())[:_MOST_NAMED]
    if len(found) > _MOST_NAMED:
        told.append("%d more" % (len(found) - _MOST_NAMED))
    return ["       runs uncompiled: " + "; ".join(told)]


def _cached(hits: int, misses: int) -> str:
    if not hits and not misses:  # the backend asks no cache
        return ""
    return "; torch's caches of compiled graphs: %s, %d miss%s" % (
        _many(hits, "hit"),
        misses,
        "" if misses == 1 else "es",
    )


def _plain(text: str) -> str:
    return shown(" ".join(text.replace("`", "").split()))


def _first_of(advice: Any) -> List[Tuple[Dict[str, Any], str, str]]:
    """(cause, what its change saves, advice) of each change, in their order; then of the causes for
    which there is no change, with "" for both: what is never compiled, what cost time, the rest.
    """
    from depyf.report import overview

    known = advice.ranked()
    left = [cause for cause in advice.causes if id(cause) not in known]
    left.sort(
        key=lambda cause: (
            cause["kind"] != "failure" or cause["failure"]["row"] != "nothing to compile on a side",
            overview.is_normal(cause),
            cause["cost"] < 0.005
            and (cause["kind"] != "failure" or cause["failure"]["row"] == "nothing to compile"),
            -cause["cost"],
        )
    )
    return list(advice.heads()) + [(cause, "", "") for cause in left]


def _cause(
    cause: Dict[str, Any],
    links: bool,
    saved: str,
    helps: str,
    told_at: Optional[Tuple[str, int]] = None,
) -> Tuple[str, str]:
    """One line for one of what `overview.causes` gives, and what helps against it.

    Args:
        saved: what its change saves, "" where there is none.
        helps: what to change.
        told_at: (file, line) at which its change is told elsewhere, too.
    """
    from depyf.report.words import outcome

    found = cause.get("reason") or cause.get("break") or cause["failure"]
    words = found["words"] if cause["kind"] == "recompile" else found["why"]
    kind, where = "graph break", (found["file"], found["line"])
    if cause["kind"] != "break":
        kind, where = (
            ("recompile" if cause["kind"] == "recompile" else outcome(found)),
            told_at or cause["nodes"][0].place,
        )
    if cause["kind"] == "failure" and found["line"]:
        same = os.path.normpath(found["file"] or "") == os.path.normpath(where[0] or "")
        which = "line %d" % found["line"] if same else place(found["file"], found["line"])
        words = "because of %s: %s" % (which, words)
    node = cause["nodes"][0]
    if cause["kind"] == "failure" or cause["kind"] == "recompile" and node.is_resume:
        words = "%s: %s" % (cause["nodes"][0].called, words)
    caller = (found["caller"] if kind != "recompile" else cause["nodes"][0].caller)[:2]
    if caller[1]:
        words = "(from %s) %s" % (place(caller[0], caller[1]), words)
    more = ", and %d more like it" % (cause["count"] - 1) if cause["count"] > 1 else ""
    line = "%s  %s  %s%s%s" % (
        saved or "%6.2f s" % cause["cost"],
        kind,
        place(where[0], where[1], links) + " " if where[0] else "",
        textwrap.shorten(_plain(words), 300, placeholder=_CUT).rstrip("." if more else ""),
        more,
    )
    helps = helps or (found["help"] or [""])[0]
    if helps:
        return line, _plain("help: " + helps)
    hints = [_plain("torch's hint: " + text) for text in found.get("hints") or ()]
    return line, textwrap.shorten(hints[0], 300, placeholder=_CUT) if hints else ""


def breaks_text(document: Document, links: bool = False, on_purpose: bool = True) -> str:
    """Each graph break once: the user's line, torch's name for it, the compiles that met it, why
    it breaks and what helps; `on_purpose`: also those that torch makes by design.
    """
    from depyf import advice
    from depyf.report import overview

    found: Dict[Any, Tuple[Dict[str, Any], List[str]]] = {}
    nodes = {id(node.entry): node for node in overview.nodes_of([document])}
    for _, entry in all_entries(document):
        node = nodes[id(entry)]
        told = list(zip(entry.get("breaks") or (), node.breaks))
        nothing = node.failure if entry.get("resumes") else None
        if nothing is not None and not entry.get("failure"):  # what a break led to
            told.append(({"location": "%(file)s:%(line)d" % nothing}, nothing))
        for graph_break, said in told:
            if not on_purpose and said["row"] in advice.NORMAL:
                continue
            where = place_of_break(graph_break, said)
            head = "%s: %s" % (
                place(where[0], where[1], links) if where else "?",
                shown(said["what"]),
            )
            what = head, said["why"], said["explanation"], said["then"]
            found.setdefault(what, (said, []))[1].append(entry["compile_id"])
    lines = []
    helped: Dict[Tuple[str, ...], str] = {}  # help that was given -> the line where
    for (head, why, explanation, then), (said, ids) in found.items():
        lines.append("%s [%s]" % (head, ", ".join(dict.fromkeys(ids))))
        if said["source"]:
            lines.append("    > " + shown(said["source"]))
        if said["caller"][1]:
            file, line, code = said["caller"]
            called = place(file, line, links), shown(code.strip())
            lines.append("    called from your line %s: %s" % called)
            if said["via"]:
                lines.append("    " + shown(said["via"]))
        lines.extend("    " + _plain(text) for text in (why, then, explanation) if text)
        help_ = [*said["help"], *said["hints"], *filter(None, [said["url"]])]
        before = helped.setdefault(tuple(help_), head)
        if before is not head and len(help_) > 1:
            lines.append("    help: as above for " + before)
            continue
        lines.extend("    help: " + _plain(hint) for hint in said["help"])
        lines.extend("    torch's hint: " + _plain(hint) for hint in said["hints"])
        if said["url"]:
            lines.append("    " + shown(said["url"]))
    return "\n".join(lines + _nothing_compiled(document)) if lines else "no graph breaks"


def _nothing_compiled(document: Document) -> List[str]:
    """A line where torch made no code of any function: a run without recompiles may be that."""
    entries = [entry for _, entry in all_entries(document)]
    if not entries or any(entry.get("name") for entry in entries):
        return []
    return ["torch compiled nothing: each function that it tried runs as plain Python"]


def recompiles_text(document: Document, links: bool = False) -> str:
    """The recompiles of each function, those for the same thing together: the guards that failed
    on earlier entries, and what usually helps. A group takes a few lines, however large it is.
    """
    from depyf.report import overview

    groups: Dict[Any, List[Any]] = {}
    stopped = []
    nodes = overview.nodes_of([document])
    for node in nodes:
        if node.is_limit:
            stopped.append(node)
        elif node.reasons:
            first = node.reasons[0]
            about = first["row"], first["name"], first["kind"], tuple(first["help"])
            groups.setdefault((node.place, node.called, about), []).append(node)
    lines = []
    for group in groups.values():
        node = group[0]
        ids = [one.entry["compile_id"] for one in group]
        lines.append(
            "%s: %s compiled again %s[%s], %.2f s"
            % (
                _node_place(node, links),
                shown(node.called),
                "" if len(group) == 1 else "%d times " % len(group),
                ", ".join(ids[:_MOST_IDS] + ["…"] * (len(ids) > _MOST_IDS)),
                sum(one.seconds for one in group),
            )
        )
        alone = len(group) == 1
        # of a group what they have in common, then what other entries did not fit for
        rows = [(one, one.reasons[0]) for one in group]
        lines += _reason_lines(rows, alone, links)
        told = {said["words"] for _, said in rows}
        others: Dict[str, Tuple[Any, Dict[str, Any]]] = {}
        for one in group:
            for said in one.reasons[1:]:
                if alone or said["words"] not in told:
                    others.setdefault(said["tried"] if alone else said["words"], (one, said))
        lines += _reason_lines(list(others.values()), alone, links)
        if node.caller[1]:
            lines.append(
                "    called from your line %s: %s"
                % (place(node.caller[0], node.caller[1], links), shown(node.caller[2]))
            )
        lines.extend("    help: " + _plain(hint) for hint in node.reasons[0]["help"])
    for node in stopped:
        lines.append(
            "%s: torch stopped compiling %s at its next compile [%s]: calls that fit none of its "
            "%s run uncompiled"
            % (
                _node_place(node, links),
                shown(node.called),
                node.entry["compile_id"],
                _many(overview.compiled_times(nodes, node), "compile"),
            )
        )
    return "\n".join(lines or ["no recompiles"] + _nothing_compiled(document))


#: of a group of recompiles that are shown
_MOST_IDS, _MOST_REASONS = 8, 4


def _reason_lines(rows: List[Tuple[Any, Dict[str, Any]]], alone: bool, links: bool) -> List[str]:
    """A line for each reason, with the compile that it is of where there are several."""
    lines = [
        _reason_line(one, said, links, "" if alone else "[%s] " % one.entry["compile_id"])
        for one, said in rows[:_MOST_REASONS]
    ]
    more = len(rows) - _MOST_REASONS
    return lines + ["    and %d more" % more] * (more > 0)


def _reason_line(node: Any, said: Dict[str, Any], links: bool, of: str) -> str:
    from depyf.report import words

    _, made = reason_parts(said["raw"], node.place[0])
    if os.path.isabs(said["file"]) and said["line"]:  # see `words.place_reason`
        made = said["file"], said["line"]
    if made and "at %s: " % place(*made) in said["words"]:
        made = None
    return "    %s%s%s%s%s" % (
        of,
        said["tried"] + ": " if said["tried"] else "",
        _plain(said["words"]),
        # once where the words hold the guard itself
        "" if "`%s`" % said["failed"] in said["words"] else " (%s)" % shown(said["failed"]),
        ", " + words.guarded_at(said, place(made[0], made[1], links)) if made else "",
    )


def _node_place(node: Any, links: bool) -> str:
    filename, line = node.place
    return place(filename, line, links) if filename else "?"


#: torch's own guards that a tensor has no mark of mark_dynamic and its like
MARK = re.compile(r"^hasattr\((.+), '_dynamo_\w*indices'\) == False$")


def folded_marks(count: int, things: str) -> str:
    """That many guards of torch's own which ask that nothing of some tensors is marked."""
    return "%s that no size is marked (mark_dynamic and its like) of %s" % (
        _many(count, "guard"),
        things,
    )


def guards_text(document: Document, line: str, links: bool = False) -> str:
    """The guards that a line of the user's code made.

    Args:
        document: see `load`.
        line: "12", or "file.py:12".
        links: write places as hyperlinks.
    Raises:
        ValueError: `line` is neither.
    """
    match = re.match(r"^(?:(?P<file>.+):)?(?P<line>\d+)$", line)
    if not match:
        raise ValueError("--guards %s: expected a line number, or FILE:LINE" % line)
    number, ending = int(match.group("line")), match.group("file")
    from depyf.report import words

    # torch shortens paths from the front: a file of the reader's own is known by its name
    own = {
        os.path.basename(one["filename"])
        for one in document["functions"]
        if not words.in_library(one["filename"])
    }
    lines: List[str] = []
    others: Set[Tuple[str, int]] = set()
    marks: Dict[Tuple[int, str], List[str]] = {}
    for function, entry in all_entries(document):
        for guard in entry.get("guards") or ():
            places = [parse_place(text) for text in guard.get("user_stack") or ()]
            places += [
                (path, int(where))
                for path, where in re.findall(
                    r"([^\s#][^\s]*\.py):(\d+)", guard.get("comment") or ""
                )
            ]
            names = [
                (os.path.basename(found[0]), found[1]) for found in places if found is not None
            ]
            others.update(name for name in names if name[0] in own)
            if any(
                found is not None
                and found[1] == number
                and (
                    ending is None or os.path.normpath(found[0]).endswith(os.path.normpath(ending))
                )
                for found in places
            ):
                head = "%s [%s] " % (
                    shown(function.get("qualname") or function["name"]) if function else "?",
                    entry["compile_id"],
                )
                mark = MARK.match(guard["text"])
                if mark:
                    marks.setdefault((len(lines), head), []).append(mark.group(1))
                    continue
                kind = guard["kind"] + ": " if guard["kind"] else ""
                lines.append(head + kind + shown(guard["text"]))
    for (place_of, head), tensors in reversed(list(marks.items())):
        things = ", ".join(dict.fromkeys(words.short(name) for name in tensors))
        lines.insert(place_of, head + folded_marks(len(tensors), shown(things)))
    if lines:
        return "\n".join(lines)
    told = ", ".join("%s:%d" % (shown(name), where) for name, where in sorted(others)[:20])
    return "no guards from line %s%s" % (line, "; there are guards from " + told if told else "")
