"""The page: one file with all that is known of a run, and no network."""

from depyf.report.page.render import render, write
from depyf.report.page.template import FIRST, load

__all__ = ["FIRST", "load", "render", "write"]
