"""What two runs of a program print, compared."""

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

#: a number that is no part of a name, and an address, which no two runs share
_NUMBER = re.compile(
    r"0x[0-9a-fA-F]+|(?<![\w.])[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan\b|inf\b)"
)
#: numbers with a point may differ by so much of their size: compiled code rounds otherwise
_CLOSE = 1e-4
#: and by one of the last digit that is printed, if that is so little of their size
_ROUNDED = 1e-2

#: a line of standard error that torch's log, depyf or Python's traceback begins; what is indented
#: below the latter two belongs to it
_OF_TORCH = re.compile(r"^(\[rank\d+\]:\s*)?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ")
_BLOCK = re.compile(r"^depyf: |^Traceback \(most recent call last\):")
#: a warning as Python's `warnings` writes it; below it stands its line of source, indented
_WARNING = re.compile(r"^(?P<place>.+?:)\d+: (?P<what>\w*Warning: .*)$")
_WARNS = re.compile(r"\bwarn\w*\(")
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
#: a progress bar, which is written as often as time allows
_PROGRESS = re.compile(r"\d%\||\d ?(it/s|s/it)\b")


class Difference(NamedTuple):
    """What differs between two outputs."""

    #: the first line that differs, from 1; None for none
    line: Optional[int]
    #: that line in each, None where one has ended
    one: Optional[str]
    other: Optional[str]
    #: how far numbers differ, as a part of their size
    largest: float
    #: how many numbers were not compared
    apart: int


#: what differs between two runs of the same program: lines, and numbers in a line
Varying = Dict[int, Optional[Set[int]]]


def varying(one: Sequence[str], other: Sequence[str]) -> Optional[Varying]:
    """What differs between two runs of the same program; None where they differ in length.

    Returns:
        By the number of a line from 0: which of its numbers differ, or None where its words do.
    """
    if len(one) != len(other):
        return None
    found: Varying = {}
    for at, pair in enumerate(zip(one, other)):
        (words, numbers), (others, of_other) = map(_parts, pair)
        if words != others:
            found[at] = None
            continue
        apart = {k for k, two in enumerate(zip(numbers, of_other)) if _distance(*two) is None}
        if apart:
            found[at] = apart
    return found


def difference(one: Sequence[str], other: Sequence[str], known: Varying) -> Difference:
    """Where two outputs differ first.

    Numbers with a decimal point are the same within one part in 10,000 of their size, or one of the
    last digit that is printed where this is less than one part in 100.

    Args:
        known: what differs from run to run without a change; it is not compared.
    """
    largest, apart = 0.0, 0
    for at, pair in enumerate(zip(one, other)):
        ignored = known.get(at, set())
        if ignored is None:
            apart += 1
            continue
        (words, numbers), (others, of_other) = map(_parts, pair)
        if words != others:
            return Difference(at + 1, pair[0], pair[1], largest, apart)
        for k, two in enumerate(zip(numbers, of_other)):
            if k in ignored:
                apart += 1
                continue
            distance = _distance(*two)
            if distance is None:
                return Difference(at + 1, pair[0], pair[1], largest, apart)
            largest = max(largest, distance)
    if len(one) != len(other):
        at = min(len(one), len(other))
        first, second = (lines[at] if at < len(lines) else None for lines in (one, other))
        return Difference(at + 1, first, second, largest, apart)
    return Difference(None, None, None, largest, apart)


def own_lines(errors: Sequence[str]) -> List[str]:
    """The lines of standard error that the program itself writes: not those of torch's log, of
    depyf, of tracebacks and of progress bars, nor warnings that no line of the program's source
    asks for. A patch moves lines, so that the number of a warning's line is left out.
    """
    kept: List[str] = []
    at = 0
    while at < len(errors):
        line, at = errors[at], at + 1
        warning = _WARNING.match(line)
        if warning is not None:
            source = errors[at] if at < len(errors) and errors[at].startswith("  ") else ""
            at += bool(source)
            if _WARNS.search(source) and not _INSTALLED.search(warning.group("place")):
                kept.append(warning.group("place") + " " + warning.group("what"))
        elif _BLOCK.match(line):
            while at < len(errors) and errors[at].startswith("  "):
                at += 1
        elif not (_OF_TORCH.match(line) or _PROGRESS.search(line)):
            kept.append(line)
    return kept


def _parts(line: str) -> Tuple[List[str], List[str]]:
    """The words of a line, and the numbers between them."""
    return _NUMBER.split(line), _NUMBER.findall(line)


def _distance(one: str, other: str) -> Optional[float]:
    """How far two numbers are apart, as a part of their size; None where they are not the same."""
    if one == other or (one[:2] == other[:2] == "0x"):
        return 0.0
    texts = one, other
    if not all("." in text or "e" in text.lower() for text in texts):
        return None  # whole numbers, nan and inf are exact
    if any("0x" in text for text in texts):
        return None
    a, b = map(float, texts)
    gap, size = abs(a - b), max(abs(a), abs(b))
    digits = max(_last_digit(text) for text in texts)
    if gap <= _CLOSE * size or gap <= min(digits * 1.5, _ROUNDED * size):
        return gap / size if size else 0.0
    return None


def _last_digit(text: str) -> float:
    """What one of the last digit of a number is worth."""
    digits, _, exponent = text.lower().partition("e")
    power = int(exponent or 0) - len(digits.partition(".")[2])
    return 10.0 ** max(-300, min(power, 300))
