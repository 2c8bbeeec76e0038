"""The frames of a stack: which are the reader's own lines, and what those call."""

import ast
import os
import re
from functools import lru_cache
from typing import Any, Iterable, List, Sequence, Tuple

from depyf import compiling
from depyf.advice import uses
from depyf.terminal import on_one_line
from depyf.trace.frames import parse_frame

#: files of Python's own library, and what torch puts in the place of some of its functions
_OF_PYTHON = re.compile(
    r"[/\\]lib[/\\]python\d+\.\d+[/\\](?!(site|dist)-packages)|[/\\]_dynamo[/\\]polyfills[/\\]"
    r"|^<frozen [\w.]+>$"
)
_MARKS = re.compile(r"^\s*[\^~]+\s*$")


def call_of(stack: Sequence[str], name: str = "") -> Tuple[str, bool]:
    """(what the innermost frame that is not Python's own library calls, as it is written, or "";
    whether there are frames of that library inside). `name` is the last part of the called
    function's, where torch tells it.
    """
    frames, inside = _calling_frames(stack)
    marked = any(_MARKS.match(text) for text in stack)
    return (_called(*frames[-1][1:], whole=marked, name=name) if frames else ""), inside


def in_others_library(filename: str, stack: Sequence[str]) -> bool:
    """Whether the line that broke stands in an installed package, and is not a call of the reader's
    of Python's own library.

    Args:
        filename: of the break.
        stack: its frames, as a traceback has them.
    """
    frames = _calling_frames(stack)[0]
    return in_library(frames[-1][0] if frames else filename)


def _calling_frames(stack: Sequence[str]) -> Tuple[List[Tuple[str, str, str]], bool]:
    """(file, code and marks below it of each frame up to the innermost that is not Python's own
    library, whether there are frames of that library inside).
    """
    frames: List[Tuple[str, str, str]] = []
    for index, text in enumerate(stack):
        frame = parse_frame(text)
        if frame is not None and frame.code is None:
            below = [one for one in stack[index + 1 : index + 3] if parse_frame(one) is None]
            marks = below[1] if len(below) > 1 and _MARKS.match(below[1]) else ""
            frames.append((frame.path, below[0] if below else "", marks))
    inside = False
    while frames and _OF_PYTHON.search(frames[-1][0]):
        frames.pop()
        inside = True
    return frames, inside


#: ends of calls in one line that are tried
_MOST_ENDS = 12


@lru_cache(maxsize=256)
def _called(code: str, marks: str, whole: bool, name: str = "") -> str:
    """The function, a name with attributes, that a line calls at the marks that a traceback has
    below it; without marks, that of its only call, or of its only call of `name`.

    Args:
        whole: no marks means all of the line, as from CPython 3.11 on.
    """
    first = len(marks) - len(marks.lstrip())
    part = code[first : len(marks.rstrip())] if marks else code.strip()
    # torch knows where a call begins, and its marks may go on to the end of the line
    ends = [place + 1 for place, letter in enumerate(part) if letter == ")"][::-1]
    shorter = [part[:end] for end in ends[:_MOST_ENDS]] if marks else []
    # the marks of a condition may go on to the colon behind it
    bare = part[:-1] if part.endswith(":") else part
    for text in [bare, part.rstrip(":") + ": pass"] + shorter:
        try:
            tree = compiling.places_of(text.strip())
        except (SyntaxError, ValueError):
            continue
        calls = [node for node in compiling.walk(tree) if isinstance(node, ast.Call)]
        named = [node for node in calls if uses.path_of(node.func).rpartition(".")[2] == name]
        if len(named) == 1:
            calls = named
        elif marks or whole:
            calls = calls[:1]  # the outermost
        if len(calls) == 1:
            return uses.path_of(calls[0].func)
    return ""


_LIBRARY = re.compile(
    r"[/\\]torch[/\\](nn|optim|utils|autograd|distributed|_dynamo|_functorch|_inductor)[/\\]|"
    r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python\d+\.\d+[/\\]|^<|[/\\]depyf[/\\](cli"
    r"|launch([/\\]\w+)?|__main__)\.py$|[/\\]bin[/\\][^/\\.]+$"
    r"|[/\\]__transformed_code_\d+_for_[^/\\]*$"
)


_DUMPED = re.compile(r"[/\\]__transformed_code_\d+_for_")


def is_dumped(text: str) -> bool:
    """Whether a text names a file of a dump, as the record of a logger does that looks for the file
    of its caller: without depyf it names the program's.
    """
    return bool(_DUMPED.search(text))


def in_library(filename: str) -> bool:
    """Whether a file is Python's own, an installed package's or a dumped one, and so not what the
    reader wrote.
    """
    return bool(_LIBRARY.search(filename))


#: file, line, code
Line = Tuple[str, int, str]
#: lines on the way to a break that are named
_WAY = 6


def way_to(filename: str, line: int, stack: List[str]) -> Tuple[Line, str]:
    """(the reader's line that led to a break elsewhere, all of the reader's lines on the way there,
    in words); ("", 0, "") and "" where the reader's own file is the only one.

    Args:
        filename, line: of the break.
        stack: its frames, as a traceback has them.
    """
    way = users_frames(stack)
    if way and way[-1][:2] == (filename, line):
        way.pop()
    others = [frame for frame in way if frame[0] != filename]
    if not others:
        return ("", 0, ""), ""
    named = [short_place(*one[:2]) for one in way]
    if len(named) > _WAY:
        named[_WAY // 2 : -(_WAY // 2)] = ["…"]
    return others[-1], "reached by way of " + ", ".join(named) if len(way) > 1 else ""


def users_line(stack: Iterable[Any]) -> Line:
    """(file, line, code) of the innermost frame of a stack that is no library's; ("", 0, "") where
    there is none.

    Args:
        stack: lines as a traceback has them, or as the `user_stack` of an entry, outermost first.
    """
    found = users_frames(stack)
    return found[-1] if found else ("", 0, "")


def frame_places(stack: Iterable[Any]) -> List[Tuple[str, int]]:
    """(file, line) of each frame of a stack, outermost first."""
    return [frame[:2] for frame in map(parse_frame, map(str, stack)) if frame is not None]


def users_frames(stack: Iterable[Any]) -> List[Line]:
    """(file, line, code) of each frame of a stack that is no library's, outermost first."""
    found: List[Line] = []
    stack = [str(text) for text in stack]
    for text, following in zip(stack, stack[1:] + [""]):
        frame = parse_frame(text)
        if frame is not None and not in_library(frame.path):
            code = frame.code if frame.code is not None else following.strip()
            code = code if not code.startswith('File "') else ""
            found.append((frame.path, frame.line, code))
    return found


def short_place(file: str, line: int) -> str:
    """`model.py:12` of a file in whatever folder."""
    return "%s:%d" % (on_one_line(os.path.basename(file)), line)


def split_location(location: str) -> Tuple[str, int]:
    """`file:12` as (file, 12); the line is 0 where there is none."""
    head, separator, tail = location.rpartition(":")
    if separator and tail.strip().isdigit():
        return head, int(tail)
    return location, 0


def last_code(stack: Iterable[str]) -> str:
    """The code of a stack's innermost frame; "" where its file is not there, as of code of exec."""
    for line in reversed(list(stack)):
        text = line.strip()
        if text.startswith('File "'):
            return ""
        if text and text.strip("^~ "):
            return text
    return ""
