"""full_code_for_<function>: one Python file that shows what torch's frame evaluation does for a
compiled function.

`renderer` makes a file and `section` each function of it, from `conditions` (its guards), `code`
and `signature`. `linking` is what such a file calls when it runs.
"""

from depyf.torch.fullcode.linking import constant, link, with_cells
from depyf.torch.fullcode.reasons import (
    breaks_in_words,
    nodes_by_entry,
    reached_from,
    reasons_in_words,
)
from depyf.torch.fullcode.renderer import Renderer, forget_texts, render
from depyf.torch.fullcode.signature import defaults_of
from depyf.torch.fullcode.source import function_text

__all__ = [
    "Renderer",
    "breaks_in_words",
    "constant",
    "defaults_of",
    "forget_texts",
    "function_text",
    "link",
    "nodes_by_entry",
    "reached_from",
    "reasons_in_words",
    "render",
    "with_cells",
]
