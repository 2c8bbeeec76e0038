"""The picture of a run: function → graph → kernels → break → resume functions, one compile a row.

It is a tree of rows, which the page writes as a list in lists: a row whose boxes do not fit beside
each other goes on below, so that the picture is whole in a window of any width. Rows are below the
break that leads to them. A run of many compiles has a picture for each form that its functions
have: 160 functions that break in the same way are one picture and 160 links.
"""

import os
import re
from typing import Any, Dict, Iterator, List, Set, Tuple

from depyf.model import resumed_after
from depyf.report import words
from depyf.report.overview import Node
from depyf.report.words.stacks import short_place

#: key of a node -> the nodes below it
Children = Dict[str, List[Node]]
#: key of a node -> number of the form of what is below it
Forms = Dict[str, int]
#: node, depth, and for how many nodes the row is; _PLAIN for a function that runs as plain Python
Row = Tuple[Node, int, int]

_PLAIN = -1
_DEEPEST = 12  # a deeper row is drawn at this indent
_FEW = 20  # compiles up to which all is one picture
_ALIKE = 3  # neighbouring subtrees of one form that are drawn
_ROWS = 60  # rows of one picture
_ROWS_OF_TEXT = 200
_WIDE = 100  # columns of a row as text


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def draw(nodes: List[Node], most: int = _ROWS) -> List[Dict[str, Any]]:
    """Lays the pictures out.

    Args:
        nodes: those of `overview.nodes_of`.
        most: rows of one picture.
    Returns:
        A list of dicts for the template: `rows` (`boxes` of one compile; how many lists `opens`
        before it and `closes` after it), `hidden` (compiles that were not drawn); and of what it
        is the picture: `first` (a node), `functions` (the first node of each function), `compiles`,
        `breaks`, `seconds`.
    """
    roots, children = _forest(nodes)
    forms = _forms(roots, children)
    if len(nodes) <= _FEW:
        return [_group([roots], children, forms, most)] if nodes else []
    found = [_group(group, children, forms, most) for group in _groups(roots, forms)]
    return sorted(found, key=lambda group: -group["seconds"])


#: lines of text
_LINES = 400


