"""What a run of torch.compile comes to, in a few lines of text. Works on the document of docs/run_schema.md alone."""

import json
import os
import re

from depyf.schema import MANIFEST, SCHEMA, SCHEMA_VERSION
from depyf.terminal import parse_place, place, shown



class DumpError(Exception):
    """A folder holds no dump that can be read; the message says what was expected."""


def load(folder):
    """The document of one dump.

    Args:
        folder: a folder that `prepare_debug` wrote, or its depyf.json.
    Raises:
        DumpError: there is none, it is not complete, or a later depyf wrote it.
    """
    path = os.fspath(folder)
    if os.path.isdir(path):
        path = os.path.join(path, MANIFEST)
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except OSError as error:
        raise DumpError(
            "%s: %s; expected a folder that depyf.prepare_debug or `depyf run` wrote"
            % (path, error.strerror or error)
        )
    except ValueError as error:
        raise DumpError("%s is no JSON document: %s" % (path, error))
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise DumpError('%s: expected a document with "schema": "%s"' % (path, SCHEMA))
    version = document.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise DumpError(
            "%s has schema_version %s and this depyf reads %d; install a later depyf"
            % (path, version, SCHEMA_VERSION)
        )
    if "functions" not in document:
        raise DumpError(
            "%s: the dump is not complete, and nothing was compiled in it yet: the program was ended before its block, "
            "or is still running"
            % path
        )
    document["folder"] = os.path.dirname(os.path.abspath(path))
    for name in document.get("earlier") or ():  # other blocks of the program that wrote to the folder before
        if os.path.basename(name) != name:
            continue
        try:
            with open(os.path.join(document["folder"], name), encoding="utf-8") as stream:
                earlier = json.load(stream)
            for key in ("functions", "unattributed", "problems"):
                document[key] = earlier[key] + document[key]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return document


def _by_rank(folder, pattern):
    """(rank number, path) of each name in the folder that the pattern matches, its first group being the number; by rank."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    matches = [(re.match(pattern, name), os.path.join(folder, name)) for name in names]
    return sorted((int(match.group(1)), path) for match, path in matches if match)


def ranks(folder):
    """The ranks of a distributed run, as rank number -> folder or log of TORCH_TRACE; empty for the dump of one process."""
    folders = _by_rank(folder, r"^rank_(\d+)$")
    return {rank: path for rank, path in folders if os.path.exists(os.path.join(path, MANIFEST))} or rank_logs(folder)


def rank_logs(folder):
    """The logs that TORCH_TRACE wrote for the ranks of one job, as rank number -> file; empty where a rank has several."""
    logs = _by_rank(folder, r"^dedicated_log_torch_trace_rank_(\d+)_.*\.log$")
    return dict(logs) if len(dict(logs)) == len(logs) else {}


def all_entries(document):
    """(function or None, entry) for every compile of a run, in order of compilation within each function."""
    for function in document["functions"]:
        for entry in function["entries"]:
            yield function, entry
    for entry in document["unattributed"]:
        yield None, entry


def seconds(entry):
    """The seconds that torch spent on one compile, its backward included."""
    total = 0.0
    for metrics in (entry.get("metrics") or {}, entry.get("backward_metrics") or {}):
        value = metrics.get("duration_us")
        if isinstance(value, (int, float)) and value:
            total += value / 1e6
        else:
            value = metrics.get("entire_frame_compile_time_s")
            if isinstance(value, (int, float)):
                total += value
    return total


class Cause:
    """Something that made torch compile more than once for one function, and what that cost.

    Attributes:
        kind: "graph break", "recompile" or "failure".
        path, line: the user's line, None where torch does not tell.
        reason: in torch's words, one line.
        help: what torch suggests, or what this kind of guard usually needs; may be empty.
        seconds: spent on compiling what it made necessary.
        function, entry: the documents of the compile that it belongs to.
    """

    def __init__(self, kind, function, entry, reason, cost, where=None, help=""):
        self.kind = kind
        self.function = function
        self.entry = entry
        self.reason = " ".join(str(reason).split())
        self.seconds = cost
        self.path, self.line = where if where else (None, None)
        self.help = help
        self.count = 1  # compiles that it was met in

    def text(self, links=False):
        """One line of text."""
        where = place(self.path, self.line, links) + " " if self.path else ""
        more = ", and %d more like it" % (self.count - 1) if self.count > 1 else ""
        return "%6.2f s  %s  %s%s%s" % (self.seconds, self.kind, where, shown(self.reason), more)

    def same_as(self):
        """What two causes share that are one to whoever looks for them: kind, place, and what failed, without its values."""
        if self.kind == "graph break":
            return self.kind, self.path, self.line, self.reason
        if self.kind == "recompile":
            from depyf.report import words

            found = words.of_reason(self.reason)
            return self.kind, id(self.function), found["kind"], found["name"] or found["failed"]
        return self.kind, id(self.entry)


def user_line(document_or_stack, fallback=None):
    """(path, line) of the innermost frame of a stack as text lines, or `fallback`."""
    for text in reversed(document_or_stack or []):
        found = parse_place(text)
        if found is not None:
            return found
    return fallback


_GUARD_COMMENT = re.compile(r"\s+# .*$", re.DOTALL)
#: where a guard was made, with the beginning of the path left out, which is all that torch tells up to 2.9
_SHORTENED_PLACE = re.compile(r"# (?P<tail>[^\s#]+):(?P<line>\d+) in \S+\s*$")


def reason_parts(reason, filename=""):
    """(text, (path, line) or None) of torch's reason for a recompile: the guard, and the user's line that made it.

    Args:
        filename: of the function that was compiled again; where torch shortens paths, only lines of this file are found.
    """
    frames = re.findall(r'File "([^"\n]+)", line (\d+)', reason)
    where = (frames[-1][0], int(frames[-1][1])) if frames else None
    shortened = _SHORTENED_PLACE.search(reason)
    if where is None and shortened and filename.endswith(shortened.group("tail")):
        where = filename, int(shortened.group("line"))
    text = _GUARD_COMMENT.sub("", reason)
    return " ".join(text.split()) or " ".join(reason.split()), where


#: what usually helps against a recompile, by a pattern in torch's reason
_ADVICE = (
    (
        r"^(?:\S+: )?[\w.]+ == -?[\d.]+$",
        "pass the number as a tensor, or keep it the same; torch specialises on numbers",
    ),
    (
        r"size mismatch|stride mismatch|\.size\(|\.shape|^\d+ [<>=]|[<>=]= ?\d+$",
        "torch._dynamo.mark_dynamic(tensor, dim), or torch.compile(dynamic=True)",
    ),
    (r"dtype|device|dispatch key|requires_grad", "call it with tensors of one kind, or expect one entry for each"),
    (r"GLOBAL_STATE|grad_mode|autocast|___check_global_state", "enter grad and autocast blocks the same way each time"),
    (r"___check_obj_id|ID_MATCH|___check_type_id|is not the same", "pass the same object each time, or make it an argument that is a tensor"),
)


def recompile_advice(reason):
    """What usually helps against a recompile with that reason of torch's; empty where nothing is known to."""
    for pattern, advice in _ADVICE:
        if re.search(pattern, reason):
            return advice
    return ""


