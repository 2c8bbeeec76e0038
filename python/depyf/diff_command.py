"""`depyf diff`: what differs between two dumps."""

import argparse
import sys
from typing import Dict, List

from depyf import summary
from depyf.difference import Change, Difference, compare
from depyf.difference_page import write_page
from depyf.follow import merged
from depyf.messages import complain
from depyf.report_command import load_any, workers_of
from depyf.schema import Document
from depyf.terminal import hyperlinks, place, tell


def _load_ranks(folder: str) -> Dict[int, Document]:
    """Rank -> document; a dump of one program is rank 0, with what its workers compiled."""
    folders = summary.ranks(folder)
    documents: Dict[int, Document] = {}
    for rank, path in (folders or {0: folder}).items():
        document = load_any(path)
        if folders:
            document["name"] = "rank %d" % rank
        documents[rank] = document
    workers = workers_of(documents)
    return {0: merged(workers[0], workers[1:])} if workers else documents


def diff_command(options: argparse.Namespace) -> int:
    """`depyf diff`; returns the exit code."""
    try:
        sides = [_load_ranks(options.a), _load_ranks(options.b)]
        results: List[Difference] = []
        for rank in sorted(set(sides[0]) | set(sides[1])):
            if rank not in sides[0] or rank not in sides[1]:
                only = Difference(options.a, options.b)
                sign = "+" if rank not in sides[0] else "-"
                only.changes.append(Change(sign, "", "rank %d" % rank))
                results.append(only)
                continue
            one, other = sides[0][rank], sides[1][rank]
            more = " rank %d" % rank if len(sides[0]) > 1 else ""
            one["name"], other["name"] = options.a + more, options.b + more
            results.append(compare(one, other))
        links = hyperlinks(sys.stdout)
        tell("\n\n".join(found.text(links, options.lines) for found in results))
        if options.page:
            try:
                write_page(options.page, results)
            except OSError as error:
                complain("depyf diff: no page was written: %s\n" % error)
                return 1
            tell("depyf: " + place(options.page, None, links))
    except (summary.DumpError, OSError) as error:
        if isinstance(error, OSError) and error.filename is None:
            raise  # of standard output
        complain("depyf diff: %s\n" % error)
        return 2
    except (KeyError, TypeError, AttributeError) as error:
        complain("depyf diff: a dump is damaged: %s: %s\n" % (type(error).__name__, error))
        return 2
    return 1 if any(results) else 0