def in_text(nodes: List[Node]) -> List[str]:
    """The rows as lines in the order of the first calls, what a row leads to indented below it; []
    where nothing leads to anything, or was compiled again. Of many compiles, functions of one form
    are told by the one that was called first.
    """
    roots, children = _forest(nodes)
    forms = _forms(roots, children)
    alike: Dict[str, int] = {}  # key of a function's last root -> functions that are told by it
    if len(nodes) > _FEW:
        groups = _groups(roots, forms)
        alike = {group[0][-1].key: len(group) - 1 for group in groups}
        kept = {root.key for group in groups for root in group[0]}
        roots = [root for root in roots if root.key in kept]
    lines: List[str] = []
    begin = 0
    for at, root in enumerate(roots, 1):
        more = alike.get(root.key, 0)
        if more or at == len(roots):
            lines += _lines_of(roots[begin:at], children, forms)
            begin = at
        if more:
            name = _clip(root.title, _WIDE // 2)
            lines.append("… %d more function%s like %s" % (more, "" if more == 1 else "s", name))
    if not any(line.startswith((" ", "↻")) for line in lines):
        return []
    if len(lines) > _LINES:
        lines[_LINES:] = ["… %d more lines: see index.html" % (len(lines) - _LINES)]
    return lines


def _lines_of(roots: List[Node], children: Children, forms: Forms) -> List[str]:
    picture = _draw(_rows(roots, children, forms), children, _ROWS_OF_TEXT)
    lines: List[str] = []
    depth = -1
    for row in picture["rows"]:
        depth += row["opens"]
        lines += _in_rows([_label(box) for box in row["boxes"]], "  " * depth)
    hidden = picture["hidden"]
    return lines + ["… %d more compile%s" % (hidden, "" if hidden == 1 else "s")] * bool(hidden)


def _groups(roots: List[Node], forms: Forms) -> List[List[List[Node]]]:
    """The roots of each function, in groups of functions of one form."""
    functions: Dict[int, List[Node]] = {}
    for root in roots:
        functions.setdefault(id(root.function or root), []).append(root)
    groups: Dict[Tuple[int, ...], List[List[Node]]] = {}
    for own in functions.values():
        groups.setdefault(tuple(forms[root.key] for root in own), []).append(own)
    return list(groups.values())


def _in_rows(texts: List[str], indent: str) -> List[str]:
    """The boxes of a row as a line, or as several, each of which begins with an arrow."""
    lines = [indent + texts[0]]
    for text in texts[1:]:
        if len(lines[-1]) + 3 + len(text) <= _WIDE:
            lines[-1] += " → " + text
        else:
            lines.append("%s    → %s" % (indent, text))
    return [_clip(line, _WIDE) for line in lines]


def _label(box: Dict[str, Any]) -> str:
    """What a box says in a line of text, where what torch calls a break has no room."""
    label = str(box["label"]).replace("  ", " ")
    return label.partition(": ")[0] if box["kind"] == "break" else label


def _group(
    functions: List[List[Node]], children: Children, forms: Forms, most: int
) -> Dict[str, Any]:
    """The picture of functions of one form: that of the one which took longest."""
    found: List[Node] = []
    drawn, longest = functions[0], -1.0
    for roots in functions:
        tree = list(_walk(roots, children))
        took = sum(node.seconds for node in tree)
        found += tree
        if took > longest:
            drawn, longest = roots, took
    picture = _draw(_rows(drawn, children, forms), children, most)
    picture.update(
        first=drawn[0],
        functions=[roots[0] for roots in functions],
        compiles=len(found),
        breaks=sum(len(node.breaks) for node in found),
        seconds=sum(node.seconds for node in found),
    )
    return picture


def _forest(nodes: List[Node]) -> Tuple[List[Node], Children]:
    """The nodes that no other one leads to, and key -> nodes below; each node has one place: in the
    code that called it when it was compiled, where that is known. Nodes side by side are in the
    order of their compiles, which is that of their first calls.
    """
    children: Children = {}
    seen: Set[str] = set()
    order = {id(node): at for at, node in enumerate(nodes)}
    runs = {run: at for at, run in enumerate(dict.fromkeys(id(node.run) for node in nodes))}

    def begin(node: Node) -> Tuple[int, float, int]:
        return runs[id(node.run)], node.began, order[id(node)]

    starts = sorted(nodes, key=lambda node: (bool(node.callers or node.outer), *begin(node)))
    roots = []
    for root in starts:
        if root.key in seen:
            continue
        seen.add(root.key)
        roots.append(root)
        stack = [root]
        while stack:
            node = stack.pop()
            own = children[node.key] = []
            for child in sorted(node.children + node.frames, key=begin):
                if child.key not in seen and child.parent in (None, node):
                    seen.add(child.key)
                    own.append(child)
            stack.extend(reversed(own))
    return sorted(roots, key=begin), children


def _walk(roots: List[Node], children: Children) -> Iterator[Node]:
    """The nodes below `roots`, depth first, on an explicit stack."""
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children[node.key]))


def _forms(roots: List[Node], children: Children) -> Forms:
    """Key -> number of the form of what is below a node; equal forms have equal numbers."""
    numbers: Dict[Any, int] = {}
    found: Forms = {}
    for node in reversed(list(_walk(roots, children))):
        breaks = tuple((one["what"], one["row"]) for one in node.breaks)
        own = (
            node.is_resume,
            bool(node.reasons),
            bool(node.failure),
            _has_graph(node),
            bool(node.kernels),
            breaks,
            len(_again(node, children)),
            len(node.uncompiled),
            tuple(one.title for one in node.by_way),
        )
        form = own, tuple(found[child.key] for child in children[node.key])
        found[node.key] = numbers.setdefault(form, len(numbers))
    return found


def _rows(roots: List[Node], children: Children, forms: Forms) -> List[Row]:
    """(node, depth, count) for each row: with a count it stands for so many nodes of its form."""
    stack = list(reversed(_folded(roots, forms, 0)))
    rows = []
    while stack:
        node, depth, count = stack.pop()
        rows.append((node, depth, count))
        if not count:  # below a function that runs as plain Python, the rows are there
            stack.extend(reversed(_folded(children[node.key], forms, depth + 1)))
    return rows