def causes(document):
    """The graph breaks, recompiles and failures of a run, the most expensive first."""
    resume_cost = {}
    children = {}
    for function in document["functions"]:
        name = function.get("global_name")
        if name:
            resume_cost[name] = sum(seconds(entry) for entry in function["entries"])
            children[name] = [
                call for entry in function["entries"] for call in entry.get("calls") or ()
            ]
    found = []
    for function, entry in all_entries(document):
        breaks = entry.get("breaks") or []
        if breaks:
            # what follows a break is compiled as resume functions, which may break again
            work, seen = list(entry.get("calls") or ()), set()
            cost = 0.0
            while work:
                name = work.pop()
                if name in seen:
                    continue
                seen.add(name)
                cost += resume_cost.get(name, 0.0)
                work.extend(children.get(name, ()))
            for graph_break in breaks:
                where = parse_place(graph_break.get("location") or "")
                where = where or user_line(graph_break.get("user_stack"))
                hints = graph_break.get("hints") or [""]
                found.append(
                    Cause(
                        "graph break",
                        function,
                        entry,
                        graph_break["reason"],
                        cost / len(breaks),
                        where,
                        hints[0],
                    )
                )
        if entry.get("reasons"):
            reason, place_of = reason_parts(entry["reasons"][0], function["filename"] if function else "")
            if place_of is None and function:
                place_of = function["filename"], function["firstlineno"]
            found.append(
                Cause(
                    "recompile",
                    function,
                    entry,
                    reason,
                    seconds(entry),
                    place_of,
                    recompile_advice(reason),
                )
            )
        if entry.get("failure"):
            found.append(
                Cause(
                    "failure",
                    function,
                    entry,
                    entry["failure"],
                    seconds(entry),
                    user_line(entry.get("user_stack")),
                )
            )
    merged = {}
    for cause in found:
        first = merged.setdefault(cause.same_as(), cause)
        if first is not cause:
            first.seconds += cause.seconds
            first.count += 1
    return sorted(merged.values(), key=lambda cause: -cause.seconds)


def counts(document):
    """Numbers of a run: compiles, functions, breaks, recompiles, cache hits and misses, seconds, replaced, proven."""
    entries = list(all_entries(document))
    caches = [event for _, entry in entries for event in entry.get("cache") or ()]
    with_code = [entry for _, entry in entries if entry.get("name")]
    return {
        "functions": sum(1 for function in document["functions"] if not function["is_resume"]),
        "compiles": len(entries),
        "breaks": sum(len(entry.get("breaks") or ()) for _, entry in entries),
        "recompiles": sum(1 for _, entry in entries if entry.get("reasons")),
        "failures": sum(1 for _, entry in entries if entry.get("failure")),
        "hits": sum(1 for event in caches if event.get("result") == "hit"),
        "misses": sum(1 for event in caches if event.get("result") == "miss"),
        "seconds": sum(seconds(entry) for _, entry in entries),
        "code": len(with_code),
        "replaced": sum(1 for entry in with_code if entry["replaced"]),
        "proven": sum(1 for entry in with_code if entry["verdict"] in ("exact", "equivalent")),
    }


