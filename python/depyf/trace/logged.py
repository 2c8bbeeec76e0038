"""Texts of torch's log, which stand in for records where torch has none."""

import re
from typing import Tuple

_LOGGED_GRAPH = re.compile(
    r"TRACED GRAPH\n\s*=+ (?P<name>.+?) =+\n[^\n]*?(?P<text>class [^\s(]+\(.*)", re.DOTALL
)


_LOGGED_GRAPHS = (
    ("__compiled_fn_", "dynamo_output_graph"),
    ("Joint graph", "aot_joint_graph"),
    ("Forward graph", "aot_forward_graph"),
    ("Backward graph", "aot_backward_graph"),
    ("AFTER POST GRAD", "inductor_post_grad_graph"),
)


def read_logged(kind: str, text: str) -> Tuple[str, str]:
    """The name that a text of torch's log has in the structured trace of later versions, and what
    is its payload; "" for others.
    """
    if kind == "graph_breaks_in_loops":  # its logger has other texts, too
        return ("dynamo_graph_break_reason" if text.startswith("Graph break: ") else ""), text
    if kind == "graph_breaks":
        return "dynamo_graph_break_reason", text
    if kind == "ddp_graphs":
        return (
            ("optimize_ddp_split_graph", text.strip() + "\n")
            if "---split graph---" in text
            else ("", text)
        )
    if kind == "output_code":
        head, _, code = text.partition("\n")
        return ("inductor_output_code", code) if head.strip() == "Output code:" else ("", text)
    match = _LOGGED_GRAPH.match(text)
    for start, name in _LOGGED_GRAPHS:
        if match is not None and match.group("name").startswith(start):
            return name, match.group("text").strip() + "\n"
    return "", text