def _folded(nodes: List[Node], forms: Forms, depth: int) -> List[Row]:
    """Neighbours of one form beyond a few as one row; those that a function calls which runs as
    plain Python below a row of that.
    """
    rows: List[Row] = []
    at = 0
    way: List[Node] = []  # those of the rows above
    while at < len(nodes):
        stop = at + 1
        while (
            stop < len(nodes)
            and forms[nodes[stop].key] == forms[nodes[at].key]
            and nodes[stop].function is nodes[at].function
        ):
            stop += 1
        shown = stop if stop - at <= _ALIKE + 1 else at + _ALIKE
        if nodes[at].by_way != way:
            way = nodes[at].by_way
            rows += [(one, depth + below, _PLAIN) for below, one in enumerate(way)]
        rows += [(node, depth + len(way), 0) for node in nodes[at:shown]]
        if shown < stop:
            rows.append((nodes[shown], depth + len(way), stop - shown))
        at = stop
    return rows


def _draw(rows: List[Row], children: Children, most: int) -> Dict[str, Any]:
    drawn: List[Tuple[List[Dict[str, Any]], int]] = []  # boxes, depth
    for node, depth, count in rows[:most]:
        drawn.append(([_plain(node)] if count == _PLAIN else [_more(node, count)], depth))
        if count:
            continue
        after = _again(node, children)
        ways = [one for one in children[node.key] if one.is_resume]
        if len(after) + len(ways) < 2:
            drawn[-1] = _row(node) + after, depth
        else:  # beside each other: one after the other would be an order
            drawn[-1] = _row(node), depth
            drawn += [([one], depth + 1) for one in after]
    depths = [min(depth, _DEEPEST) for _, depth in drawn]
    return {
        "rows": [
            {
                "boxes": boxes,
                "opens": depth - before,  # by one at most, since a row is below the one before it
                "closes": depth - after,
            }
            for (boxes, _), depth, before, after in zip(
                drawn, depths, [-1] + depths, depths[1:] + [0]
            )
        ],
        "hidden": sum(max(count, 0) or 1 for _, _, count in rows[most:] if count != _PLAIN),
    }


def _plain(node: Node) -> Dict[str, Any]:
    return {
        "label": "%s %s · plain Python" % ("▷" if node.is_resume else "⤷", _clip(node.called, 80)),
        "kind": "function",
        "link": "#compile/%s/why" % node.key,
        "title": "torch made no code for it (compile %s), and it calls what is below" % node.key,
    }


def _more(node: Node, count: int) -> Dict[str, Any]:
    return {
        "label": "%d more like these, %s …" % (count, node.key),
        "kind": "function more",
        "link": "#compile/" + node.key,
        "title": "%d compiles of %s" % (count, node.title),
    }


def _again(node: Node, children: Children) -> List[Dict[str, Any]]:
    """The resume functions in which it goes on and that have no row below it: torch compiled them
    for another call, or made no compile of them.
    """
    rows = [one for child in children[node.key] for one in [child] + child.by_way]
    below = {id(one.function or one) for one in rows}
    found: Dict[int, List[Node]] = {}
    for child in node.children:
        own = id(child.function or child)
        if child.is_resume and own not in below:
            found.setdefault(own, []).append(child)
    return (
        _calls_made(node)
        + [_of_another_call(made) for made in found.values()]
        + [
            {
                "label": "▷ %s · %s" % (name, node.came_to(name)),
                "kind": "function",
                "link": "#compile/" + node.key,
                "title": "%s: %s" % (name, node.no_compile_of(name)),
            }
            for name in node.uncompiled
        ]
        + _plain_rest(node)
    )


def _calls_made(node: Node) -> List[Dict[str, Any]]:
    """What its code calls and torch compiled for another call, a box for each function."""
    by_title: Dict[str, List[Node]] = {}
    for one in node.calls_made:
        by_title.setdefault(one.title, []).append(one)
    boxes = []
    for title, made in by_title.items():
        named = " or ".join(one.key for one in made)
        named = named if len(made) <= _ALIKE else "one of %d compiles" % len(made)
        boxes.append(
            {
                "label": "⤷ %s  %s" % (_clip(title, 60), named),
                "kind": "function",
                "link": "#compile/" + made[0].key,
                "title": "calls %s, which was compiled for another call: %s runs where its guards "
                "hold" % (title, named),
            }
        )
    return boxes


def _of_another_call(made: List[Node]) -> Dict[str, Any]:
    """A resume function whose compiles were all made below other rows: which of them fits a call,
    its guards decide.
    """
    first = made[0]
    named = " or ".join(one.key for one in made)
    named = named if len(made) <= _ALIKE else "one of %d compiles" % len(made)
    at = resumed_after("", first.resumes_at).lstrip(", ") + first.apart
    return {
        "label": "▷ %s  %s" % (at, named),
        "kind": "function",
        "link": "#compile/" + first.key,
        "title": "continues in %s, which was compiled for another call: %s runs where its guards "
        "hold" % (first.called, named),
    }