def _many(count, word):
    return "%d %s%s" % (count, word, "" if count == 1 else "s")


def summary(document, report=None, links=False):
    """The run in ten lines or less: what was compiled, what it cost, the three most expensive causes, where the report is.

    Args:
        document: see `load`.
        report: path of the page, or of the folder, that the last line names.
        links: write places as hyperlinks.
    """
    number = counts(document)
    if not number["compiles"]:
        return (
            "depyf: torch compiled nothing. Is torch.compile reached, and not turned off by TORCHDYNAMO_DISABLE,\n"
            "       a stance, or an earlier compile of the same code in this process?"
        )
    lines = [
        "depyf: %s of %s in %.1f s"
        % (
            _many(number["compiles"], "compile"),
            _many(number["functions"], "function"),
            number["seconds"],
        ),
        "       %s, %s, %s, %s"
        % (
            _many(number["breaks"], "graph break"),
            _many(number["recompiles"], "recompile"),
            _many(number["hits"], "cache hit"),
            _many(number["misses"], "cache miss").replace("misss", "misses"),
        ),
        "       %d of %s proven equal to torch's, %d replaced by it"
        % (number["proven"], _many(number["code"], "decompiled code object"), number["replaced"]),
    ]
    most = causes(document)
    for cause in most[:3]:
        lines.append("  " + cause.text(links))
        if cause.help and len(lines) < 9:
            lines.append("            help: " + shown(" ".join(cause.help.split()))[:160])
    if len(most) > 3 and len(lines) < 9:
        lines.append("            and %d more" % (len(most) - 3))
    if document.get("open"):
        lines[0] += "; the program is still running, or was killed"
    if report:
        lines.append("depyf: " + place(report, None, links))
    return "\n".join(lines)


def breaks_text(document, links=False):
    """Each graph break once: the user's line, the reason, the compiles that met it, what torch explains and suggests."""
    found = {}
    for _, entry in all_entries(document):
        for graph_break in entry.get("breaks") or ():
            where = parse_place(graph_break.get("location") or "") or user_line(
                graph_break.get("user_stack")
            )
            head = "%s: %s" % (
                place(where[0], where[1], links) if where else "?",
                shown(" ".join(graph_break["reason"].split())),
            )
            explanation = shown(" ".join((graph_break.get("explanation") or "").split()))
            found.setdefault((head, explanation), (graph_break, []))[1].append(entry["compile_id"])
    lines = []
    for (head, explanation), (graph_break, ids) in found.items():
        lines.append("%s [%s]" % (head, ", ".join(dict.fromkeys(ids))))
        if explanation:
            lines.append("    " + explanation)
        lines.extend("    help: " + shown(hint) for hint in dict.fromkeys(graph_break.get("hints") or ()))
        if graph_break.get("url"):
            lines.append("    " + shown(graph_break["url"]))
    return "\n".join(lines) if lines else "no graph breaks"


def recompiles_text(document, links=False):
    """Each recompile: the function, the guard that failed on each earlier entry, and what usually helps."""
    lines = []
    for function, entry in all_entries(document):
        if not entry.get("reasons"):
            continue
        where = place(function["filename"], function["firstlineno"], links) if function else "?"
        lines.append(
            "%s: %s compiled again [%s], %.2f s"
            % (
                where,
                shown(function["name"]) if function else "?",
                entry["compile_id"],
                seconds(entry),
            )
        )
        for reason in entry["reasons"]:
            text, made = reason_parts(reason, function["filename"] if function else "")
            lines.append(
                "    %s%s" % (shown(text), ", guarded at " + place(made[0], made[1], links) if made else "")
            )
        advice = recompile_advice(reason_parts(entry["reasons"][0])[0])
        if advice:
            lines.append("    help: " + advice)
    return "\n".join(lines) if lines else "no recompiles"


def guards_text(document, line, links=False):
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
    lines = []
    for function, entry in all_entries(document):
        for guard in entry.get("guards") or ():
            places = [parse_place(text) for text in guard.get("user_stack") or ()]
            places += [
                (path, int(where))
                for path, where in re.findall(
                    r"([^\s#][^\s]*\.py):(\d+)", guard.get("comment") or ""
                )
            ]
            if any(
                found is not None
                and found[1] == number
                and (ending is None or os.path.normpath(found[0]).endswith(os.path.normpath(ending)))
                for found in places
            ):
                lines.append(
                    "%s [%s] %s%s"
                    % (
                        shown(function["name"]) if function else "?",
                        entry["compile_id"],
                        guard["kind"] + ": " if guard["kind"] else "",
                        shown(guard["text"]),
                    )
                )
    return "\n".join(lines) if lines else "no guards from line %s" % line
