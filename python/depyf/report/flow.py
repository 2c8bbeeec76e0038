"""The picture of a run: function → graph → kernels → break → resume functions, as SVG, one compile
a row.

Rows are indented below the break that leads to them, so that a long chain of breaks stays a narrow
picture.
"""

ROW, HEIGHT, GAP, INDENT, CHARACTER = 40, 26, 30, 34, 7.3
_DEEPEST = 12  # a deeper row is drawn at this indent: the arrows still tell whose it is


def _clip(text, length):
    return text if len(text) <= length else text[: length - 1] + "…"


def draw(nodes, limit=60):
    """Lays the picture out.

    Args:
        nodes: those of `overview.nodes_of`.
        limit: rows that are drawn.
    Returns:
        A dict for the template: `boxes`, `arrows`, `width`, `height`, `hidden` (rows that were not
        drawn).
    """
    rows = _order(nodes)
    shown = rows[:limit]
    boxes, arrows, ends = [], [], {}
    width = 0
    previous = {}
    for position, (node, depth) in enumerate(shown):
        y = position * ROW + 8
        x = min(depth, _DEEPEST) * INDENT + 1
        row = _row(node)
        caller = next((one for one in node.callers if one.key in ends), None)
        if caller is not None:
            from_x, from_y = ends[caller.key]
            arrows.append("M%d %d V%d H%d" % (from_x, from_y, y + HEIGHT // 2, x - 2))
        elif node.number > 1 and previous.get(id(node.function)) is not None:
            arrows.append("M%d %d V%d" % (x + 12, previous[id(node.function)] + HEIGHT, y - 2))
        previous[id(node.function)] = y
        for number, box in enumerate(row):
            label_width = int(len(box["label"]) * CHARACTER + 20)
            box.update(x=x, y=y, width=label_width, height=HEIGHT, text_x=x + 10, text_y=y + 17.5)
            boxes.append(box)
            if number:
                arrows.append("M%d %d H%d" % (x - GAP + 2, y + HEIGHT // 2, x - 2))
            ends.setdefault(node.key, (x + 14, y + HEIGHT + 1))
            x += label_width + GAP
        width = max(width, x)
    return {
        "boxes": boxes,
        "arrows": arrows,
        "width": width - GAP + 4,
        "height": len(shown) * ROW + 8,
        "hidden": len(rows) - len(shown),
    }


def _order(nodes):
    """Depth first from the functions that nothing resumes into, on an explicit stack."""
    rows, seen = [], set()
    roots = [node for node in nodes if not node.callers] + [node for node in nodes if node.callers]
    for root in roots:
        if root.key in seen:
            continue
        stack = [(root, 0)]
        while stack:
            node, depth = stack.pop()
            if node.key in seen:
                continue
            seen.add(node.key)
            rows.append((node, depth))
            stack.extend(
                (child, depth + 1) for child in reversed(node.children) if child.key not in seen
            )
    return rows


def _row(node):
    entry = node.entry
    link = "#compile/" + node.key
    if node.is_resume:
        name = "▷ %s, after line %d" % (_clip(node.title, 26), node.resumes_at)
    else:
        name = _clip(node.title, 34)
    if node.reasons:
        name = "↻ " + name
    row = [
        {
            "label": "%s  %s" % (name, node.key),
            "kind": "function",
            "link": link,
            "title": "%s:%d" % node.place,
        }
    ]
    if entry.get("failure"):
        row.append(
            {
                "label": "✕ not compiled",
                "kind": "failure",
                "link": link + "/why",
                "title": node.failure["why"],
            }
        )
    if entry.get("graph_name") or any(
        one.get("stage") == "Captured_Graph" for one in entry.get("artifacts") or ()
    ):
        label = entry.get("graph_name") or "captured graph"
        if node.operations is not None:
            label += " · %d op%s" % (node.operations, "" if node.operations == 1 else "s")
        row.append(
            {"label": label, "kind": "graph", "link": link + "/graph", "title": "captured graph"}
        )
        if node.kernels:
            row.append(
                {
                    "label": "%d kernel%s" % (node.kernels, "" if node.kernels == 1 else "s"),
                    "kind": "kernel",
                    "link": link + "/code/kernel",
                    "title": "generated kernels",
                }
            )
    for graph_break in node.breaks[:2]:
        line = ":%d" % graph_break["line"] if graph_break["line"] else ""
        row.append(
            {
                "label": "✂ %s%s" % (_clip(graph_break["what"], 30), line),
                "kind": "break",
                "link": link + "/why",
                "title": graph_break["why"],
            }
        )
    return row
