"""What is said at the end of a run."""

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, TextIO

from depyf import summary
from depyf.terminal import hyperlinks, place

if TYPE_CHECKING:
    from depyf.model import Run


class Output:
    """Standard output for JSON alone: whatever the program writes there goes to standard error."""

    def __init__(self) -> None:
        self._own: Optional[int] = None
        try:
            sys.stdout.flush()
            if sys.stdout.fileno() == 1:
                self._own = os.dup(1)  # which no process that the program starts inherits
                if sys.stderr is not None:
                    os.dup2(2, 1)
                else:  # it was closed when this process began
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(nowhere, 1)
                    os.close(nowhere)
        except (OSError, ValueError, AttributeError):
            pass  # it is no file: the program and depyf write to it, one after the other

    def write(self, text: str) -> None:
        """Writes to what was standard output."""
        if sys.stdout is None:  # `print` would say nothing
            raise OSError("standard output is closed, so there is no JSON")
        if self._own is None:
            print(text, flush=True)
            return
        with os.fdopen(self._own, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")


def tell(
    found: "Run",
    options: Any,
    workers: List[Dict[str, Any]],
    finder: Any,
    output: Optional[Output],
    stream: TextIO,
    exceeded: List[str],
) -> None:
    """Says what was asked for, or the summary.

    Args:
        found: the run, with the documents of its `workers`.
        finder: of non-finite values, None where none was asked for.
        output: for JSON alone, None where none was asked for.
        exceeded: budgets, in words.
    """
    from depyf.follow import merged
    from depyf.report.base import PAGE

    links = hyperlinks(stream)
    advice = (found._advice or [None])[0] if not workers else None
    document = merged(dict(found.to_json(), folder=found.folder), workers)
    lacks = summary.unwritten(found._unwritten)
    if lacks:
        where = place(str(found.folder), None, links)
        lacks = "depyf: the dump in %s is incomplete: %s\n" % (where, lacks)
    try:
        if output is not None:
            stream.write(lacks)
            output.write(_json_text(found, workers))
            return
        texts = []
        if options.breaks:
            texts.append(summary.breaks_text(document, links))
        if options.recompiles:
            texts.append(summary.recompiles_text(document, links))
        if options.guards is not None:
            texts.append(summary.guards_text(document, options.guards, links))
        texts += filter(None, [summary.numbers_explained("\n".join(texts))])
        stream.write("".join(text + "\n" for text in texts))
        if finder is not None:
            stream.write(str(finder.report) + "\n")
        if options.advise:
            from depyf import advise

            stream.write(advise.text(document, links, advice=advice) + "\n")
        # one that could not be written may lie there from an earlier run
        page = None if PAGE in found._unwritten else page_of(found.folder)
        if options.breaks or options.recompiles or options.guards is not None or options.advise:
            if lacks:
                stream.write(lacks)
            elif found.folder is not None:
                stream.write("depyf: %s\n" % place(str(page or found.folder), None, links))
            return
        if workers:
            stream.write("depyf: of %d processes:\n" % (len(workers) + 1))
            page = _page_of_all(found, workers) or page
        told = [  # below, in full
            kind
            for kind, name in (("break", "graph break"), ("recompile", "recompile"))
            if any(name in text.partition(",")[0] and ":\n" in text for text in exceeded)
        ]
        whole = None if lacks else page or found.folder
        stream.write(summary.summary(document, whole, links, told, advice) + "\n" + lacks)
        if options.open and (page or not lacks):
            open_page(page, found.folder, stream)
    except Exception as error:
        stream.write("depyf: the summary failed: %s: %s\n" % (type(error).__name__, error))


def _json_text(run: "Run", workers: List[Dict[str, Any]]) -> str:
    document = run.to_json()
    if workers:
        document["workers"] = [
            {key: value for key, value in one.items() if key != "folder"} for one in workers
        ]
    return json.dumps(document, default=repr)


def _page_of_all(run: "Run", workers: List[Dict[str, Any]]) -> Optional[str]:
    """One page for the program and its workers, where a page can be written."""
    from depyf import report
    from depyf.report.base import PAGE

    if run.folder is None:
        return None
    try:
        sources = [run.folder] if run.functions or run.unattributed else []
        sources += [one["folder"] for one in workers]
        return str(report.build(sources, os.path.join(run.folder, PAGE)))
    except Exception:  # the page of the program alone stays
        return None


def page_of(folder: Optional[str]) -> Optional[str]:
    """The page of a dump, None where none was written."""
    if folder is None:
        return None
    from depyf.report import document

    page = document.page_of(folder)
    return page if os.path.exists(page) else None


def open_page(page: Optional[str], folder: Optional[str], stream: TextIO) -> None:
    """Opens the page in the user's browser, or says why not."""
    import webbrowser
    from pathlib import Path

    target = page or (os.path.join(folder, "README.md") if folder else None)
    if target is None:
        stream.write("depyf: there is nothing to open\n")
        return
    if not webbrowser.open(Path(target).absolute().as_uri()):
        stream.write(
            "depyf: no browser was found; open %s\n" % place(target, None, hyperlinks(stream))
        )
