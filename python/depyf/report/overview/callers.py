"""In whose code a function was called that torch compiled by itself."""

import re
from typing import Any, Dict, List, Sequence, Tuple

from depyf.advice import uses
from depyf.report import words
from depyf.report.overview.node import Node
from depyf.schema import Document


def traced_in(node: Node, tracing: Node) -> bool:
    """Whether a node is a compile of what compiled autograd traced in another one."""
    begin = str(tracing.entry.get("compile_id")) + "/"
    return str(node.entry.get("compile_id")).startswith(begin)


_FILE = re.compile(r"(?:.*[/\\])?([^/\\]+\.py):\d+ in ")
_AT = re.compile(r"(?P<file>.+):(?P<line>\d+) in (?P<name>[^:]+):")
_BARE = re.compile(r"(.+):(\d+) in [^:]+: *$")


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
            match = _AT.match(str(stack[-1])) if stack else None
            if match is not None and not node.entry.get("replaced"):
                key = match.group("file"), match.group("name")
                self._own_code.setdefault(key, []).append(node)

    def of(self, node: Node) -> List[Node]:
        """The nodes that led to a compile, innermost first."""
        found = []
        for at, frame in reversed(list(enumerate(node.stack[:-1]))):
            match = _FILE.match(frame)
            if match and match.group(1) in self._by_path:
                known = [self._by_path[match.group(1)]]
            else:
                match = _AT.match(frame)
                key = (match.group("file"), match.group("name")) if match else ("", "")
                known = self._own_code.get(key, [])
                # methods of several classes have one name
                known = [one for one in known if match and one.has_line(int(match.group("line")))]
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
            match = _AT.match(self.as_written(frame))
            if match and match.group("file") == outer.place[0]:
                if match.group("name") in (outer.called, outer.title, code_name(outer.entry)):
                    return match.group("file"), int(match.group("line"))
        return "", 0

    def as_written(self, frame: str) -> str:
        """A frame in transformed code at the line of the program that it comes from, with the text
        of the line where a source is known.
        """
        match = _FILE.match(frame)
        node = self._by_path.get(match.group(1)) if match else None
        if match is None or node is None or node.function is None:
            bare = _BARE.match(frame)
            place = (bare.group(1), int(bare.group(2))) if bare else ("", 0)
            return (
                "%s %s" % (frame.rstrip(), self._lines[place].strip())
                if place in self._lines
                else frame
            )
        number = int(match.group().rpartition(":")[2].split(" ")[0])
        line = dict(row[:2] for row in node.entry.get("line_map") or () if len(row) > 1).get(number)
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
        match = _AT.match(frame)
        if match is None or words.in_library(match.group("file")):
            return False
        file, line, name = match.group("file"), int(match.group("line")), match.group("name")
        around = uses.function_around(file, line)
        if around is None or name.startswith("<"):
            return (file, name) in names
        return any((file, one) in begins for one in uses.first_lines(around))

    for node in nodes:
        for graph_break, said in zip(node.entry.get("breaks") or (), node.breaks):
            if not said["foreign"]:
                continue
            inside = [one for one in node.way_to(graph_break) if not words.in_library(one[0])]
            led = [one for one in node.stack[:-1] if _AT.match(one)]
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
    match = _AT.match(frame)
    return (match.group("file"), int(match.group("line"))) if match else ("", 0)


def code_name(entry: Document) -> Any:
    """The name of the code that torch compiled."""
    return (entry.get("metrics") or {}).get("co_name") or entry.get("name")
