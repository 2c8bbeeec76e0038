"""The frames of a stack and the places in a text, as Python and torch write them.

    File "path", line 12, in f       a traceback, with the code in a line of its own
    path:12 in f: code               the trace, and the stacks of a dump
    # code  # path:12 in f (...)     the comment of a guard
    path:12                          a place

A path may have blanks, quotes and line breaks in it. What reads one of these forms reads it here.
"""

import re
from functools import lru_cache
from typing import List, Match, NamedTuple, Optional, Tuple


class Frame(NamedTuple):
    """`name`: the function, "" where it is not told. `code`: the text of the line; None in a frame
    of a traceback, where it follows in a line of its own.
    """

    path: str
    line: int
    name: str
    code: Optional[str]


_OF_TRACEBACK = re.compile(
    r'\s*File "(?P<path>(?s:.+?))", line (?P<line>\d+)(?:, in (?P<name>.+))?'
)
_OF_TRACE = re.compile(r"(?P<path>(?s:.+?)):(?P<line>\d+) in (?P<name>[^:\n]+): ?(?P<code>.*)$")
#: a place that is all there is or has a function behind it; one with any text behind it. A path
#: with a line break only in the former, or a text of many lines would be a path.
_PLACES = (
    re.compile(r"(?P<path>[^\n]+?):(?P<line>\d+)(?= in \S|\Z)"),
    re.compile(r"(?P<path>[^\n]+?):(?P<line>\d+)(?![\d.])"),
    re.compile(r"(?P<path>.+?):(?P<line>\d+)(?= in \S|\Z)", re.DOTALL),
)
#: torch writes hints and places of its own in parentheses behind that of the program
_PATH = r"[^\n]{1,1000}?"
#: a path or a code with line breaks only where there is no other, and none of a stack below
_PATH_OF_LINES = r'(?:(?!\n *File ")(?s:.)){1,1000}?'
_OF_COMMENT = tuple(
    re.compile("# ?%s(?P<path>%s):(?P<line>\\d+) in (?P<name>[^\\s(][^\\n(]*)" % form)
    for form in (
        (r"(?P<code>.*)  # ", _PATH),
        (r"(?P<code>.*)  # ", _PATH_OF_LINES),
        (r'(?P<code>(?:(?!\n *File ")(?s:.)){1,1000})  # ', _PATH),
        ("(?P<code>)", _PATH),
        ("(?P<code>)", _PATH_OF_LINES),
    )
)
#: a place behind code, with more in parentheses behind it
_BEHIND_CODE = re.compile(r"  # [^\n]{1,1000}?:\d+ in [^\s(]+ \(")
#: of a comment that is searched; a line of a program and its path are shorter
_LONGEST_COMMENT = 8000
_LINE_OF_FRAME = re.compile(r'", line \d+')
#: how many lines a path may have
_MOST_LINES = 8


def parse_frame(text: str) -> Optional[Frame]:
    """The frame that a text begins with, as a traceback or the trace has it; None for others."""
    match = _OF_TRACEBACK.match(text)
    if match is not None:
        return Frame(match["path"], int(match["line"]), (match["name"] or "").strip(), None)
    match = _OF_TRACE.match(text)
    if match is not None:
        return Frame(match["path"], int(match["line"]), match["name"], match["code"])
    return None


def parse_place(text: str) -> Optional[Tuple[str, int]]:
    """(path, line) of 'File "path", line N...' or 'path:N...'; None where no place is named."""
    frame = parse_frame(text)
    if frame is not None:
        return frame.path, frame.line
    match = next(filter(None, (one.match(text) for one in _PLACES)), None)
    return (match["path"], int(match["line"])) if match else None


def parse_comment(comment: str) -> Optional[Frame]:
    """The line of the program in the comment of a guard, which begins with a `#`; None where it
    has none. Torch may cut the path from the front.
    """
    match = _match_comment(comment)
    if match is None:
        return None
    return Frame(match["path"], int(match["line"]), match["name"].strip(), match["code"])


def places_of_comment(comment: str) -> List[Tuple[str, int]]:
    """(path, line) of that line, and of the one that torch names in parentheses behind it."""
    match = _match_comment(comment)
    if match is None:
        return []
    behind = re.compile(r" \((?P<path>[^\n]+?):(?P<line>\d+) in ").match(comment, match.end() - 1)
    return [(one["path"], int(one["line"])) for one in (match, behind) if one is not None]


def with_path(comment: str, path: str) -> str:
    """The comment of a guard with another path in its place."""
    match = _match_comment(comment)
    if match is None:
        return comment
    return comment[: match.start("path")] + path + comment[match.end("path") :]


def _match_comment(comment: str) -> Optional["Match[str]"]:
    comment = comment[:_LONGEST_COMMENT]
    # torch joins the comments of two guards with "and"
    first = _BEHIND_CODE.search(comment) if ") and " in comment else None
    end = comment.find(") and ", first.end()) if first is not None else -1
    if end >= 0 and _BEHIND_CODE.search(comment, end):
        comment = comment[: end + 1]
    return next(filter(None, (one.match(comment) for one in _OF_COMMENT)), None)


@lru_cache(maxsize=64)  # many nodes of a graph have one stack
def frames_of_text(text: str) -> Tuple[Frame, ...]:
    """The frames of a traceback as text, outermost first; the code is None where none is there."""
    found: List[Frame] = []
    for line in lines_with_whole_paths(text):
        frame = parse_frame(line) if line.lstrip().startswith('File "') else None
        if frame is not None:
            found.append(frame)
        elif found and not found[-1].code and line.strip(" ^~"):
            found[-1] = found[-1]._replace(code=line.strip())
    return tuple(found)


def lines_with_whole_paths(text: str) -> List[str]:
    """The lines of a text; that of a frame whose path has line breaks is one, with these in it."""
    lines = text.splitlines()
    if not any(map(_begins_a_path, lines)):
        return lines
    pieces, whole, at = text.splitlines(True), [], 0
    while at < len(pieces):
        last = at
        if _begins_a_path(pieces[at]):
            following = range(at + 1, min(at + _MOST_LINES, len(pieces)))
            end = next((one for one in following if _LINE_OF_FRAME.search(pieces[one])), at)
            if not any(one.lstrip().startswith('File "') for one in pieces[at + 1 : end + 1]):
                last = end
        whole.append("".join(pieces[at:last]) + lines[last])
        at = last + 1
    return whole


def _begins_a_path(line: str) -> bool:
    """Whether a line names a file, and the name does not end in it."""
    return line.lstrip().startswith('File "') and not _LINE_OF_FRAME.search(line)
