"""What a run has, in numbers: compiles, functions, breaks and their lines."""

from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

from depyf.schema import Document, seconds
from depyf.trace.frames import parse_place


def all_entries(document: Document) -> Iterator[Tuple[Optional[Document], Document]]:
    """(function or None, entry) for every compile of a run, in order of compilation within each
    function.
    """
    for function in document["functions"]:
        for entry in function["entries"]:
            yield function, entry
    for entry in document["unattributed"]:
        yield None, entry


def user_line(
    document_or_stack: Any, fallback: Optional[Tuple[str, int]] = None
) -> Optional[Tuple[str, int]]:
    """(path, line) of the innermost frame of a stack as text lines, or `fallback`."""
    for text in reversed(document_or_stack or []):
        found = parse_place(text)
        if found is not None:
            return found
    return fallback


def _failed_function(entry: Document) -> Optional[Tuple[Any, ...]]:
    """(name, file, line) of the function of a compile that came to nothing, None where torch does
    not tell, and for the rest of a function after a break.
    """
    from depyf.trace.names import resumed

    metrics = entry.get("metrics") or {}
    if resumed(metrics.get("co_name"))[0]:
        return None
    found = metrics.get("co_name"), metrics.get("co_filename"), metrics.get("co_firstlineno")
    return found if all(found) else None


def _is_empty(entry: Document) -> bool:
    """Whether torch traced a function to its end and found nothing to compile."""
    made = ("name", "failure", "breaks", "artifacts")
    return bool(entry.get("metrics")) and not any(entry.get(one) for one in made)


def _by_a_block(entry: Document) -> bool:
    return str(entry.get("replaced_by") or "").startswith("the block that writes to ")


def break_lines(entries: Iterable[Document]) -> int:
    """At how many lines of the user's the graph breaks of these compiles are: a line counts once,
    however many compiles met it. Breaks whose line is not known count as one.
    """
    return lines_of(one for entry in entries for one in entry.get("breaks") or ())


def lines_of(breaks: Iterable[Document]) -> int:
    """At how many lines these graph breaks are."""
    return len({place_of_break(one, None) for one in breaks})


def place_of_break(graph_break: Document, said: Optional[Document]) -> Optional[Tuple[str, int]]:
    """(path, line) of a graph break; `said`: what `words.of_break` says of it, where known."""
    from depyf.report import words

    said = said or words.of_break(graph_break)
    if said["line"]:
        return said["file"], said["line"]
    return user_line(graph_break.get("user_stack"))


def graph_breaks(breaks: int, lines: int) -> str:
    """A count of graph breaks in words, with that of their lines where it is another."""
    return many(breaks, "graph break") + (" at %s" % many(lines, "line") if lines != breaks else "")


def counts(document: Document) -> Dict[str, Any]:
    """Numbers of a run: compiles, functions (`library`: those of libraries among them), breaks,
    their lines, recompiles, failures, compiles that found nothing to compile, cache hits and
    misses, seconds, decompiled code, replaced, those that torch ran and then skipped, replaced by
    another block, proven.
    """
    from depyf.report import words

    entries = list(all_entries(document))
    caches = [event for _, entry in entries for event in entry.get("cache") or ()]
    with_code = [entry for _, entry in entries if entry.get("name")]
    skipped = [
        entry
        for function in document["functions"]
        for entry in function["entries"]
        if entry.get("name") and entry["replaced"] and words.skipped_by(function)
    ]
    failed = {_failed_function(entry) for entry in document["unattributed"]} - {None}
    whole = {
        (one["name"], one["filename"], one["firstlineno"])
        for one in document["functions"]
        if not one["is_resume"]
    }
    files = [one[1] for one in failed - whole if one]
    files += [one["filename"] for one in document["functions"] if not one["is_resume"]]
    return {
        "functions": len(files),
        "library": sum(
            # code that a program makes of a text is in no file
            1
            for filename in files
            if words.in_library(filename) and not filename.startswith("<")
        ),
        "compiles": len(entries),
        "breaks": sum(len(entry.get("breaks") or ()) for _, entry in entries),
        "break_lines": break_lines(entry for _, entry in entries),
        "recompiles": sum(
            1
            for _, entry in entries
            if entry.get("reasons") and not words.is_limit(entry.get("failure"))
        ),
        "failures": sum(1 for _, entry in entries if entry.get("failure")),
        "empty": sum(1 for _, entry in entries if _is_empty(entry)),
        "hits": sum(1 for event in caches if event.get("result") == "hit"),
        "misses": sum(1 for event in caches if event.get("result") == "miss"),
        "seconds": sum(seconds(entry) for _, entry in entries),
        "code": len(with_code),
        "replaced": sum(1 for entry in with_code if entry["replaced"]) - len(skipped),
        "skipped": len(skipped),
        "inner": sum(1 for entry in with_code if _by_a_block(entry)),
        "proven": sum(1 for entry in with_code if entry["verdict"] in ("exact", "equivalent")),
    }


def many(count: int, word: str) -> str:
    """A count with its word, in the plural where there are several."""
    return "%d %s%s" % (count, word, "" if count == 1 else "s")
