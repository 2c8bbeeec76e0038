"""The report: one self-contained page that says what torch.compile made of a run, and why.

`build` takes a captured run, a dump's folder, a log of TORCH_TRACE, or several of them (the ranks
of one job), and writes one HTML file. It needs Jinja2 and no torch. Importing this package loads
neither.
"""

import os
import pathlib
from typing import Any

from depyf.report.base import ReportError

__all__ = ["ReportError", "build"]


def build(source: Any, path: Any = None) -> pathlib.Path:
    """Writes the report of one run.

    Args:
        source: a `depyf.torch.model.Run`; the folder of a dump; a log that TORCH_TRACE wrote; or a
            list of these, which are then the ranks of one job.
        path: where to write the page. Without it the page is `index.html` in the folder of the
            dump, the folder that the run was dumped to, or, for a log, `<log>.html` beside it.
    Returns:
        The absolute path of the page, as a `pathlib.Path`.
    Raises:
        ReportError: the source holds no run.
        OSError: the page cannot be written.
        ImportError: Jinja2 is not installed.
    """
    from depyf.report import document, page

    many = isinstance(source, (list, tuple))
    runs = [run for one in (source if many else [source]) for run in document.load_all(one)]
    if not runs:
        raise ReportError(
            "no run was given; give the folder of a dump, or a log that TORCH_TRACE wrote"
        )
    if path is None:
        path = runs[0]["place"]
        if len(runs) > 1 and not many:
            path = document.page_of(os.fspath(source))
        if path is None:
            raise ReportError(
                "this run was not dumped, so there is no folder for its report; give a path"
            )
    path = os.path.abspath(os.fspath(path))
    if len(runs) == 1:
        text = page.render(runs, os.path.dirname(path))
    else:
        text = page.render(document.as_ranks(runs), os.path.dirname(path))
    page.write(path, text)
    return pathlib.Path(path)
