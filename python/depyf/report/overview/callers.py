"""In whose code a function was called that torch compiled by itself."""

import re
from typing import Any, Dict, List, Sequence, Tuple

from depyf.advice import uses
from depyf.report import words
from depyf.report.overview.node import Node
from depyf.schema import Document
from depyf.trace.frames import parse_frame


def traced_in(node: Node, tracing: Node) -> bool:
    """Whether a node is a compile of what compiled autograd traced in another one."""
    begin = str(tracing.entry.get("compile_id")) + "/"
    return str(node.entry.get("compile_id")).startswith(begin)


class _Callers:
    """Finds the compiles in whose code, or in the plain code of a function that torch gave up, a
    frame of a stack runs.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._by_path = {node.entry["path"]: node for node in nodes if node.entry.get("path")}
        self._lines: Dict[Tuple[str, int], str] = {}  # of the program, as far as a source is known
        for function in {id(one.function): one.function for one in nodes}.values():
            if function is not None and function.get("source_origin") == "file":
                source = str(function.get("source") or "").split("\n")
                for number, text in enumerate(source, int(function.get("firstlineno") or 1)):
                    self._lines[str(function.get("filename") or ""), number] = text
        self._own_code: Dict[Tuple[str, str], List[Node]] = {}  # no file of the dump runs
        for node in sorted(nodes, key=lambda node: -node.began):
            stack = node.entry.get("user_stack") or ()
            own = parse_frame(str(stack[-1])) if stack else None
            if own is not None and not node.entry.get("replaced"):
                self._own_code.setdefault((own.path, own.name), []).append(node)

    def of(self, node: Node) -> List[Node]:
        """The nodes that led to a compile, innermost first."""
        found = []
        for at, text in reversed(list(enumerate(node.stack[:-1]))):
            frame = parse_frame(text)
            if frame is None:
                continue
            dumped = self._by_path.get(_name_of(frame.path))
            if dumped is not None:
                known = [dumped]
            else:
                known = self._own_code.get((frame.path, frame.name), [])
                # methods of several classes have one name
                known = [one for one in known if one.has_line(frame.line)]
                # one wrapper's code runs for all functions that it is around: for which one here,
                # only the frames that led to it tell
                led = node.stack[:at]
                known = [one for one in known if not one.through or one.stack[:-1] == led]
            before = [one for one in known if one is not node and one.began <= node.began]
            found += before[:1]
        return found

    def call_in(self, node: Node, outer: Node) -> Tuple[str, int]:
        """(file, line) of the program where the code of one node led to another; ("", 0) where the
        stack does not tell.
        """
        for frame in reversed(node.stack[:-1]):
            found = parse_frame(self.as_written(frame))
            if found is not None and found.path == outer.place[0]:
                if found.name in (outer.called, outer.title, code_name(outer.entry)):
                    return found.path, found.line
        return "", 0

    def as_written(self, frame: str) -> str:
        """A frame in transformed code at the line of the program that it comes from, with the text
        of the line where a source is known.
        """
        found = parse_frame(frame)
        if found is None:
            return frame
        node = self._by_path.get(_name_of(found.path))
        if node is None or node.function is None:
            text = "" if found.code else self._lines.get(found[:2])
            return frame if text is None else "%s %s" % (frame.rstrip(), text.strip())
        lines = dict(row[:2] for row in node.entry.get("line_map") or () if len(row) > 1)
        line = lines.get(found.line)
        if not line:
            return frame
        filename = str(node.function.get("filename") or "")
        if line == node.function.get("firstlineno"):
            # torch's own operations have that line: what else is called there is the call of the
            # program at which the graph breaks
            ways = map(node.way_to, node.entry.get("breaks") or ())
            after = [one.resumes_at for one in node.children if one.is_resume]
            line = next((way[0][1] for way in ways if way), after[0] if after else line)
        text = self._lines.get((filename, line), "").strip()
        return "%s:%d in %s: %s" % (filename, line, node.called, text)


def connect_frames(nodes: Sequence[Node]) -> None:
    """Tells each function in whose code it was called.

    After a break inside what a function calls, Python calls that, which is compiled by itself.
    """
    callers = _Callers(nodes)
    tracings = [node for node in nodes if node.is_backward_pass and node.function is None]
    for node in sorted(nodes, key=lambda node: node.began):
        traced = [one for one in tracings if node.is_backward_pass and traced_in(node, one)]
        if traced and not node.is_resume:
            node.parent = traced[0]
            node.called_inside(traced[0], ("", 0))
            continue
        way = callers.of(node)
        # a function that torch gave up runs as plain Python in the code of each of its callers
        given_up: List[Node] = []
        while len(way) > 1 and not way[0].entry.get("name") and way[0].parent is not way[1]:
            given_up.insert(0, way.pop(0))
        if node.is_resume and not node.callers:
            # torch made it inside of the code that calls it: no name of the program leads to it
            for outer in way[:1]:
                if outer.title == node.title:
                    outer.children.append(node)
                    node.callers.append(outer)
        if node.is_resume or node.callers:
            node.parent = next((one for one in way if one in node.callers), None)
            continue
        for outer in way:
            # of a function that calls itself, only a file of the dump tells which code did
            own = outer.function is node.function and outer.function is not None
            if not own or (outer.entry.get("replaced") and outer.entry.get("path")):
                node.parent = outer
                node.by_way = given_up if outer is way[0] else []
                node.called_inside(outer, callers.call_in(node, outer))
                break
    for node in nodes:
        node.stack = [callers.as_written(frame) for frame in node.stack]


def note_calls_made(nodes: Sequence[Node]) -> None:
    """Tells each compile whose graph breaks in a function that it calls which compiles of that
    were made for other calls: here torch tries these.
    """
    for node in (one for one in nodes if one.entry.get("name")):
        for graph_break in node.entry.get("breaks") or ():
            way = node.way_to(graph_break)
            name = node.callee_of(graph_break) if len(way) > 1 else ""
            if not name or any(one.called_at == way[0] for one in node.frames):
                continue
            node.calls_made += [
                one
                for one in nodes
                if one.entry.get("name") and not one.is_resume and one not in node.calls_made
                if one.place[0] == way[1][0] and one.title.rpartition(".")[2] == _last(name)
                if one.has_line(way[1][1]) and one.title != node.title
            ]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def advise_callers(nodes: Sequence[Node]) -> None:
    """At a break in a library, advises on the line of the reader's that calls it; not where that
    is the call of the compiled function itself, which no compiled code holds.
    """
    begins = {node.place for node in nodes}
    names = {(node.place[0], code_name(node.entry)) for node in nodes}
    names.update((node.place[0], node.called) for node in nodes)

    def is_compiled(frame: str) -> bool:
        found = parse_frame(frame)
        if found is None or words.in_library(found.path):
            return False
        file, line, name = found[:3]
        around = uses.function_around(file, line)
        if around is None or name.startswith("<"):
            return (file, name) in names
        return any((file, one) in begins for one in uses.first_lines(around))

    for node in nodes:
        for graph_break, said in zip(node.entry.get("breaks") or (), node.breaks):
            if not said["foreign"]:
                continue
            inside = [one for one in node.way_to(graph_break) if not words.in_library(one[0])]
            led = [one for one in node.stack[:-1] if parse_frame(one)]
            own = [one for one in led if not words.in_library(_place_of(one)[0])][-1:]
            caller = said["caller"]
            if not inside and own and is_compiled(own[0]):
                caller = _place_of(own[0]) + (own[0].partition(": ")[2],)
            elif not inside:
                continue
            words.leave_out(said, caller)
            failure = node.failure
            if failure is not None and failure["raw"] == said["raw"]:
                failure.update({key: said[key] for key in ("caller", "help", "patches", "foreign")})


def _place_of(frame: str) -> Tuple[str, int]:
    """(file, line) of a frame of `Node.stack`."""
    found = parse_frame(frame)
    return found[:2] if found is not None else ("", 0)


def _name_of(path: str) -> str:
    """The name of a file of whatever system."""
    return re.split(r"[/\\]", path)[-1]


def code_name(entry: Document) -> Any:
    """The name of the code that torch compiled."""
    return (entry.get("metrics") or {}).get("co_name") or entry.get("name")
