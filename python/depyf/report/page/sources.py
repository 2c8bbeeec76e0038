"""The source of a compile, as the page shows it."""

import re
from typing import Any, Dict, List, Optional, Tuple

from depyf.report.overview import Node
from depyf.schema import Document

#: file and name -> functions whose source is known
Parents = Dict[Tuple[Any, Any], List[Document]]


def source_line(place: str, node: Node, source: Tuple[int, int]) -> Optional[int]:
    """The line of "file:line" where it is one of the source that the page shows of a compile.

    Args:
        source: the numbers of the source's first line and of the line behind its last one.
    """
    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal():
        return None
    file = str(node.place[0])  # that of a profile is relative to where the program ran
    if file != path and not file.endswith("/" + path):
        return None
    return int(number) if source[0] <= int(number) < source[1] else None


def functions_with_source(runs: List[Document]) -> Parents:
    """File and name -> functions whose source is known, for the resume functions made of them."""
    found: Parents = {}
    for run in runs:
        for function in run.get("functions", ()):
            if (
                not function.get("is_resume")
                and function.get("source")
                and function.get("source_origin") == "file"
            ):
                found.setdefault((function.get("filename"), function.get("name")), []).append(
                    function
                )
    return found


def source_of(node: Node, parents: Parents) -> Tuple[str, int, str]:
    """The source of a compile, its first line's number, and where the text is from."""
    function = node.function
    if function is None:
        return "", 0, ""
    if node.is_resume:
        candidates = parents.get((function.get("filename"), node.title), ())
        line = node.resumes_at
        fitting = [
            one
            for one in candidates
            if one["firstlineno"] <= line < one["firstlineno"] + one["source"].count("\n") + 1
        ]
        if fitting:
            parent = max(fitting, key=lambda one: one["firstlineno"])
            return parent["source"], parent["firstlineno"], "file"
    if function.get("source_origin") == "file":
        return function.get("source") or "", int(function.get("firstlineno") or 1), "file"
    if not function.get("source"):
        return _named_lines(node)
    return function.get("source") or "", 1, function.get("source_origin") or ""


_NAMED = re.compile(r"^\s*# File: (.+?):(\d+)(?: in [^,]+)?, code: (.*)$", re.MULTILINE)


def _named_lines(node: Node) -> Tuple[str, int, str]:
    """Where the source is not known: the lines of it that torch names, at their numbers."""
    filename = node.place[0]
    lines = {
        found["line"]: found["source"]
        for found in node.breaks
        if found["file"] == filename and found["line"]
    }
    for artifact in node.entry.get("artifacts") or ():
        if artifact.get("kind") == "graph":
            for name, line, code in _NAMED.findall(artifact.get("text") or ""):
                if name == filename:
                    lines[int(line)] = code
    if not lines or max(lines) - min(lines) > 2000:
        return "", 0, ""
    first = min(lines)
    return (
        "\n".join(lines.get(line, "") for line in range(first, max(lines) + 1)) + "\n",
        first,
        "lines",
    )
