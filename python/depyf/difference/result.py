"""The differences of two runs, and their text."""

from typing import Dict, List, Optional, Sequence, Tuple

from depyf.terminal import place, shown

#: a file of the user's program and a line in it
Place = Tuple[str, int]


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