def _plain_rest(node: Node) -> List[Dict[str, Any]]:
    """The function's own code that runs behind a graph, where there is no resume function."""
    if not node.runs_on:
        return []
    return [
        {
            "label": "plain Python from line %d on" % node.runs_on,
            "kind": "function",
            "link": "#compile/%s/why" % node.key,
            "title": words.runs_on_from(node.runs_on),
        }
    ]


def _has_graph(node: Node) -> bool:
    return bool(node.entry.get("graph_name")) or any(
        one.get("stage") == "Captured_Graph" for one in node.entry.get("artifacts") or ()
    )


def _row(node: Node) -> List[Dict[str, Any]]:
    entry = node.entry
    link = "#compile/" + node.key
    if node.is_resume:
        name = "▷ " + resumed_after(_clip(node.title, 60), node.resumes_at) + node.apart
    else:
        name = ("⤷ " if node.outer else "") + _clip(node.title, 60)
    name += node.beside
    if node.reasons:
        name = "↻ " + name
    row = [
        {
            "label": "%s  %s" % (name, node.key),
            "kind": "function",
            "link": link,
            "title": _what(node),
        }
    ]
    ends = _ENDS * (words.skipped_at(node.run, entry) is not None)
    if node.failure:
        row.append(
            {
                "label": "✕ " + words.outcome(node.failure) + ends,
                "kind": "failure",
                "link": link + "/why",
                "title": node.failure["why"],
            }
        )
    if _has_graph(node):
        label = entry.get("graph_name") or "graph"
        if node.operations is not None:
            label += " · %d op%s" % (node.operations, "" if node.operations == 1 else "s")
        row.append({"label": label, "kind": "graph", "link": link + "/graph", "title": _GRAPH})
        if node.kernels:
            row.append(
                {
                    "label": "%d kernel%s" % (node.kernels, "" if node.kernels == 1 else "s"),
                    "kind": "kernel",
                    "link": link + "/code/kernel",
                    "title": _KERNELS,
                }
            )
    elif not node.failure and not node.breaks:
        row.append(
            {
                "label": ("∅ nothing to compile" if node.is_empty else "∅ no graph") + ends,
                "kind": "nothing",
                "link": link + ("/why" if node.is_empty else ""),
                "title": "torch found nothing in it to compile",
            }
        )
    for graph_break, raw in zip(node.breaks[:2], entry.get("breaks") or ()):
        callee = node.callee_of(raw)
        callee = " in " + _clip(callee, 60) if callee else ""
        line = "line %d%s: " % (graph_break["line"], callee) if graph_break["line"] else ""
        elsewhere = os.path.normpath(graph_break["file"]) != os.path.normpath(node.place[0])
        # a row tells its file to who points at it: a reader takes it for that of the program
        if line and (elsewhere or words.in_library(node.place[0])):
            line = "%s%s: " % (short_place(graph_break["file"], graph_break["line"]), callee)
        row.append(
            {
                "label": "✂ %s%s" % (line, _clip(graph_break["what"], 60)),
                "kind": "break",
                "link": link + "/why",
                "title": "%s %s" % (graph_break["why"], _BREAK),
            }
        )
    return row


#: of a compile after which torch skips the function
_ENDS = ": its earlier compiles no longer run"
_COMPILE = re.compile(r"(\d+)/(\d+)$")
#: what the boxes are, for who points at one
_GRAPH = (
    "captured graph: the operations on tensors that torch found in the code (ops), which are "
    "compiled together"
)
_KERNELS = "generated kernels: the functions that Inductor made of the graph's operations"
_BREAK = "At a graph break, the graph ends, and Python runs this line."
_REST = "resume function: the rest of %s behind a graph break"


def _what(node: Node) -> str:
    """What a compile is, where its code stands, and what called it."""
    said = [node.where]
    if node.is_resume:
        said.append(_REST % node.title)
    if node.outer:
        said.append("called by the code of %s" % node.outer.key)
    number = _COMPILE.match(str(node.entry.get("compile_id") or ""))
    if number:
        said.append("%s is compile %s of function %s" % (node.key, number[2], number[1]))
    return "; ".join(said)
