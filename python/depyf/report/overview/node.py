"""One compile with its place in the run."""

import re
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from depyf.advice import given, uses
from depyf.model import TRACED_BACKWARD
from depyf.report import words
from depyf.report.overview.durations import count_kernels, phases, whole_number
from depyf.report.overview.reasons import reasons_of
from depyf.report.overview.titled import Titled
from depyf.report.words.stacks import frame_places, short_place
from depyf.schema import Document
from depyf.trace.frames import parse_frame
from depyf.trace.names import resumed


def _parameters(run: Document, resumed: Document) -> Optional[List[str]]:
    """Words of the header of the function that a resume function continues; None where its source
    is not there.
    """
    key = ("filename", "qualname")
    for function in run.get("functions") or ():
        same = [function.get(one) for one in key] == [resumed.get(one) for one in key]
        if same and not function.get("is_resume") and function.get("source"):
            # up to where the body begins; names of annotations and defaults do no harm
            header = re.split(r":\s*(#.*)?\n", function["source"].partition("def ")[2], maxsplit=1)[
                0
            ]
            return re.findall(r"\w+", header)
    return None


#: how torch tells of the contexts that it does not know, at a break inside of them
_OWN_CONTEXTS = re.compile(r"Active generic context managers: \[(.*)\]")
_CHECKPOINTED = (
    " What torch.utils.checkpoint calls at %s is not compiled either, in the forward pass and "
    "where it is computed again: torch.compile is off inside of it."
)


