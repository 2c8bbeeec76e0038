"""What torch prints for a graph break, read back."""

import re
from typing import Optional, Sequence, Tuple

from depyf.model import GraphBreak
from depyf.trace.frames import frames_of_text, lines_with_whole_paths, parse_place

#: what stands before the reason of a graph break: torch 2.12 and later, and where it gives the
#: function up
_BREAK_PREFACES = (
    "Encountered graph break when attempting to trace",
    "Failed to handle graph break gracefully",
)


#: what stands between a graph break and another that torch met while it handled the first
_ANOTHER_BREAK = "*** While handling this graph break, another graph break occurred: ***"


#: the place of a break; a path with line breaks ends where the reason begins
_AT = re.compile(
    r"Graph break in user code at "
    r"(.*:\d+(?=\s*$)|(?s:.{1,1000}?):\d+(?=\s*\n(?:Graph Break )?Reason:)|.*)",
    re.MULTILINE,
)


def _named_as_later(found: GraphBreak) -> GraphBreak:
    # the most frequent reason, as torch up to 2.6 calls it, by the name that it has from 2.7 on
    if found.reason == "Data-dependent jump" or found.reason.startswith("generic_jump "):
        found.reason = "Data-dependent branching"
    return found


def own_place(found: GraphBreak, filename: str, names: Sequence[str]) -> Optional[Tuple[str, int]]:
    """(file, line) at which a function reaches a break; None where torch does not tell.

    Args:
        found: the break, which may be in what the function calls.
        filename: that of the function.
        names: the function's own, and others under which torch may tell of it.
    """
    for text in reversed(found.user_stack):
        place = parse_place(text)
        if place is not None and place[0] == filename:
            if text.split("\n", 1)[0].rpartition(" in ")[2].strip() in names:
                return place
    return None


def parse_break(text: str, attempt: int) -> GraphBreak:
    """Reads what torch prints for a graph break; the reason is never empty."""
    # logging writes this where it is to print an exception and there is none
    if "NoneType: None" in text:
        text = re.sub(r"(\s*^NoneType: None$)+\s*\Z", "", text, flags=re.MULTILINE)
    found = GraphBreak(reason="", text=text.rstrip(), attempt=attempt)
    lines = lines_with_whole_paths(text)
    if lines and lines[0].startswith("Graph break: "):  # as torch 2.2 logs it
        reason, _, line = lines[0][len("Graph break: ") :].partition(" from user code at:")
        found.reason = reason.strip()
        found.user_stack = (
            [one[2:] for one in lines[1:] if one.startswith("  ")] if line == "" else []
        )
        frames = frames_of_text(text)
        found.location = "%s:%d" % frames[0][:2] if frames else ""
        return _named_as_later(found)
    at = _AT.match(text)
    if at is not None:
        found.location = at.group(1).strip()
    part, stack, another = "", False, False
    for line in lines:
        stripped = line.strip()
        if found.user_stack and line.startswith("Traceback (most recent call last):"):
            break  # Dynamo's own, with the same texts again
        if stripped == _ANOTHER_BREAK:
            part, another = "", True
        elif stripped.startswith("User code traceback:"):
            part, stack, another = "", True, False
        elif another:
            continue
        elif stripped.startswith("Graph Break Reason:"):
            part, found.reason = "reason", stripped[len("Graph Break Reason:") :].strip()
        elif stripped.startswith("Reason:") and not found.reason:  # as torch 2.6 traces it
            found.reason = re.sub(r"^Reason: (Unsupported: )?", "", stripped)
        elif stripped.startswith("Explanation:"):
            part, found.explanation = "explanation", stripped[len("Explanation:") :].strip()
        elif stripped.startswith("Hint:"):
            part = "hint"
            found.hints.append(stripped[len("Hint:") :].strip())
        elif stripped.startswith("Developer debug context:"):
            part = ""
        elif stripped.startswith("For more details about this graph break"):
            part, found.url = "", stripped.rpartition(" ")[2]
        elif stack:
            if line.startswith("  "):
                found.user_stack.append(line[2:])
            elif stripped:
                stack = False
        elif stripped and part == "reason":
            if found.reason.startswith(_BREAK_PREFACES):
                found.reason = stripped
            part = ""
        elif stripped and part == "explanation":
            found.explanation += "\n" + stripped
        elif stripped and part == "hint":
            found.hints[-1] += " " + stripped
    if not found.reason:  # but perhaps the traceback of Dynamo itself
        raised = re.search(r"^torch\._dynamo\.exc\.\w+: (.+)$", text, re.MULTILINE)
        found.reason = raised.group(1) if raised else ""
    if not found.reason:
        found.reason = next((line.strip() for line in lines if line.strip()), "unknown")
    return _named_as_later(found)
