"""What the report says of a run, for all files of its dump."""

import os
from typing import List, Optional

from depyf import advise, report
from depyf.interrupts import pass_on
from depyf.model import Run
from depyf.report import document, page
from depyf.report.overview import Node, nodes_of
from depyf.schema import Document
from depyf.torch.fullcode import nodes_by_entry

try:  # here and not when the first page is written, which is inside the user's block
    from depyf.report import document, page  # noqa: F401

    page.load()
except Exception:  # without Jinja2 no page is written, and the dump says so
    pass


class Told:
    """What the report says of a run, found out once for all files of its dump.

    Attributes:
        by_entry: the node of each entry by the entry's id; empty where the report cannot be made,
            and torch's own words stand in its place.
        document: the run as the report reads it, or None.
    """

    def __init__(self, run: Run, for_page: bool) -> None:
        self.document: Optional[Document] = None
        self._nodes: Optional[List[Node]] = None
        if for_page:  # which alone needs the texts of the artifacts
            try:
                found = document.load_all(run)[0]
                self._nodes = nodes_of([found])
                self.document = found
            except Exception:
                pass_on()  # to build the page fails in the same way, and is told
        self.by_entry = nodes_by_entry(run, self._nodes)
        self._advice: Optional[advise.Advice] = None
        try:
            nodes = self._nodes or list(self.by_entry.values())
            self._advice = advise.Advice(self.document or run.to_json(), nodes)
        except Exception:
            pass_on()  # the page fails in the same way, and is told
        if run._advice is not None and self.document is not None and self._advice is not None:
            run._advice[:] = [self._advice]

    def advised(self) -> List[str]:
        """The changes that are worth most; [] where the report cannot be made."""
        try:
            return self._advice.brief() if self._advice is not None else []
        except Exception:
            pass_on()
            return []

    def write_page(self, run: Run) -> None:
        """Writes the page into the run's folder. Raises as `report.build` does."""
        if self.document is None:
            report.build(run)
            return
        document.catch_up(self.document, run)
        path = os.path.abspath(self.document["place"])
        page.write(path, page.render([self.document], os.path.dirname(path), self._advice))
