"""`depyf report`: the page and the summary of a dump, of the ranks of a job, or of a trace log."""

import argparse
import os
import sys
from typing import Dict, Iterable, List

from depyf import paths, summary
from depyf.difference import compare_ranks
from depyf.messages import complain
from depyf.schema import Document
from depyf.terminal import hyperlinks, place, tell


def load_any(path: str) -> Document:
    """The document of a dump's folder, or of a log of TORCH_TRACE."""
    if (
        os.path.exists(os.path.join(path, summary.MANIFEST))
        or os.path.basename(path) == summary.MANIFEST
    ):
        return summary.load(path)
    from depyf.report import ReportError, document

    try:
        found = document.load(path)
    except (ReportError, OSError, ImportError) as error:
        raise summary.DumpError(str(error))
    found.setdefault("name", os.path.basename(os.path.normpath(path)))
    return found


def report_command(options: argparse.Namespace) -> int:
    """`depyf report`; returns the exit code."""
    try:
        return _report(options)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        complain("depyf report: a dump is damaged: %s: %s\n" % (type(error).__name__, error))
        return 2


def _report(options: argparse.Namespace) -> int:
    from depyf import launch

    links = hyperlinks(sys.stdout)
    folders: Dict[int, str] = {}
    documents: Dict[int, Document] = {}
    try:
        for position, given in enumerate(options.dumps):
            there = summary.ranks(given)
            for rank, path in there.items():
                folders.setdefault(rank, path)
            if not there:
                folders[position] = given
        for rank, path in folders.items():
            documents[rank] = load_any(path)
            if len(folders) > 1:
                documents[rank]["name"] = "rank %d" % rank
    except summary.DumpError as error:
        complain("depyf report: %s\n" % error)
        return 2
    page, unwritten = None, False
    workers = workers_of(documents)
    only_text = options.text or options.advise
    if only_text and options.page:
        complain("depyf report: --page has no use beside --text or --advise\n")
        return 2
    if not only_text:
        try:
            from depyf import report
            from depyf.report.base import PAGE

            sources = [folders[rank] for rank in sorted(folders)]
            target = options.page
            if workers:
                sources = _with_code(workers)
                target = target or os.path.join(options.dumps[0], PAGE)
            elif len(sources) > 1 and target is None:
                given = options.dumps
                folder = given[0] if len(given) == 1 else os.path.dirname(sources[0])
                target = os.path.join(folder or ".", PAGE)
            page = report.build(sources if len(sources) > 1 or workers else sources[0], target)
            if options.page is None:
                _write_overviews(folders.values())
        except Exception as error:  # the text below is still of use
            unwritten = isinstance(error, (OSError, ImportError))
            said = "%s: %s" % (type(error).__name__, error)
            if isinstance(error, ImportError) and (error.name or "").split(".")[0] == "jinja2":
                said = "it needs Jinja2; install it with `pip install jinja2`"
            elif isinstance(error, OSError) and error.filename is not None:
                said = "%s: %s" % (paths.absolute(error.filename), error.strerror)
                said += "" if options.page else "; `--page FILE` writes it elsewhere"
            complain("depyf report: no page was written: %s\n" % said)
    for rank in sorted(documents):
        document = documents[rank]
        if workers:
            from depyf.follow import merged

            tell("depyf: of %d processes:" % len(workers))
            document = merged(workers[0], workers[1:])
        if len(documents) > 1 and summary.rank_of(document.get("folder")) is None:
            tell("rank %d" % rank)
        if options.advise:
            from depyf import advise

            tell(advise.text(document, links, most=sys.maxsize))
        else:
            tell(summary.summary(document, None, links))
    differ = False
    if len(documents) > 1:
        groups = compare_ranks(documents)
        differ = bool(groups)
        tell(groups.text(links))
    if page is not None:
        tell("depyf: " + place(str(page), None, links))
        if options.open:
            launch.open_page(str(page), None, sys.stdout)
    if page is None and not only_text and not unwritten:
        return 2
    return 1 if differ or unwritten else 0


def _write_overviews(folders: Iterable[str]) -> None:
    """Writes README.md of those dumps whose program did not come to that."""
    from depyf.torch.dump import write_missing_overview

    for folder in folders:
        if os.path.basename(folder) == summary.MANIFEST:
            folder = os.path.dirname(folder) or "."
        if not os.path.exists(os.path.join(folder, summary.MANIFEST)):
            continue  # a log of TORCH_TRACE
        try:
            write_missing_overview(folder)
        except OSError as error:
            complain("depyf report: README.md was not written: %s\n" % error)


def workers_of(documents: Dict[int, Document]) -> List[Document]:
    """The one document and those of the workers beside it; [] for none, or for ranks."""
    from depyf import follow

    if len(documents) != 1:
        return []
    (document,) = documents.values()
    folder = document.get("folder")
    if not folder or not os.path.isdir(folder):
        return []
    found = follow.documents(folder, tidy=False)
    return [document] + found if found else []


def _with_code(documents: List[Document]) -> List[str]:
    """The folders of those processes that compiled something."""
    return [one["folder"] for one in documents if one["functions"] or one["unattributed"]]
