"""A run in a few lines: what was compiled, what it cost, what to change."""

import os
import re
import textwrap
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from depyf.schema import Document
from depyf.summary.breaks import plain
from depyf.summary.counting import counts, graph_breaks, many
from depyf.summary.ranks import rank_of
from depyf.terminal import place

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
            many(number["compiles"], "compile"),
            _functions(number),
            number["seconds"],
            _came_to_nothing(number),
        ),
        "       %s, %s%s"
        % (
            graph_breaks(number["breaks"], number["break_lines"]),
            many(number["recompiles"], "recompile"),
            _cached(number["hits"], number["misses"]),
        ),
    ]
    if number["code"]:  # a log of TORCH_TRACE has none
        code = many(number["code"], "decompiled code object")
        lines.append(
            "       %d of %s proven equal to torch's; torch runs %d of them%s%s"
            % (
                number["proven"],
                code,
                number["replaced"],
                ", and no longer tries %d" % number["skipped"] if number["skipped"] else "",
                ", %d of another block of the program" % number["inner"] if number["inner"] else "",
            )
        )
    from depyf import advise

    advice = advise.Advice(document) if advice is None else advice
    gone = advise.uncompiled(advice.nodes, links)
    lines[1:1] = ["       runs uncompiled: " + gone] * bool(gone)
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
            "the dump is incomplete: " + plain(str(stopped))
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
        kind if "." in kind else "%s (%s)" % (kind, many(kinds[kind], "file"))
        for kind in dict.fromkeys(kind for _, kind in _KINDS)
        if kind in kinds
    ]
    reasons = ", ".join(dict.fromkeys(files.values()))
    return "%s; missing: %s" % (reasons, ", ".join(listed)) if listed else ""


def _functions(number: Dict[str, Any]) -> str:
    """The functions that were compiled, those of libraries apart."""
    library, own = number["library"], number["functions"] - number["library"]
    if not library:
        return many(own, "function")
    if not own:
        return many(library, "function") + " of libraries"
    return "%s and %d of libraries" % (many(own, "function"), library)


def _came_to_nothing(number: Dict[str, Any]) -> str:
    """The compiles that made no code, in words; those without anything to compile where no other
    made any.
    """
    told = ", %d of them failed" % number["failures"] if number["failures"] else ""
    if number["empty"] and number["empty"] + number["failures"] == number["compiles"]:
        told += ", %d of them had nothing to compile" % number["empty"]
    return told


def _cached(hits: int, misses: int) -> str:
    if not hits and not misses:  # the backend asks no cache
        return ""
    return "; torch's caches of compiled graphs: %s, %d miss%s" % (
        many(hits, "hit"),
        misses,
        "" if misses == 1 else "es",
    )


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
        textwrap.shorten(plain(words), 300, placeholder=_CUT).rstrip("." if more else ""),
        more,
    )
    helps = helps or (found["help"] or [""])[0]
    if helps:
        return line, plain("help: " + helps)
    hints = [plain("torch's hint: " + text) for text in found.get("hints") or ()]
    return line, textwrap.shorten(hints[0], 300, placeholder=_CUT) if hints else ""
