"""The texts of one side of a comparison, in their normal form."""

import collections
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from depyf import dumped, summary
from depyf.difference.normal_form import normal
from depyf.report import words
from depyf.schema import Document

#: stage and number of an artifact
Key = Tuple[str, int]
#: kinds of artifacts that are compared; the others repeat these, or hold times and settings
_COMPARED = ("graph", "kernel")
#: `name = None` at the end of a graph's line; it follows from where the name is used last
_RELEASED = re.compile(r";\s+\w+(?: = \w+)* = None;?[ \t]*$", re.MULTILINE)


class Texts:
    """The texts of one side, read when they are compared."""

    def __init__(self, document: Document, ranks: bool) -> None:
        self.document = document
        self.ranks = ranks
        # by the identity of the artifact, for those read from a log, which has no files
        self.texts: Dict[int, str] = {}

    def artifacts(self, entry: Document) -> Dict[Key, Any]:
        """Stage and number -> what `read` takes."""
        found: Dict[Key, Any] = {}
        for artifact in entry.get("artifacts") or ():
            if artifact["kind"] in _COMPARED and artifact.get("path"):
                found[artifact["stage"], artifact["index"]] = artifact["path"]
            elif artifact["kind"] in _COMPARED and "text" in artifact:
                self.texts[id(artifact)] = artifact["text"]
                found[artifact["stage"], artifact["index"]] = id(artifact)
        return found

    def graph_or_kernel(self, entry: Document, key: Key) -> str:
        """The text of one artifact, without what a graph sets to None."""
        text = self.read(self.artifacts(entry)[key])
        return text if key[0] == "kernel" else _RELEASED.sub("", text)

    def read(self, path: Any) -> str:
        """The text of what `artifacts` gives."""
        if path in self.texts:
            return normal(self.texts[path], self.ranks)
        return normal(dumped.text_of(self.document["folder"], path), self.ranks)

    def guards(self, entry: Document) -> List[str]:
        """The guards of a compile, sorted."""
        found: List[str] = []
        marks: Dict[str, int] = collections.Counter()
        for guard in entry.get("guards") or ():
            text = normal(guard["text"], self.ranks)
            mark = summary.MARK.match(text)
            if mark is None:
                found.append(text)
            else:  # torch asks it of each tensor, several times
                marks[mark.group("of")] += 1
        return sorted(found + [summary.folded_marks(count, of) for of, count in marks.items()])

    def breaks(self, entry: Document) -> List[str]:
        """The graph breaks of a compile, in words."""
        return [
            normal(_break_words(words.of_break(one)), self.ranks)
            for one in entry.get("breaks") or ()
        ]

    def reasons(self, entry: Document) -> List[str]:
        """Why it was compiled again, for each earlier entry, in words that stay where a line moves
        or functions are counted otherwise.
        """
        said = [words.of_reason(str(reason)) for reason in entry.get("reasons") or ()]
        return [
            normal(
                "%s%s (%s)"
                % (
                    "entry %s: " % one["tried"].rpartition("/")[2] if one["tried"] else "",
                    one["words"].replace("`", ""),
                    one["failed"],
                )
            )
            for one in said
        ]

    def graph(self, entry: Document) -> Optional[str]:
        """The captured graph of a compile."""
        key = "Captured_Graph", 0
        return self.graph_or_kernel(entry, key) if key in self.artifacts(entry) else None


def _break_words(said: Mapping[str, Any]) -> str:
    at = ", at `%s`" % said["source"] if said["source"] else ""
    return "%s%s%s" % (
        said["why"].replace("`", "").rstrip("."),
        at,
        " (%s)" % said["what"] if said["what"] not in said["why"] else "",
    )


def failure_words(entry: Document) -> str:
    """What a compile that came to nothing says, in one line."""
    failure = str(entry["failure"])
    said = words.of_failure(failure)
    metrics = entry.get("metrics") or {}
    name = entry.get("qualname") or metrics.get("co_name")
    name = "%s: " % name if name else ""
    what = "" if said["what"] in said["why"] else " (%s)" % said["what"]
    return normal(name + said["why"].replace("`", "") + what)
