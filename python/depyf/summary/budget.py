"""What a run has more of than is allowed."""

import textwrap
from typing import List, Optional, Sequence

from depyf.schema import Document
from depyf.summary.breaks import breaks_text
from depyf.summary.counting import all_entries, counts, graph_breaks, lines_of, many
from depyf.summary.recompiles import recompiles_text


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
        counted = graph_breaks(len(found), lines_of(found))
        over.append("%s, %d allowed%s" % (counted, breaks, _below(text)))
    if recompiles is not None and number["recompiles"] > recompiles:
        text = "" if "recompiles" in told else recompiles_text(document)
        over.append(
            "%s, %d allowed%s" % (many(number["recompiles"], "recompile"), recompiles, _below(text))
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
