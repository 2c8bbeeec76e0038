"""README.md of a dump: what to change, what runs, what was compiled, what is missing and why."""

import re
from typing import Dict, List, Sequence

from depyf.interrupts import pass_on
from depyf.model import Run
from depyf.report import flow, words
from depyf.report.overview import Node
from depyf.terminal import on_one_line, shown
from depyf.torch.dump.folder import TITLE
from depyf.torch.dump.readme_compile import overview_entry
from depyf.torch.dump.readme_lines import in_columns
from depyf.torch.dump.readme_texts import (
    BACKWARD_PASSES,
    FROM_FILES,
    HOW_TO_READ,
    NOT_ENDED,
    PATCHES,
    RESET,
    RUNS,
    WARNED,
    as_code,
    figures,
    kinds_of_files,
    names_of_torch,
)

#: characters of an exception that are shown
_ERROR = 200
#: where a resume function begins: which side of a branch it is
_GOES_ON = re.compile(
    r", (from (?:the end of the `with` of )?line \d+ on|with the rest of that line first|"
    r"where nothing is left to do)"
)


def overview(
    run: Run, nodes: Dict[int, Node], advised: Sequence[str] = (), ended: bool = True
) -> str:
    """README.md of a dump: what to change, what runs uncompiled, what was compiled, which files
    tell of it, what is missing and why.

    Args:
        nodes: of the entries, by their ids.
        advised: what to change, as `depyf.advise.Advice.brief` gives it.
        ended: whether the block has ended.
    """
    names = run.resume_names()
    lines = [
        TITLE,
        "",
        "torch %s, Python %s" % (run.torch_version, run.python_version),
        "",
        HOW_TO_READ,
        "",
    ]
    if not ended:
        lines += [NOT_ENDED, ""]
    if any(entry.replaced for entry in run.entries()):
        warns = any(".warn(" in entry.source for entry in run.entries() if entry.replaced)
        lines += [FROM_FILES + "\n" + WARNED if warns else FROM_FILES, ""]
    if any(entry.compile_id.startswith("!") for entry in run.entries()):
        lines += [BACKWARD_PASSES, ""]
    if run.error:
        what, where = words.of_exception(run.raised_at)
        lines += ["The block ended with %s: %s" % (what, _on_one_line(run.error)), ""]
        lines += [where, ""] * bool(where)
    if any(node.reset for node in nodes.values()):
        lines += [RESET, ""]
    if advised:
        lines += ["## What to change first", "", *advised, "", PATCHES, ""]
        lines += [figures(advised), ""] * bool(figures(advised))
    lines += _what_runs(run, nodes)
    if run.unattributed:
        lines += ["## Compiles that made no code for a function", ""]
        for entry in run.unattributed:
            lines.extend(overview_entry(entry, nodes.get(id(entry))))
    lines += names_of_torch(run) + kinds_of_files(run)
    for function in run.functions:
        node = nodes.get(id(function.entries[0])) if function.entries else None
        lines.append("## %s" % as_code(function.title + (node.apart if node is not None else "")))
        lines.append("")
        where = on_one_line(function.where)
        if function.is_resume:
            called = ", ".join(map(as_code, names.get(function.global_name or "", ())))
            goes_on = _GOES_ON.search(function.entries[0]._goes_on) if function.entries else None
            where = "the rest of a function after a graph break, %s%s%s" % (
                where,
                ", " + goes_on.group(1) if goes_on is not None else "",
                ", called as " + called if called else "",
            )
        lines.append(where)
        if function.path:
            lines.append("all in one file: [%s](%s)" % (function.path, function.path))
        lines.append("")
        if function.given_up:
            said = words.from_then_on(function.given_up, len(function.entries))
            lines += [said[0].upper() + said[1:], ""]
        for entry in function.entries:
            lines.extend(overview_entry(entry, nodes.get(id(entry)), function))
    for found in run.nonfinite:
        name = as_code(found["function"]) if found["function"] else "the program"
        lines += ["## NaN and infinity in " + name, "", "```text", found["text"], "```", ""]
    if run.problems:
        lines += ["## What depyf could not do", ""]
        told = (
            "- %s: %s" % (problem.where, " ".join(problem.message.split()))
            for problem in run.problems
        )
        lines += dict.fromkeys(told)  # a write is tried again when the block is left
        lines.append("")
    if run.unavailable:
        lines += ["## What this torch does not offer", ""]
        lines += ["- %s: %s" % (name, reason) for name, reason in sorted(run.unavailable.items())]
        lines.append("")
    return "\n".join(in_columns(lines))


def _what_runs(run: Run, nodes: Dict[int, Node]) -> List[str]:
    """Which function calls which, as text; [] where that is not known."""
    known = [nodes[id(entry)] for entry in run.entries() if id(entry) in nodes]
    try:
        rows = flow.in_text(known)
    except Exception:
        pass_on()
        return []
    return ["## What runs", "", RUNS, "", "```text", *rows, "```", ""] * bool(rows)


def _on_one_line(text: str) -> str:
    line = shown(" ".join(text.split()))
    return line if len(line) <= _ERROR else line[: _ERROR - 1] + "…"