class Node(Titled):
    """One compile with its place in the run."""

    def __init__(
        self, run: Document, function: Optional[Document], entry: Document, key: str
    ) -> None:
        super().__init__(function, entry)
        self.run = run
        self.key = key
        self.number = 1
        self.of = 1
        self.callers: List["Node"] = []
        self.siblings = [self]  # the compiles of one function, this one among them
        self.children: List["Node"] = []  # nodes of the resume functions that it calls
        # globals of those that it calls and of which torch made no compile
        self.uncompiled: List[str] = []
        self.outer: Optional["Node"] = (
            None  # in whose code, as Python runs it, the frame was called
        )
        self.called_at = ("", 0)  # there: file and line of the program
        self.frames: List["Node"] = []  # the nodes of which this one is the `outer`
        # compiles, made at other calls, of what it calls where its graph breaks in that
        self.calls_made: List["Node"] = []
        # functions that torch gave up, which run between `outer` and this one, outermost first
        self.by_way: List["Node"] = []
        # the compile in whose code the call was that made this one, where the stack tells
        self.parent: Optional["Node"] = None
        self.began = 0.0  # seconds, comparable within a run
        # of the run: file -> attributes that its guards tell to be floats, once asked for
        self.floats_in: Dict[str, Set[str]] = {}
        # what its calls took, for each profile: see `runtime.profiles_of`
        self.runtime: List[Any] = []
        self.phases = phases(entry)
        self.seconds = sum(self.phases.values())
        self.kernels = count_kernels(entry)
        self.breaks = [words.of_break(found) for found in entry.get("breaks") or ()]
        for raw, one in zip(entry.get("breaks") or (), self.breaks):
            words.describe_logged_alone(one, self.title, self.place[0])
            words.describe_list(one, self._entries())
            words.describe_computed(one, self.way_to(raw))
        failure = str(entry.get("failure") or "")
        said = failure.partition(": ")[2].split("\n", 1)[0]
        fatal = [one for one in self.breaks if said and said in one["raw"]][
            -1:
        ]  # the break that torch gave up at
        self.cuts = [one for one in self.breaks if one not in fatal]
        metrics = entry.get("metrics") or {}
        self.failure: Optional[words.Said] = None
        if failure:
            at = entry.get("failure_operation") or "", entry.get("failure_stack") or ()
            self.failure = words.of_failure(failure, fatal, metrics, *at)
        else:
            self.failure = words.of_nothing(entry, words.skipped_at(run, entry) is not None)
        if self.failure and not self.failure["line"]:
            self.failure["file"] = str(metrics.get("fail_user_frame_filename") or "")
            self.failure["line"] = whole_number(metrics.get("fail_user_frame_lineno"))
        if self.failure and self.failure["row"] == "nothing to compile":
            if uses.returns_what_it_got(*self.place):  # no call of it has anything to compile
                self.failure.update(help=[], patches=[])
        if self.failure:
            words.describe_needed_constant(self.failure)
        if self.failure and self.failure["row"] == "iterator" and self._is_comprehension():
            # its argument is what Python made of the list: no change of that line gives another
            why = "torch compiles it by itself because it did not take in the function around it."
            self.failure.update(help=[], patches=[], hints=[], why=why)
        for graph_break, told in zip(entry.get("breaks") or (), self.breaks):
            if told in fatal:
                self._say_where_it_is_uncut(graph_break)
                self._say_what_is_checkpointed(graph_break)
        # looked for in the whole run, and only reasons ask for them
        resumed = function if self.is_resume and entry.get("reasons") else None
        self.reasons = reasons_of(self, _parameters(run, resumed) if resumed else None)

    def _entries(self) -> List[Document]:
        """The compiles of its function, this one among them."""
        return list((self.function or {}).get("entries") or [self.entry])

    def tried(self, compile_id: str) -> Optional[Document]:
        """The earlier entry that a reason names; ids start again after torch._dynamo.reset()."""
        tried = None
        for entry in (self.function or {}).get("entries") or ():
            if entry is self.entry:
                break
            if entry.get("compile_id") == compile_id:
                tried = entry
        return tried

    def earlier(self) -> List[Document]:
        """The entries of this function that torch had when it made this one."""
        found: List[Document] = []
        for entry in (self.function or {}).get("entries") or ():
            if entry is self.entry:
                break
            if str(entry.get("compile_id")).endswith("/0"):  # the first after torch._dynamo.reset()
                found = []
            if not entry.get("failure"):
                found.append(entry)
        return found

    def called_inside(self, outer: "Node", at: Tuple[str, int]) -> None:
        """The call is in `outer`'s code, at a (file, line) of the program; if that is compiled,
        something can be done before it only about what that is given itself, and hands on.
        """
        self.outer = outer
        self.called_at = at
        outer.frames.append(self)
        if outer.entry.get("name") and self.reasons:
            names = [one for one in given.parameters(self.place) if self.source_of_parameter(one)]
            self.reasons = reasons_of(self, names)
            for reason in self.reasons:
                # advice for two values that differ together is for the other first
                name = reason["beside"] or reason["name"]
                source_of_parameter = self.source_of_parameter(words.argument_of(name))
                if source_of_parameter is not None:
                    words.describe_handed_on(reason, source_of_parameter.title)
                else:
                    words.drop_marks(reason)

    def source_of_parameter(self, name: str) -> Optional["Node"]:
        """The compile whose caller, code that is not compiled, gives what the code in between hands
        on as a parameter; None where that is made in between.
        """
        node = self
        seen: Set[int] = set()  # a dump may hold parts that call each other in a circle
        while id(node) not in seen:
            seen.add(id(node))
            if node.is_resume and node.callers:
                node = node.callers[0]
                continue
            if node.outer is None or not node.outer.entry.get("name"):
                return node
            name = given.handed_on(node.called_at, node.place, name)
            if not name:
                return None
            node = node.outer
        return None

    def hands_on(self, reason: words.Said) -> bool:
        """Whether a reason is about a value that a graph break handed to this rest of a function,
        and that is none of the function's parameters.
        """
        if words.is_on_stack(reason):
            return True
        root = re.split(r"\W", words.argument_of(reason["name"]))[0]
        parameters = reason["parameters"]
        return bool(
            self.is_resume
            and root
            and parameters is not None
            and root not in parameters
            and not words.is_of_global(reason)
        )

    def called_by_plain_code(self) -> None:
        """torch gave a function up, and compiles what that calls: of a library's function nobody
        can say then what it is given.
        """
        plain = self.outer is None or not self.outer.entry.get("name")
        if plain and words.in_library(self.place[0]) and not self.caller[1]:
            self.reasons = reasons_of(self, [])

    def _is_comprehension(self) -> bool:
        """Whether it is what Python up to 3.11 makes a function of: it is given an iterator."""
        return self.title.rpartition(".")[2] in ("<listcomp>", "<setcomp>", "<dictcomp>")

    @property
    def is_limit(self) -> bool:
        """Whether this was no compile: torch had compiled the function too often."""
        return self.failure is not None and self.failure["row"] == "limit"

    @property
    def beside(self) -> str:
        """What follows its title where other code has the same title."""
        through = ", through " + self.through if self.through else ""
        return through + self.elsewhere

    @property
    def where(self) -> str:
        """Its file and line, in words."""
        if self.is_backward_pass and not self.is_resume:
            return TRACED_BACKWARD
        return "%s:%d" % self.place if self.place[1] else self.place[0]

    @property
    def runs_on(self) -> int:
        """The line from which on the function's own code runs behind the graph; 0 for none."""
        return whole_number(self.entry.get("runs_on"))

    @property
    def rest_in_words(self) -> str:
        """What is said of the function's own code that runs behind the graph; "" for none."""
        said = words.runs_on_from(self.runs_on) if self.runs_on else ""
        return said[:1].upper() + said[1:]

    def no_compile_of(self, name: str) -> str:
        """What is said of a resume function of those that it calls, of which torch made none."""
        outer = words.given_to(str(self.entry.get("source") or ""), name)
        outer = "" if outer in self.uncompiled else outer
        calls = len(self.entry.get("calls") or ())
        called = (self.entry.get("rests_called") or {}).get(name)
        called = called if isinstance(called, bool) else None
        return words.no_compile_of_rest(calls, outer, self._ended_well(), called)

    def came_to(self, name: str) -> str:
        """What is known of the calls of a resume function without a compile, for a label: the code
        of one may have several names, so that another compile's calls reached it.
        """
        called = (self.entry.get("rests_called") or {}).get(name)
        if called is False:
            return "not called"
        every = [
            entry
            for function in self.run.get("functions") or ()
            for entry in function.get("entries") or ()
        ]
        known = (self.entry.get("aliases") or {}).get(name, name)
        again = [
            one
            for entry in every
            for one, first in (entry.get("aliases") or {}).items()
            if known in (one, first)
        ]
        return "plain Python" if called and not again else "no compile"

    def _ended_well(self) -> bool:
        """Whether no exception ended the block, which a run tells that has ended."""
        return not self.run.get("error") and not self.run.get("open")

    @property
    def frame(self) -> Tuple[Any, ...]:
        """What torch compiles by itself, and counts for its limit: one code object. The rests of a
        function behind two breaks of one line have one title and one place.
        """
        number = str(self.entry.get("compile_id") or "").rpartition("/")[0]
        return id(self.run), self.place, number or self.title

    @property
    def caller(self) -> Tuple[str, int, str]:
        """The reader's own line that led to a library's function: file, line, code; ("", 0, "") for
        functions of the reader's own.
        """
        is_library = words.in_library(self.place[0])  # of a wrapper, the place is the reader's line
        return words.users_line(self.stack) if is_library else ("", 0, "")

    def way_to(self, graph_break: Document) -> List[Tuple[str, int]]:
        """(file, line) of the frames from the function itself to a break, outermost first; [] where
        torch does not tell.
        """
        metrics = self.entry.get("metrics") or {}
        own = str((self.function or metrics).get("filename") or metrics.get("co_filename") or "")
        name = str((self.function or {}).get("name") or metrics.get("co_name") or "")
        names = name, resumed(name)[0]  # torch tells of the rest of a function by either
        way: List[Tuple[str, int]] = []
        for frame in reversed([str(one) for one in graph_break.get("user_stack") or ()]):
            found = parse_frame(frame)
            if found is None:
                continue
            way.insert(0, found[:2])
            if found.path == own and found.name in names:
                if self.has_line(way[0][1]):  # else a method of another class
                    return way
        # torch leaves out the function itself where others are between it and the break
        rests = (one.resumes_at for one in self.children if self._continues_in(one))
        line = next(rests, 0) if way else 0
        return [(own, line), way[-1]] if line and way[-1] != (own, line) else []

    def _continues_in(self, rest: "Node") -> bool:
        """Whether a resume function goes on with this function, and not with one that it calls."""
        function, other = self.function or {}, rest.function or {}
        names = [resumed(str(one.get("name")))[0] or one.get("name") for one in (function, other)]
        same = names[0] == names[1] and function.get("filename") == other.get("filename")
        return rest.is_resume and same and self.has_line(rest.resumes_at)

    def callee_of(self, graph_break: Document) -> str:
        """The function that a break is in, where its code calls that; "" for its own."""
        frames = [parse_frame(str(one)) for one in graph_break.get("user_stack") or ()]
        found = [one for one in frames if one is not None]
        if not found:
            return ""
        file, at, name, _ = found[-1]
        metrics = self.entry.get("metrics") or {}
        own = str((self.function or {}).get("filename") or metrics.get("co_filename") or file)
        if len(self.way_to(graph_break)) < 2 and own == file and self.has_line(at):
            return ""
        owner = uses.class_at(file, at) if name == self.title.rpartition(".")[2] else ""
        return "%s.%s" % (owner, name) if owner else name

    def has_line(self, line: int) -> bool:
        """Whether a line of its file can be one of the function, with the rests of it; False only
        where that is known.
        """
        whole = self.whole()
        lines = _lines_of(whole.function or {})
        if whole.function is None:
            metrics = whole.entry.get("metrics") or {}
            first = whole_number(metrics.get("co_firstlineno") or 0)
            own = uses.function_starting_at(str(metrics.get("co_filename") or ""), first)
            lines = range(first, uses.last_line(own) + 1) if own is not None else ()
        return not lines or line in lines

    def whole(self) -> "Node":
        """The compile of the function of which this one is a rest."""
        node, met = self, {id(self)}
        while node.is_resume and node.callers and id(node.callers[0]) not in met:
            node = node.callers[0]  # a dump may hold a circle
            met.add(id(node))
        return node

    def breaks_inside(self, inner: "Node") -> List[words.Said]:
        """The breaks of this compile that are in a function which its code calls."""
        function = inner.function or {}
        file, first = inner.place
        lines = range(first, first + max(1, str(function.get("source") or "").count("\n")))
        found = []
        for graph_break, told in zip(self.entry.get("breaks") or (), self.breaks):
            places = frame_places(graph_break.get("user_stack") or ())
            if any(path == file and line in lines for path, line in places):
                found.append(told)
        return found

    def cuts_below(self, line: int) -> List[words.Said]:
        """The breaks of the functions that its code calls at a line, of their rests, and of what
        those call: each splits this function after that line.
        """
        work = [one for one in self.frames if one.called_at[1] == line]
        seen: Set[int] = set()  # a dump may hold parts that call each other in a circle
        found = []
        while work:
            node = work.pop()
            if id(node) not in seen:
                seen.add(id(node))
                work += node.children + node.frames
                found += node.breaks + ([node.failure] if node.failure else [])
        return [one for one in found if one["line"]]

    def _say_what_is_checkpointed(self, graph_break: Document) -> None:
        """Says of a function that runs as plain Python what it calls through torch's checkpoint."""
        way = self.way_to(graph_break)
        lines = uses.checkpoints_in(*way[0]) if way else []
        if lines and self.failure is not None and self.failure["then"]:
            named = " and ".join("line %d" % one for one in lines)
            self.failure["then"] += _CHECKPOINTED % named

    def _say_where_it_is_uncut(self, graph_break: Document) -> None:
        """Says of a break at which torch gave the function up in which loop or `try` it is."""
        way = self.way_to(graph_break)
        around = uses.uncut_around(*way[0]) if way else []
        if self.failure is None or self.failure["row"] == "limit":
            return
        of_program = _OWN_CONTEXTS.search(str(graph_break.get("text") or ""))
        entered = [(at[0], one) for at in way for one in uses.contexts_around(*at)]
        if of_program and entered:
            self.failure["then"] = "It is inside the %s, with an object of %s, so %s" % (
                " and the ".join("`with` of %s" % short_place(*one) for one in entered),
                " and ".join(re.findall(r"Variable\((\w+)\)", of_program.group(1))) or "a class",
                "torch cannot split a graph there: " + words.gives_up(self.is_resume),
            )
            return
        if not around:
            return
        in_loop = "inside a loop" in self.failure["then"]  # as torch says
        if not in_loop and all(kind != "try" for kind, _ in around):
            return
        where = " in the ".join("`%s` of line %d" % one for one in reversed(around))
        subject = "It is in the "
        if way[1:]:
            named = ", ".join(short_place(*one) for one in way)
            subject = "It is reached by way of %s; the first is in the " % named
        self.failure["then"] = "%s%s, where torch cannot split a graph, so %s" % (
            subject,
            where,
            words.gives_up(self.is_resume),
        )

    @property
    def is_empty(self) -> bool:
        """Whether torch traced it to its end and made nothing of it."""
        entry = self.entry
        return bool(entry.get("metrics")) and not (
            entry.get("name")
            or entry.get("failure")
            or entry.get("breaks")
            or entry.get("artifacts")
        )

    @property
    def operations(self) -> Optional[int]:
        count = (self.entry.get("metrics") or {}).get("graph_op_count")
        return count if isinstance(count, int) else None


def _lines_of(function: Document) -> Sequence[int]:
    """The lines of a function in its file; () where its source is not the file's."""
    if function.get("source_origin") != "file" or not function.get("firstlineno"):
        return ()
    first = whole_number(function["firstlineno"])
    return range(first, first + str(function.get("source") or "").rstrip("\n").count("\n") + 1)
