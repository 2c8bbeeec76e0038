"""Which functions and compiles of two runs belong together."""

import difflib
import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from depyf.difference.normal_form import normal
from depyf.difference.texts import Texts
from depyf.schema import Document
from depyf.trace.names import resume_title, resumed


def name_of(function: Document) -> str:
    """What a function is called in each run."""
    name = function["name"]
    title = resume_title(name, function.get("qualname") or "", function["firstlineno"])
    return title or normal(name)


def _lines_resumed(document: Document) -> Dict[int, Tuple[str, int]]:
    """For each resume function of a run, by id: the line after which it goes on, as text, and its
    number in the function that it is the rest of; ("", 0) for one whose source is not there.
    """
    origins: Dict[Tuple[str, str], List[Document]] = {}
    for function in document["functions"]:
        if not function["is_resume"] and function.get("source_origin") == "file":
            name = function.get("qualname") or function["name"]
            origins.setdefault((name, function["filename"]), []).append(function)
    found = {}
    for function in document["functions"]:
        parent, line = resumed(function["name"])
        if not parent:
            continue
        line = line or function["firstlineno"]
        found[id(function)] = "", 0
        for origin in origins.get((function.get("qualname") or parent, function["filename"]), ()):
            lines, number = origin["source"].splitlines(), line - origin["firstlineno"]
            if 0 <= number < len(lines):
                found[id(function)] = lines[number].strip(), number
    return found


def _owner(function: Document) -> str:
    """The class of a method; "" for any other function."""
    owner = str(function.get("qualname") or "").rpartition(".")[0].rpartition(".")[2]
    return "" if owner == "<locals>" else owner


def _may_be_one(a: Document, b: Document) -> bool:
    """Whether two functions of one name can be one function in two runs. Methods of classes with
    different names are, if more than half of their lines are the same: the class was renamed.
    """
    if _owner(a) == _owner(b) or not (_owner(a) and _owner(b)):
        return True
    left, right = (str(one.get("source") or "").splitlines() for one in (a, b))
    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio() > 0.5


def pair_functions(a: Document, b: Document) -> List[Tuple[Optional[Document], Optional[Document]]]:
    """Pairs of functions, (function, None) and (None, function) for those of one side, in the order
    of A, then of B.

    Resume functions belong together that go on after the same line of their function: the same
    text, else, where a line was edited, the same number in it. Other functions belong together by
    qualified name, else by name.
    """

    def keyed(document: Document, key: Callable[[Document], Any]) -> Dict[Any, List[Document]]:
        found: Dict[Any, List[Document]] = {}
        for function in document["functions"]:
            given = key(function)
            if given is not None:
                found.setdefault(given, []).append(function)
        return found

    lines = _lines_resumed(a)
    lines.update(_lines_resumed(b))

    def after_text(function: Document) -> Any:
        text, number = lines.get(id(function), ("", 0))
        return (_parent(function), text, number) if text else None

    def after_moved_text(function: Document) -> Any:
        text, _ = lines.get(id(function), ("", 0))
        return (_parent(function), text) if text else None

    def after_line(function: Document) -> Any:
        text, number = lines.get(id(function), ("", 0))
        return (_parent(function), number) if text else None

    def plain(key: Callable[[Document], Any]) -> Callable[[Document], Any]:
        # the number in the name of a resume function is that of a line, which says nothing alone
        return lambda function: None if lines.get(id(function), ("", 0))[0] else key(function)

    def named(function: Document) -> Tuple[str, str]:
        return str(function.get("qualname") or ""), name_of(function)

    partner: Dict[int, Document] = {}
    taken: Set[int] = set()
    keys: Tuple[Callable[[Document], Any], ...] = (
        after_text,
        after_moved_text,
        after_line,
        plain(lambda f: (*named(f), os.path.basename(f["filename"]), f["firstlineno"])),
        plain(lambda f: (*named(f), os.path.basename(f["filename"]))),
        plain(named),
        plain(lambda f: (name_of(f), os.path.basename(f["filename"]))),
        plain(name_of),
    )
    for key in keys:
        there = keyed(b, key)
        for function in a["functions"]:
            if id(function) in partner:
                continue
            for candidate in there.get(key(function), ()):
                if id(candidate) not in taken and _may_be_one(function, candidate):
                    partner[id(function)] = candidate
                    taken.add(id(candidate))
                    break
    pairs: List[Tuple[Optional[Document], Optional[Document]]] = [
        (function, partner.get(id(function))) for function in a["functions"]
    ]
    return pairs + [(None, function) for function in b["functions"] if id(function) not in taken]


def _parent(function: Document) -> Tuple[str, str]:
    name = function.get("qualname") or resumed(function["name"])[0]
    return name, os.path.basename(function["filename"])


def pair_entries(
    texts_a: Texts, texts_b: Texts, a: List[Document], b: List[Document]
) -> Iterator[Tuple[Optional[Document], Optional[Document]]]:
    """Pairs of compiles, with None for one that only one side has: those that made the same graph
    under the same guards, and those between them in their order.
    """

    def signature(texts: Texts, entry: Document) -> Tuple[Optional[str], Tuple[str, ...]]:
        return (texts.graph(entry), tuple(texts.guards(entry)))

    left = [signature(texts_a, entry) for entry in a]
    right = [signature(texts_b, entry) for entry in b]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for _, a0, a1, b0, b1 in matcher.get_opcodes():
        for offset in range(max(a1 - a0, b1 - b0)):
            yield (
                a[a0 + offset] if a0 + offset < a1 else None,
                b[b0 + offset] if b0 + offset < b1 else None,
            )
