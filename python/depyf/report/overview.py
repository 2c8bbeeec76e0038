"""What a run comes to: times, causes by what they cost, and how its functions, graphs and kernels
follow each other.
"""

import ast
import re
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from depyf import advice, schema
from depyf.advice import conditions, given, uses
from depyf.model import TRACED_BACKWARD, backward_of, is_backward_pass, resumed_after
from depyf.report import savings, words
from depyf.report.words.stacks import FRAME_IN, frame_places, short_place
from depyf.schema import Document
from depyf.trace.names import resumed
from depyf.trace.vocabulary import stack_lines

#: a cause, and a row of what could be saved: see `causes`, `avoidable`
Cause = Dict[str, Any]
Row = Dict[str, Any]

_KERNEL = re.compile(
    r"^\w+ = async_compile\.|^\s+(\w+ = )?(extern_kernels|torch\.ops\.\w+)\.\w+", re.MULTILINE
)

#: phases of a compile in their order, with what they are called on the page
PHASES = (
    ("dynamo", "Dynamo", "traces Python bytecode into a graph"),
    ("aot", "AOTAutograd", "makes forward and backward graphs of it"),
    ("backend", "Backend", "what the backend does with the graph, without AOTAutograd"),
    ("inductor", "Inductor", "lowers the graphs and generates kernels"),
    ("kernels", "Kernel compiler", "compiles what Inductor generated (C++, Triton)"),
    (
        "autotuning",
        "Autotuning",
        "compiles candidates for a kernel, runs them and takes the fastest",
    ),
    (
        "backward",
        "Backward",
        "Inductor's work on a backward graph that was compiled when it was first needed",
    ),
)


def _seconds(metrics: Document, *names: str) -> float:
    for name in names:
        value = metrics.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15:
            return value / 1e6 if name.endswith("_us") else float(value)
    return 0.0


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


#: torch's events that a compiler of kernels takes, as in web/src/events.ts
_COMPILER = re.compile(
    r"(compile_file|async_compile|triton|CachingAutotuner|PyCodeCache|TritonBundler)", re.IGNORECASE
)
#: and those of candidates for a kernel: compiling them counts as a part of it
_TUNING = re.compile(
    r"\w+_template_|benchmark_|CachingAutotuner\.(benchmark|coordinate|combo)"
    r"|collective_compute_do"
)
_BACKWARD = re.compile(r"(^|[._])(backward|bw_compiler)")


def _seconds_of(entry: Document, *kinds: "re.Pattern[str]") -> float:
    """Seconds that torch's events of these kinds cover, those of a backward left out."""
    events = [
        (row[1], row[1] + row[2], str(row[0]))
        for row in entry.get("events") or ()
        if len(row) == 3 and all(isinstance(value, (int, float)) for value in row[1:])
    ]
    backward = [(start, end) for start, end, name in events if _BACKWARD.search(name)]
    total, reached = 0.0, float("-inf")
    for start, end, name in sorted(events):
        if any(kind.match(name) for kind in kinds) and not any(
            first <= start and end <= last for first, last in backward
        ):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
    return total / 1e6


#: torch's events inside AOTAutograd, and what it leaves, also when it comes from a cache
_AOT = re.compile(r"create_aot_dispatcher|aot_|AOTAutograd")
_OF_AOT = frozenset(schema.STAGES) - {"Captured_Graph"}


def _ran_aot(entry: Document) -> bool:
    """Whether the backend used AOTAutograd; torch's metrics count any backend's time as its."""
    names = [str(row[0]) for row in entry.get("events") or () if row]
    names += [str(one.get("stage") or "") for one in entry.get("artifacts") or ()]
    return any(_AOT.match(name) or name in _OF_AOT for name in names)


def phases(entry: Document) -> Dict[str, float]:
    """Seconds of each phase of one compile, from torch's compilation metrics and events: phase ->
    seconds.
    """
    metrics = entry.get("metrics") or {}
    total = _seconds(
        metrics, "dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s", "duration_us"
    )
    backend = _seconds(metrics, "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s")
    inductor = _seconds(metrics, "inductor_cumulative_compile_time_us", "inductor_compile_time_s")
    waited = _seconds(metrics, "triton_compile_time_us")
    tuning = kernels = 0.0
    if inductor > 0:  # of which they are parts
        tuning = min(_seconds_of(entry, _TUNING), inductor)
        # torch's own sum is the time that it waited for compilers at the end alone
        compilers = _seconds_of(entry, _COMPILER, _TUNING) - tuning
        kernels = min(max(waited, compilers), inductor - tuning)
    backward = _seconds(
        entry.get("backward_metrics") or {},
        "duration_us",
        "inductor_cumulative_compile_time_us",
        "inductor_compile_time_s",
    )
    found = {
        "dynamo": max(0.0, total - backend),
        "aot" if inductor > 0 or _ran_aot(entry) else "backend": max(0.0, backend - inductor),
        "inductor": max(0.0, inductor - kernels - tuning),
        "kernels": kernels,
        "autotuning": tuning,
        "backward": backward,
    }
    return {name: round(value, 6) for name, value in found.items() if value > 0}


def seconds(entry: Document) -> float:
    """Seconds of one compile, its backward included."""
    return sum(phases(entry).values())


def count_kernels(entry: Document) -> int:
    """Kernels that the generated code of one compile defines or calls in libraries."""
    return sum(
        len(_KERNEL.findall(artifact.get("text") or ""))
        for artifact in entry.get("artifacts", ())
        if artifact.get("kind") == "kernel"
    )


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


#: torch's name for the variables of a resume function's callers
_OF_FRAME = "__nested_frame_values"


def _given_to_rest(run: Document, name: str) -> Sequence[ast.expr]:
    """What the first code that calls a resume function gives it; () where it is not there."""
    for function in run.get("functions") or ():
        for entry in function.get("entries") or ():
            calls = {name} & {*(entry.get("calls") or ()), *(entry.get("aliases") or {}).values()}
            tree = uses.tree_of(str(entry.get("source") or "")) if calls else None
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    called = node.func.id
                    if (entry.get("aliases") or {}).get(called, called) == name:
                        return node.args
    return ()


def _state_guard(entry: Document) -> str:
    """The guard of a compile on torch's global state, as text; "" for none."""
    for guard in entry.get("guards") or ():
        if guard.get("kind") == "GLOBAL_STATE":
            return str(guard.get("text") or "")
    return ""


_RESUMED_AFTER = re.compile(r"(.+), resumed after line (\d+)$", re.S)
_OF_TENSOR = re.compile(r"tensor '(.+?)' ")
_PLACE = re.compile(r"  # (\S+?:\d+) in ")
_COMMENT = re.compile(r"# (?P<code>.*?)  # (?P<file>.+):(?P<line>\d+) in ")


class Node:
    """One compile with its place in the run."""

    def __init__(
        self, run: Document, function: Optional[Document], entry: Document, key: str
    ) -> None:
        self.run = run
        self.function = function
        self.entry = entry
        self.key = key
        self.number = 1
        self.of = 1
        # what tells it from another rest of the same title; "" where none is
        self.apart = ""
        # before or after which torch._dynamo.reset() it is; "" in a run without one
        self.reset = ""
        self.elsewhere = ""  # the place, where another function has the same title
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
        # functions that torch gave up, which run between `outer` and this one, outermost first
        self.by_way: List["Node"] = []
        # the compile in whose code the call was that made this one, where the stack tells
        self.parent: Optional["Node"] = None
        self.began = 0.0  # seconds, comparable within a run
        # the frames that led to the compile; those in transformed code at the lines of the reader's
        self.stack: List[str] = [str(frame) for frame in entry.get("user_stack") or ()]
        # what its calls took, for each profile: see `runtime.profiles_of`
        self.runtime: List[Any] = []
        self.phases = phases(entry)
        self.seconds = sum(self.phases.values())
        self.kernels = count_kernels(entry)
        self.breaks = [words.of_break(found) for found in entry.get("breaks") or ()]
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
            self.failure = words.of_nothing(entry)
        if self.failure and not self.failure["line"]:
            self.failure["file"] = str(metrics.get("fail_user_frame_filename") or "")
            self.failure["line"] = _whole(metrics.get("fail_user_frame_lineno"))
        if self.failure and self.failure["row"] == "iterator" and self._is_comprehension():
            # its argument is what Python made of the list: no change of that line gives another
            why = "torch compiles it by itself because it did not take in the function around it."
            self.failure.update(help=[], patches=[], hints=[], why=why)
        for graph_break, told in zip(entry.get("breaks") or (), self.breaks):
            if told in fatal:
                self._say_where_it_is_uncut(graph_break)
        # looked for in the whole run, and only reasons ask for them
        resumed = function if self.is_resume and entry.get("reasons") else None
        self.reasons = self._reasons(_parameters(run, resumed) if resumed else None)

    def _reasons(self, parameters: Optional[Sequence[str]]) -> List[words.Said]:
        """What the reasons of this compile say, the cause first."""
        source, line = "", 0
        if self.function and self.is_resume:
            source, line = self.function.get("source") or "", self.resumes_at
        handed: Sequence[ast.expr] = ()
        if any(_OF_FRAME in str(reason) for reason in self.entry.get("reasons") or ()):
            handed = _given_to_rest(self.run, str((self.function or {}).get("global_name")))
        found = [
            words.of_reason(str(reason), source, line, parameters, handed)
            for reason in self.entry.get("reasons") or ()
        ]
        for reason in found:
            self._place_of_tensor(reason)
            words.place_reason(reason, self._stacks_of(reason["tried"]))
            words.describe_rate(reason, self.caller[0])
            whole = str((self.function or {}).get("source") or "")
            _fill_after(reason, self.entry, whole, self.breaks, self.place)
            words.describe_decision(reason, self.place, _known(self.entry))
            at = re.search(r"stride mismatch at index (\d+)", reason["failed"])
            if at is not None:
                sizes = _sizes(self.tried(reason["tried"]) or {})
                dimension = words.short(reason["name"]), int(at.group(1))
                words.describe_stride(reason, sizes.get(dimension, ""))
            small = reason["row"] == "size" and self.tried(reason["tried"])
            beside = _small_beside(small, self.entry) if small else None
            changed = _changed_sizes(small, self.entry) if small else []
            if changed:
                words.describe_sizes(reason, changed)
            if beside is not None:
                words.describe_small(reason, *beside)
            elif reason["row"] in words.SYMBOLIC or reason["row"] == "growing cache":
                self._say_why_constant(reason)
                if reason["row"] in words.SYMBOLIC:
                    self._look_beside(reason)
            if reason["row"] == "growing list":
                words.describe_methods(reason, self.place)
            self._compare_wrapped(reason)
            if reason["row"] in ("flag", "text", "value"):
                words.describe_object(reason)
            if reason["row"] in ("length", "other length") and self._has_texts(reason):
                words.describe_texts(reason)
            if self.is_resume and reason["kind"] == "value" and words.is_kept(reason):
                if not reason["help"] or "is for it alone, too" in reason["words"]:
                    words.describe_kept(reason, line)
            if reason["kind"] == "global state":
                self._compare_states(reason)
            if words.in_library(self.place[0]) and words.is_handed_on(reason["name"]):
                # a library's wrapper hands on what it is given: no line of the reader's passes it
                words.keep_advice_of_compile(reason, self.caller)
            if self.failure and not self.is_limit:
                # torch made symbolic what changed, and failed: what spares the compile would not
                reason.update(help=[], patches=[])
        # an entry of another mode, or for another of a few values, fits in no case; why that of the
        # same one does not is the cause
        apart = advice.MODES + advice.OF_A_FEW
        objects = {id(one): self._other_object(one["tried"]) for one in found}
        for one in found:
            one["of_another"] = objects[id(one)] is not None

        def key(reason: words.Said) -> Tuple[bool, bool]:
            of_another = reason["row"] in apart or self._is_of_another_state(reason, found)
            other = objects[id(reason)] is not None or bool(self._wrapped_before(reason))
            return other, of_another

        found = sorted(found, key=key)
        differing = objects[id(found[0])] if found else None
        if differing is not None:  # no entry was made for this object
            words.describe_other_object(found[0], *differing)
        return found

    def _other_object(self, compile_id: str) -> Optional[Tuple[str, str, str]]:
        """(attribute, its value then, its value now) by which an earlier entry was made for another
        object of a class than this one: it fits in no case, and why torch looks at first.
        """
        before, now = of_object(self.tried(compile_id) or {}), of_object(self.entry)
        for name, value in before.items():
            if now.get(name, value) != value and now[name] not in ("int", "float"):  # symbolic
                sizes = value.startswith("[")  # of a parameter, which no module changes
                if sizes or self._is_of_each_object(name):
                    return name, value, now[name]
        return None

    def _is_of_each_object(self, name: str) -> bool:
        """Whether an attribute is what its object was made with: the class may be in another file
        than the function.
        """
        files = dict.fromkeys([self.place[0], *self._files()])
        return any(uses.is_of_each_object(file, name) for file in files)

    def _files(self) -> Iterable[str]:
        """The files of the lines that a compile traced, and of those that led to it."""
        for file, _ in frame_places(self.stack):
            if not words.in_library(file) or "-packages" in file:
                yield file
        for artifact in self.entry.get("artifacts") or ():
            for place in (artifact.get("structure") or {}).get("places") or ():
                yield str(place[0])

    def _is_of_another_state(self, reason: words.Said, reasons: Sequence[words.Said]) -> bool:
        """Whether an entry is for another state than that of the call (a cache that is empty, a
        size of 1), where another entry, for the same state, does not fit for another reason: that
        entry is the one nearest to the call.
        """
        if reason["row"] not in advice.NO_ACTION:
            return False
        made = _state_of(reason, self.entry)
        if not made or made == _state_of(reason, self.tried(reason["tried"])):
            return False
        others = [one for one in reasons if one["row"] not in advice.NO_ACTION]
        return any(_state_of(reason, self.tried(one["tried"])) == made for one in others)

    def _say_why_constant(self, reason: words.Said) -> None:
        """Says of a size that was symbolic, and a constant of the entry that was tried all the
        same, why: dynamic=True or a mark is there already.
        """
        settings = (self.entry.get("metrics") or {}).get("settings")
        if isinstance(settings, dict) and settings.get("assume_static_by_default") is False:
            words.keep_unless_dynamic(reason)
        tried = self.tried(reason["tried"])
        at = re.search(r"size mismatch at index (\d+)", reason["failed"])
        if tried is None or at is None:
            return
        dimension = words.short(reason["name"]), int(at.group(1))
        of_tried, of_this = _symbolic(tried), _symbolic(self.entry)
        shared = [
            other
            for other, size in _sizes(tried).items()
            if other != dimension and size == reason["before"]
            # one symbol for both is that of the first of them
            if (other in of_tried) != (dimension in of_tried)
            and of_this.issuperset({other, dimension} - of_tried)
        ]
        if shared:
            words.describe_equal_sizes(reason, dimension, shared[0])
        elif dimension in of_tried:
            decided = [
                one for one in tried.get("conditions") or () if isinstance(one, (list, tuple))
            ]
            stacks = [[str(one) for one in stack] for stack in decided]
            words.describe_decided_size(reason, stacks)

    def _look_beside(self, reason: words.Said) -> None:
        """Says of a number that is symbolic now why that spares no compile, where it does not."""
        tried = self.tried(reason["tried"])
        if tried is None:
            return
        source = str((self.function or {}).get("source") or "")
        other = _constant_beside(reason, tried, self.entry, source, self.place)
        before = {one.get("reason") for one in tried.get("breaks") or ()}
        if other is not None:
            words.describe_beside(reason, other)
        elif any(one.get("reason") not in before for one in self.entry.get("breaks") or ()):
            words.describe_stop(reason)

    def _has_texts(self, reason: words.Said) -> bool:
        """Whether a list whose length changed holds texts, by which compile the guards tell."""
        form = re.compile(re.escape(words.short(reason["name"])) + r"\[\d+\] == ['\"]")
        entries = [self.entry, self.tried(reason["tried"]) or {}]
        guards = [guard for entry in entries for guard in entry.get("guards") or ()]
        return any(form.match(words.short(str(one.get("text") or ""))) for one in guards)

    def tried(self, compile_id: str) -> Optional[Document]:
        """The earlier entry that a reason names; ids start again after torch._dynamo.reset()."""
        tried = None
        for entry in (self.function or {}).get("entries") or ():
            if entry is self.entry:
                break
            if entry.get("compile_id") == compile_id:
                tried = entry
        return tried

    def _stacks_of(self, compile_id: str) -> List[List[str]]:
        """Stacks of the lines that made the guards of an earlier entry."""
        tried = self.tried(compile_id) or {}
        stacks = list(tried.get("conditions") or ())
        stacks += [stack_lines(one.get("user_stack"), {}) for one in tried.get("symbols") or ()]
        stacks += [one["user_stack"] for one in tried.get("guards") or () if one.get("user_stack")]
        return stacks

    def _place_of_tensor(self, reason: words.Said) -> None:
        """The line because of which a tensor is guarded; torch's reason for one names none."""
        match = _OF_TENSOR.match(reason["failed"])
        tried = self.tried(reason["tried"]) if match and not reason["line"] else None
        for guard in (tried or {}).get("guards") or ():
            if guard.get("kind") != "TENSOR_MATCH" or not match:
                continue
            made = _COMMENT.match(str(guard.get("comment") or ""))
            if made and words.short(str(guard.get("source") or "")) == match.group(1):
                reason.update(file=made["file"], line=int(made["line"]), source=made["code"])
                break

    def _compare_states(self, reason: words.Said) -> None:
        tried = self.tried(reason["tried"])
        if tried is not None:
            words.describe_state(reason, _state_guard(tried), _state_guard(self.entry))

    def _compare_wrapped(self, reason: words.Said) -> None:
        """Says of the code of a decorator's wrapper which functions it is around."""
        before = self._wrapped_before(reason)
        if before:
            words.describe_wrapped(reason, before, self.title)

    def _wrapped_before(self, reason: words.Said) -> str:
        """The other function for which a decorator's wrapper was compiled when the entry was made
        that a reason names; "" where it was the same.
        """
        tried = self.tried(reason["tried"]) if self.through else None
        if tried is None:
            return ""
        before = str(tried.get("qualname") or (self.function or {}).get("qualname") or "")
        before = resumed(before)[0] or before
        return before if before != self.title else ""

    def called_inside(self, outer: "Node", at: Tuple[str, int]) -> None:
        """The call is in `outer`'s code, at a (file, line) of the program; if that is compiled,
        something can be done before it only about what that is given itself, and hands on.
        """
        self.outer = outer
        self.called_at = at
        outer.frames.append(self)
        if outer.entry.get("name") and self.reasons:
            names = [one for one in given.parameters(self.place) if self.source_of_parameter(one)]
            self.reasons = self._reasons(names)
            for reason in self.reasons:
                # advice for two values that differ together is for the other first
                name = reason["beside"] or reason["name"]
                source_of_parameter = self.source_of_parameter(words.argument_of(name))
                if source_of_parameter is not None:
                    words.describe_handed_on(reason, source_of_parameter.title)
                if reason["row"] == "value of each object" and outer.cuts:
                    words.describe_apart(reason, outer.title, outer.key)

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
            self.reasons = self._reasons([])

    def _is_comprehension(self) -> bool:
        """Whether it is what Python up to 3.11 makes a function of: it is given an iterator."""
        return self.title.rpartition(".")[2] in ("<listcomp>", "<setcomp>", "<dictcomp>")

    @property
    def is_limit(self) -> bool:
        """Whether this was no compile: torch had compiled the function too often."""
        return self.failure is not None and self.failure["row"] == "limit"

    @property
    def is_resume(self) -> bool:
        if self.function is not None:
            return bool(self.function.get("is_resume"))
        return bool(self._rest()[0])

    def _rest(self) -> Tuple[str, int]:
        """(function, line) of which a frame without a function is the rest; ("", 0) for others."""
        metrics = self.entry.get("metrics") or {}
        told = _RESUMED_AFTER.match(str(self.entry.get("qualname") or ""))
        if told:
            return told.group(1), int(told.group(2))
        name, line = resumed(metrics.get("co_name") or self.entry.get("name"))
        return name, line or _whole(metrics.get("co_firstlineno"))

    @property
    def is_backward_pass(self) -> bool:
        """Whether it is what compiled autograd traced of a backward pass."""
        compile_id = str(self.entry.get("compile_id") or "")
        if self.function is None:
            return bool(re.match(r"!\d+$", compile_id))
        return compile_id.startswith("!") and str(self.function.get("filename")).startswith(
            "<eval_with_key>"
        )

    @property
    def title(self) -> str:
        """The function's name as its author wrote it."""
        known: Any
        if self.is_backward_pass and not self.is_resume:
            known = str((self.function or self.entry).get("qualname") or "")
            return known if is_backward_pass(known) else backward_of([])
        if self.function is None:
            if self.is_resume:
                return self._rest()[0]
            metrics = self.entry.get("metrics") or {}
            known = self.entry.get("qualname") or metrics.get("co_name") or self.entry.get("name")
            known = str(known or "unknown code")
        else:
            known = self.entry.get("qualname") or self.function.get("qualname")
            known = known or self.function.get("name") or "?"
            told = _RESUMED_AFTER.match(known) if self.is_resume else None
            if told:  # of a frame of which torch made no code
                return told.group(1)
        return resumed(known)[0] or known

    @property
    def called(self) -> str:
        """Its title, and where it goes on if it is a resume function."""
        title = resumed_after(self.title, self.resumes_at) if self.is_resume else self.title
        return title + self.apart

    @property
    def beside(self) -> str:
        """What stands behind its title, where other code of that title is to be told from it."""
        through = ", through " + self.through if self.through else ""
        return through + self.elsewhere

    @property
    def where(self) -> str:
        """Its place for people."""
        if self.is_backward_pass and not self.is_resume:
            return TRACED_BACKWARD
        return "%s:%d" % self.place if self.place[1] else self.place[0]

    @property
    def runs_on(self) -> int:
        """The line from which on the function's own code runs behind the graph; 0 for none."""
        return _whole(self.entry.get("runs_on"))

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
    def through(self) -> str:
        """The wrapper of a decorator whose code this is; "" for none."""
        return str((self.function or self.entry).get("through") or "")

    @property
    def caller(self) -> Tuple[str, int, str]:
        """The reader's own line that led to a library's function: file, line, code; ("", 0, "") for
        functions of the reader's own.
        """
        is_library = words.in_library(self.place[0])  # of a wrapper, the place is the reader's line
        return words.users_line(self.stack) if is_library else ("", 0, "")

    @property
    def resumes_at(self) -> int:
        if not self.is_resume:
            return 0
        if self.function is None:
            return self._rest()[1]
        return resumed(self.function.get("name"))[1] or int(self.function.get("firstlineno") or 0)

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
            match = FRAME_IN.match(frame)
            if match is None:
                continue
            way.insert(0, (match.group("file"), int(match.group("line"))))
            if match.group("file") == own and match.group("name") in names:
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
        frames = [FRAME_IN.match(str(one)) for one in graph_break.get("user_stack") or ()]
        names = [one.group("name").strip() for one in frames if one is not None]
        return names[-1] if len(self.way_to(graph_break)) > 1 else ""

    def has_line(self, line: int) -> bool:
        """Whether a line of its file can be one of the function, with the rests of it; False only
        where that is known.
        """
        lines = _lines_of(self.whole().function or {})
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

    def _say_where_it_is_uncut(self, graph_break: Document) -> None:
        """Says of a break at which torch gave the function up in which loop or `try` it is."""
        way = self.way_to(graph_break)
        around = uses.uncut_around(*way[0]) if way else []
        if not around or self.failure is None or self.failure["row"] == "limit":
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
    def place(self) -> Tuple[str, int]:
        """File and line of the function; of torch's wrapper around a module of a library, the
        reader's line that calls it.
        """
        if self.function is None:
            metrics = self.entry.get("metrics") or {}
            file, line = str(metrics.get("co_filename") or ""), metrics.get("co_firstlineno")
        else:
            file, line = self.function.get("filename") or "", self.function.get("firstlineno")
        called = words.users_line(self.stack) if _WRAPPERS.search(file) else ("", 0, "")
        return called[:2] if called[1] else (file, int(line or 0))

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


#: where torch keeps the function that it compiles in place of a library's module
_WRAPPERS = re.compile(r"[/\\]torch[/\\]_dynamo[/\\]external_utils\.py$")
_SIZES = re.compile(r"^check_tensor\((?P<name>[^,]+), .*?\bsize=\[(?P<sizes>[^\]]*)\]", re.DOTALL)


def _sizes(entry: Document) -> Dict[Tuple[str, int], str]:
    """(tensor, dimension) -> the size that the guards of a compile ask for."""
    found = {}
    for guard in entry.get("guards") or ():
        match = _SIZES.match(words.short(str(guard.get("text") or "")))
        if match is not None:
            for index, size in enumerate(match.group("sizes").split(",")):
                found[match.group("name"), index] = size.strip()
    return found


_OF_OBJECT = (
    re.compile(r"^check_tensor\((?P<name>self\b[^,]*), Parameter, .*size=(?P<value>\[.*?\])"),
    re.compile(
        r"^(?P<name>self\.[^=<>!]+?) == (?P<value>-?\d[\w.+-]*|[bB]?['\"].*|True|False)$", re.S
    ),
    re.compile(r"^___check_obj_id\((?P<name>self\.[^,]+), (?P<value>\d+)\)"),
    re.compile(r"^___check_type_id\((?P<name>self\.[^,]+), \d+\), type=<class '(?P<value>.*?)'>"),
    re.compile(r"^(?P<name>self\.\S+) is (?P<value>None)$"),
)
#: how torch names an attribute of a module that holds another, a parameter, or a buffer
_HELD = re.compile(r"\._(?:modules|parameters|buffers)\['(\w+)'\]")


def attribute_of(name: str) -> str:
    """An attribute as a program spells it: `self.linear` for `self._modules['linear']`."""
    return _HELD.sub(r".\1", words.short(name))


def of_object(entry: Document) -> Dict[str, str]:
    """Attribute of the object whose method was compiled, as a program spells it -> what the guards
    ask for: a value, a type, which object it is, the sizes of a parameter.
    """
    found: Dict[str, str] = {}
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        for match in filter(None, (form.match(text) for form in _OF_OBJECT)):
            value = match.group("value")
            if text.startswith("___check_obj_id"):
                value = words.OBJECT + value
            found.setdefault(attribute_of(match.group("name")), value)
            break
    return found


_SYMBOL = re.compile(r"^(?P<name>.+)\.size\(\)\[(?P<index>\d+)\]$")


def _symbolic(entry: Document) -> Set[Tuple[str, int]]:
    """(tensor, dimension) of the sizes of which torch made a symbol for a compile. Of sizes that
    are equal it makes one for the first alone, and a symbol may be a constant in the end.
    """
    sources = [words.short(str(one.get("source") or "")) for one in entry.get("symbols") or ()]
    found = [one for one in map(_SYMBOL.match, sources) if one is not None]
    return {(one.group("name"), int(one.group("index"))) for one in found}


_LENGTH = re.compile(r"^(?:len\((?P<name>[^=<>!]+)\) == (?P<count>\d+)|not (?P<empty>[^=<>!]+))$")
_VALUE = re.compile(
    r"^(?P<name>[^=<>!]+?) == (?P<value>-?\d[\w.+-]*|[bB]?['\"].*|True|False)$", re.S
)


def _asked(entry: Document) -> Dict[Tuple[str, str], Tuple[str, Document]]:
    """("value" or "length", name) -> (the one that the guards of a compile ask for, the guard)."""
    found = {}
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        value, length = _VALUE.match(text), _LENGTH.match(text)
        if length is not None:
            name = length.group("name") or length.group("empty")
            found["length", name] = length.group("count") or "0", guard
        elif value is not None:
            found["value", value.group("name")] = value.group("value"), guard
    return found


def _constant_beside(
    reason: words.Said, tried: Document, entry: Document, source: str, place: Tuple[str, int]
) -> Optional[words.Said]:
    """What is said of another value or length for which the entry that was tried was made, and the
    one that was made is for another; None where there is none. Torch names only the first guard
    that fails.
    """
    now = _asked(entry)
    for (what, name), (asked, guard) in _asked(tried).items():
        if name == words.short(reason["name"]) or now.get((what, name), (asked,))[0] == asked:
            continue
        stack = "\n".join(map(str, guard.get("user_stack") or ()))
        text = "%s  %s\n%s" % (guard["text"], guard.get("comment") or "", stack)
        other = words.of_reason(text, parameters=reason["parameters"])
        if not other["name"]:
            continue  # computed from several values: a condition, and no value of its own
        other["after"] = now[what, name][0]
        words.describe_constant(other, source=source, place=place, known=_known(entry))
        return other
    return None


#: what a guard asks for: one value, None, or what a tensor is
_IS_VALUE = re.compile(
    r"^(?P<name>[^=<>!(]+?) "
    r"(?:== (?P<value>-?\d[\w.+-]*|['\"].*['\"]|True|False)|is (?P<none>None))$"
)
_IS_TENSOR = re.compile(
    r"^check_tensor\((?P<name>[^,]+), .*?\), torch\.(?P<dtype>\w+), "
    r".*?requires_grad=(?P<grad>\w+)"
)
_OF_PROGRAM = re.compile(r"^(?!_)[A-Za-z]\w*(\.(?!_)\w+|\[(\d+|'\w+')\])*$")


def _asked_of(entry: Document) -> Dict[Tuple[str, str], str]:
    """("value", "dtype" or "grad", name) -> what the guards of a compile ask for."""
    found: Dict[Tuple[str, str], str] = {}
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        value, tensor = _IS_VALUE.match(text), _IS_TENSOR.match(text)
        if value is not None:
            found["value", value.group("name")] = value.group("value") or "None"
        elif tensor is not None:
            for what in ("dtype", "grad"):
                found[what, tensor.group("name")] = tensor.group(what)
    for symbol in entry.get("symbols") or ():
        name = words.short(str(symbol.get("source") or "")) if isinstance(symbol, dict) else ""
        found.setdefault(("value", name), "")
    return found


def _differing(reason: words.Said, tried: Document, entry: Document) -> List[Tuple[str, str, str]]:
    """(name, before, after) of what else two compiles ask for differently than what a reason names:
    the earlier one would not fit if the reason alone were gone. `after` is "" for any number.
    """
    now = _asked_of(entry)
    own = words.short(reason["name"])
    found = []
    for (what, name), before in _asked_of(tried).items():
        after = now.get((what, name), before)
        if after == before or name == own:
            continue
        if not after and (before in ("0", "1") or reason["row"] in words.SYMBOLIC):
            continue  # what makes one number symbolic makes the others so
        if _OF_PROGRAM.match(name) and ("None" not in (before, after) or what == "value"):
            form = "requires_grad=%s" if what == "grad" else "%s"
            found.append((name, form % before, form % after if after else ""))
    return found


def _numbers_beside(
    reason: words.Said, tried: Document, entry: Document
) -> List[Tuple[str, str, str]]:
    """(name, before, after) of the numbers that were constants of the earlier compile and had other
    values at the call that made this one, for which they are any numbers.
    """
    now = {
        words.short(str(one.get("source") or "")): str(one.get("val"))
        for one in entry.get("symbols") or ()
        if isinstance(one, dict)
    }
    own = words.short(reason["name"])
    return [
        (name, before, now[name])
        for (what, name), before in _asked_of(tried).items()
        if what == "value" and name in now and name != own and _OF_PROGRAM.match(name)
        if words.is_number(before) and words.is_number(now[name]) and before != now[name]
    ]


def _tell_differing(nodes: Sequence[Node]) -> None:
    """Says in the advice for a recompile what else has to change to spare it."""
    for node in nodes:
        for reason in node.reasons[:1]:
            if not reason["help"] or reason["beside"] or reason["of_another"]:
                continue
            if reason["row"] in advice.NORMAL + advice.NO_ACTION + ("value of each object",):
                continue
            tried = node.tried(reason["tried"])
            others = _differing(reason, tried, node.entry) if tried is not None else []
            if others:
                words.describe_differing(reason, others)
            elif tried is not None:
                words.describe_numbers(reason, _numbers_beside(reason, tried, node.entry))


def _small_beside(tried: Document, entry: Document) -> Optional[Tuple[str, int, str]]:
    """(tensor, dimension, size) of one that had a size of 0 or 1 in the entry that was tried, and
    has another in the one that was made: torch names only the first that differs.
    """
    now = _sizes(entry)
    for (name, index), size in _sizes(tried).items():
        if size in ("0", "1") and now.get((name, index), size) != size:
            return name, index, size
    return None


def _state_of(reason: words.Said, entry: Optional[Document]) -> str:
    """The state for which an entry is made of what a reason names, of those that torch compiles
    apart: given or None, a value, a size of 0 or 1; "" where its guards do not tell.
    """
    if entry is None:
        return ""
    name = words.short(reason["name"])
    at = re.search(r"mismatch at index (\d+)", reason["failed"])
    if reason["kind"] == "size" and at is not None:
        size = _sizes(entry).get((name, int(at.group(1))), "")
        return size if size in ("", "0", "1") else "from 2"
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        if text.startswith("check_tensor(%s," % name):
            return "given"
        if text == name + " is None":
            return "None"
        if text.startswith("%s == " % name):
            return text
    return ""


def _changed_sizes(tried: Document, entry: Document) -> List[Tuple[str, int]]:
    """(tensor, dimension) of each that has another size, or any, in the entry that was made."""
    now = _sizes(entry)
    return [one for one, size in _sizes(tried).items() if now.get(one, size) != size]


def _has_size(reason: words.Said, entry: Document) -> bool:
    """Whether the guards of a compile ask for that size alone for which it was made."""
    match = re.search(r"mismatch at index (\d+)", reason["failed"])
    if match is None:
        return False
    for guard in entry.get("guards") or ():
        found = _SIZES.match(words.short(str(guard.get("text") or "")))
        if found is not None and found.group("name") == words.short(reason["name"]):
            sizes = [one.strip() for one in found.group("sizes").split(",")]
            return sizes[int(match.group(1)) : int(match.group(1)) + 1] == [reason["after"]]
    return False


def _made_at(reason: words.Said, entry: Document) -> str:
    """The end of the place that made what a reason names a constant of an entry, as `f.py:12`; ""
    where torch does not tell.
    """
    wanted = "%s == %s" % (words.short(reason["name"]), reason["after"])
    for guard in entry.get("guards") or ():
        made = _PLACE.search(str(guard.get("comment") or ""))
        if made and words.short(str(guard.get("text") or "")) == wanted:
            return made.group(1)
    return ""


_FLOAT_OR_INT = re.compile(r"^___check_type_id\((?P<name>.+), \d+\), type=<class '(float|int)'>")
_NUMBER = re.compile(r"^(?P<name>[^=<>!(]+?) == -?\d[\w.+-]*$")


def _known(entry: Document) -> words.Known:
    """What the guards and the symbols of a compile tell of its function."""
    guards = [words.short(str(one.get("text") or "")) for one in entry.get("guards") or ()]
    matches = [form.match(text) for text in guards for form in (_FLOAT_OR_INT, _NUMBER)]
    fixed = [attribute_of(one.group("name")) for one in matches if one is not None]
    symbols = [one for one in entry.get("symbols") or () if isinstance(one, dict)]
    sources = [attribute_of(str(one.get("source") or "")) for one in symbols]
    numbers = [one for one in sources if re.match(r"^[\w.]+$", one)]
    stacks = [words.frame_places(map(str, one)) for one in entry.get("conditions") or ()]
    for symbol in symbols:
        frames = [one for one in symbol.get("user_stack") or () if isinstance(one, dict)]
        stacks.append([(str(one.get("filename")), _whole(one.get("line"))) for one in frames])
    double = any(re.search(r"^check_tensor\(.*\btorch\.float64\b", one) for one in guards)
    more = double, tuple(map(tuple, stacks)), tuple(dict.fromkeys(fixed))
    return words.Known(tuple(dict.fromkeys(numbers)), *more)


def _fill_after(
    reason: words.Said,
    entry: Document,
    source: str,
    breaks: Sequence[words.Said],
    place: Tuple[str, int],
) -> None:
    settings = (entry.get("metrics") or {}).get("settings")
    decided = [[str(one) for one in stack] for stack in entry.get("conditions") or ()]
    if reason["kind"] == "size" and _has_size(reason, entry):
        words.describe_constant(reason, settings, source, decided)
    if reason["kind"] == "shape condition" and words.is_of_float(reason["raw"]):
        words.describe_float(reason, decided, place, _known(entry))
        return
    # torch says what a value was; what it is now stands in the guards of the entry that was made
    # for it
    if (
        reason["after"]
        or not reason["name"]
        or reason["kind"] not in ("value", "type", "container")
    ):
        return
    wanted = words.short(reason["name"])
    for guard in entry.get("guards") or ():
        text = words.short(str(guard.get("text") or ""))
        if wanted not in text:
            continue
        if reason["kind"] == "value" and text.startswith(wanted + " == "):
            reason["after"] = text[len(wanted) + 4 :]
            # a float that is a constant is guarded by its value, with no guard of its type
            words.describe_value_of_type(reason, words.type_of_literal(reason["after"]))
        elif reason["kind"] == "container" and text.startswith("len(%s) == " % wanted):
            reason["after"] = text.rpartition(" == ")[2]
        elif (
            reason["kind"] == "type"
            and text.startswith("___check_type_id(%s," % wanted)
            and "type=<class '" in text
        ):
            words.describe_type(reason, text.split("type=<class '", 1)[1].split("'", 1)[0])
        elif (
            reason["kind"] == "value"
            and text.startswith("___check_type_id(%s," % wanted)
            and "type=<class '" in text
        ):
            words.describe_value_of_type(reason, text.split("type=<class '", 1)[1].split("'", 1)[0])
        elif reason["kind"] == "type" and text == wanted + " is None":
            words.describe_type(reason, "NoneType")
        elif reason["kind"] == "value" and text == wanted + " is None":
            reason["after"] = "None"
        if reason["after"]:
            break
    if (
        not reason["after"]
        and reason["kind"] == "value"
        and re.match(r"^-?\d", reason["before"])
        and entry.get("guards")
    ):
        guards = [words.short(str(one.get("text") or "")) for one in entry.get("guards") or ()]
        of_floats = [
            words.short(str(one.get("text") or ""))
            for one in entry["guards"]
            if words.is_of_float(str(one.get("comment") or ""))
        ]
        more = settings, source, decided, place, of_floats, _known(entry)
        words.describe_any(reason, breaks, guards, *more)  # it asks for no value any more
    if reason["after"]:
        reason["words"] = re.sub(
            r"is another value$|has another length$|is of another type$|is given$",
            lambda match: (
                ("has " if "length" in match.group() else "is ")
                + (
                    words.of_type(reason["after"])
                    if "type" in match.group()
                    else "None"
                    if reason["after"] == "NoneType"
                    else reason["after"]
                )
            ),
            reason["words"],
        )
    if reason["kind"] == "value" and words.is_number(reason["after"]):
        made = _made_at(reason, entry)
        decided = [one for one in decided if made and one[-1].partition(" in ")[0].endswith(made)]
        words.describe_constant(reason, settings, source, decided, place, _known(entry))


def nodes_of(runs: Iterable[Document]) -> List[Node]:
    """The nodes of all runs in the order of their compiles, connected by who calls whom."""
    found: List[Node] = []
    used: Dict[str, int] = {}
    for run in runs:
        prefix = "r%d:" % run["rank"] if isinstance(run.get("rank"), int) else ""
        by_global: Dict[str, List[Node]] = {}
        for function in run.get("functions", ()):
            entries = function.get("entries", ())
            siblings = [Node(run, function, entry, _key(prefix, entry, used)) for entry in entries]
            for position, node in enumerate(siblings):
                node.number, node.of, node.siblings = position + 1, len(entries), siblings
                found.append(node)
                if function.get("global_name"):
                    by_global.setdefault(function["global_name"], []).append(node)
        for entry in run.get("unattributed", ()):
            node = Node(
                run,
                None if _code_name(entry) else _of_frame(run, entry),
                entry,
                _key(prefix, entry, used),
            )
            found.append(node)
            if entry.get("resumes"):
                by_global.setdefault(entry["resumes"], []).append(node)
        for node in found:
            if node.run is run:
                aliases = node.entry.get("aliases") or {}
                for name in node.entry.get("calls") or ():
                    if aliases.get(name, name) not in by_global:
                        node.uncompiled.append(name)
                    for child in by_global.get(aliases.get(name, name), ()):
                        if child is not node:
                            node.children.append(child)
                            child.callers.append(node)
        of_run = [node for node in found if node.run is run]
        _tell_resets(of_run)
        _keep_one_sided(of_run)
        _tell_apart(of_run)
        _note_begins(of_run)
        _connect_frames(of_run)
        _advise_callers(of_run)
        _advise_of_objects(of_run)
        if any(one["then"] for node in of_run for one in node.breaks):
            for node in of_run:
                node.called_by_plain_code()
        failed = [node.failure for node in of_run if node.failure]
        words.name_needed([one for node in of_run for one in node.breaks] + failed)
        _advise_of_floats(of_run)
        _advise_of_constants(of_run)
        _advise_limits(of_run)
        words.name_decided([one for node in of_run for one in node.reasons])
        words.name_readers([one for node in of_run for one in node.reasons])
        _tell_differing(of_run)
        for node in of_run:
            for said in (*node.breaks, *node.reasons, node.failure):
                if said is not None:
                    advice.keep_to_program(said)
    return found


def _keep_one_sided(nodes: Sequence[Node]) -> None:
    """Where a graph breaks at a jump, its code calls a function for each side, which torch compiles
    apart: that one of them has nothing to compile says nothing of the other side.
    """
    for node in nodes:
        if node.failure and node.failure["row"] == "nothing to compile on a side":
            if any(len(one.entry.get("calls") or ()) > 1 for one in node.callers):
                node.failure = None


_OFFSET = re.compile(r"__resume_at_(\d+)_")
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return "%d%s" % (number, ending)


def numpy_draws(nodes: Sequence[Node]) -> List[Tuple[str, str, int]]:
    """(function of numpy.random, file, line) of the calls that are in torch's graphs, each once."""
    found: Dict[Tuple[str, str, int], None] = {}
    cut = {(one["file"], one["line"]) for node in nodes for one in node.breaks}
    for node in nodes:
        for artifact in node.entry.get("artifacts") or ():
            for place in (artifact.get("structure") or {}).get("places") or ():
                file, line = str(place[0]), _whole(place[1])
                called = "" if words.in_library(file) else uses.numpy_draw_at(file, line)
                if called and (file, line) not in cut:  # else torch may leave out the call
                    found[called, file, line] = None
    return sorted(found, key=lambda one: one[1:])


def _tell_resets(nodes: Sequence[Node]) -> None:
    """Says of the compiles of a run in which torch._dynamo.reset() was called before or after which
    call they are.
    """
    first = min((_whole(node.entry.get("resets")) for node in nodes), default=0)
    counts = [_whole(node.entry.get("resets")) - first for node in nodes]
    for node, count in zip(nodes, counts):
        if not max(counts):
            continue
        at = count or 1
        node.reset = "%s %storch._dynamo.reset()" % (
            "after" if count else "before",
            "the %s " % _ordinal(at) if max(counts) > 1 else "",
        )


def _tell_apart(nodes: Sequence[Node]) -> None:
    """Says which of the rests of a function it is that share a title, as one line has several
    breaks, and where functions of one title are.
    """
    rests: Dict[Tuple[Any, ...], Dict[str, List[Node]]] = {}
    places: Dict[Tuple[str, str], Dict[Tuple[str, int], List[Node]]] = {}
    for node in nodes:
        if node.is_resume:
            number = str(node.entry.get("compile_id") or "").rpartition("/")[0]
            of_title = rests.setdefault((node.place, node.called, node.reset), {})
            of_title.setdefault(number, []).append(node)
        else:
            alike = places.setdefault((node.title, node.through), {})
            alike.setdefault(node.place, []).append(node)
    for of_line in rests.values():
        if len(of_line) < 2:
            continue
        # torch names a resume function by the place of its break in the bytecode
        offsets = {number: _offset(of_line[number][0]) for number in of_line}
        order = sorted(set(offsets.values()))
        for number, alike_rests in of_line.items() if len(order) == len(of_line) else ():
            told = _ordinal(order.index(offsets[number]) + 1), len(order)
            for node in alike_rests:
                node.apart = " (%s of %d)" % told
        for number, alike_rests in of_line.items() if len(order) < len(of_line) else ():
            for node in alike_rests if number else ():
                node.apart = " (torch's function %s)" % number
    titles: Dict[Tuple[Any, ...], Set[str]] = {}
    for node in nodes:
        titles.setdefault((node.place, node.called), set()).add(node.reset)
    for node in [one for one in nodes if one.is_resume and one.reset]:
        if len(titles.get((node.place, node.called), ())) > 1:
            node.apart += " (%s)" % node.reset
    for (title, _), found in places.items():
        for place, alike_functions in found.items() if len(found) > 1 else ():
            for node in alike_functions if place[1] and not is_backward_pass(title) else ():
                node.elsewhere = " (%s)" % short_place(*place)


def _offset(node: Node) -> int:
    name = str((node.function or {}).get("global_name") or node.entry.get("resumes") or "")
    match = _OFFSET.match(name)
    return int(match.group(1)) if match else -1


def _advise_of_objects(nodes: Sequence[Node]) -> None:
    """Where one method serves several objects, such as layers, each has a compile of its own for
    each state: what is normal of the first is spared for the others by what helps them all.
    """
    told: Dict[Tuple[Any, ...], words.Said] = {}  # of a frame: why it is compiled for each object
    normal: Dict[Tuple[Any, ...], Node] = {}  # of a frame and a row: the first that is normal
    for node in nodes:
        for reason in node.reasons[:1]:
            if reason["row"] == "value of each object":
                told.setdefault(node.frame, reason)
            if reason["row"] not in advice.NO_ACTION:
                continue
            first = normal.setdefault((node.frame, reason["row"]), node)
            known = told.get(node.frame)
            if known is None or first is node:
                continue
            before = of_object(first.entry).get(attribute_of(known["name"]))
            now = of_object(node.entry).get(attribute_of(known["name"]))
            if before is not None and now is not None and before != now:
                words.describe_state_of_object(reason, known, before, now)


def _advise_of_floats(nodes: Sequence[Node]) -> None:
    """Where torch asks for a number that it computed from a float, it names no line of the program:
    what helps is what helps at the line that uses the float, which an earlier compile told.
    """
    told: Dict[Tuple[Any, ...], words.Said] = {}
    for node in nodes:
        for reason in node.reasons:
            known = told.get((node.frame, reason["name"]))
            if reason["kind"] == "value":
                told.setdefault((node.frame, reason["name"]), reason)
            elif known is not None and words.is_of_float(reason["raw"]):
                reason.update({key: known[key] for key in ("row", "help", "patches")})


def _advise_of_constants(nodes: Sequence[Node]) -> None:
    """Where what is computed from a number turned out to be a constant, as `max(lengths)` in a
    range, a compile for any number spares little: what helps there helps for the number as well.
    """
    later: Dict[Tuple[Any, ...], List[words.Said]] = {}
    for node in reversed(nodes):
        known = later.setdefault(node.frame, [])
        for reason in node.reasons:
            computed = [
                one
                for one in known
                if one["name"] != reason["name"]
                and conditions.asks_of(one["name"] + " == ", reason["name"])
            ]
            if computed and reason["kind"] == "value" and reason["row"] in words.SYMBOLIC:
                reason.update({key: computed[-1][key] for key in ("row", "help", "patches")})
        known += [one for one in node.reasons[:1] if one["kind"] == "value" and one["help"]]


def _advise_limits(nodes: Sequence[Node]) -> None:
    """Where torch makes no compile any more, what helps is what would have spared those before: of
    the one that was not made nothing else is known.
    """
    before: Dict[Tuple[Any, ...], List[Node]] = {}
    for node in nodes:
        known = before.setdefault(node.frame, [])
        if not node.is_limit:
            known.append(node)
            continue
        told = {(one["kind"], one["name"]): one for other in known for one in other.reasons[:1]}
        source = next((one.function["source"] for one in known if one.function), "")
        settings = next((one.entry.get("metrics") for one in known), None) or {}
        for reason in node.reasons:
            same = told.get((reason["kind"], reason["name"]))
            if same is not None:
                reason.update({key: same[key] for key in ("row", "help", "patches")})
                reason["listed"] = True
            else:
                words.describe_static(reason, settings.get("settings"), str(source or ""))


def _note_begins(nodes: Sequence[Node]) -> None:
    """When each compile began, in torch's figures; one without begins with the one before it."""
    latest = 0.0
    for node in sorted(nodes, key=_number):
        metrics = node.entry.get("metrics") or {}
        node.began = _seconds(metrics, "start_time_us", "start_time") or latest
        if _number(node)[1:] == (
            0,
        ):  # torch numbers functions in the order of their first compiles
            latest = node.began
    for node in nodes:  # torch tells no time of the tracing of a backward pass
        if node.is_backward_pass and node.function is None:
            made = [one.began for one in nodes if _traced_in(one, node)]
            node.began = min(made, default=latest)


def _traced_in(node: Node, tracing: Node) -> bool:
    """Whether a node is a compile of what compiled autograd traced in another one."""
    begin = str(tracing.entry.get("compile_id")) + "/"
    return str(node.entry.get("compile_id")).startswith(begin)


def _number(node: Node) -> Tuple[int, ...]:
    compile_id = re.sub(r"^!\d+/?", "", str(node.entry.get("compile_id")))
    return tuple(int(one) for one in re.findall(r"\d+", compile_id))


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
                if match.group("name") in (outer.called, outer.title, _code_name(outer.entry)):
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


def _connect_frames(nodes: Sequence[Node]) -> None:
    """Tells each function in whose code it was called.

    After a break inside what a function calls, Python calls that, which is compiled by itself.
    """
    callers = _Callers(nodes)
    tracings = [node for node in nodes if node.is_backward_pass and node.function is None]
    for node in sorted(nodes, key=lambda node: node.began):
        traced = [one for one in tracings if node.is_backward_pass and _traced_in(node, one)]
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
            if outer.function is not node.function or outer.function is None:
                node.parent = outer
                node.by_way = given_up if outer is way[0] else []
                node.called_inside(outer, callers.call_in(node, outer))
                break
    for node in nodes:
        node.stack = [callers.as_written(frame) for frame in node.stack]


def _advise_callers(nodes: Sequence[Node]) -> None:
    """At a break in a library, advises on the line of the reader's that calls it; not where that
    is the call of the compiled function itself, which no compiled code holds.
    """
    begins = {node.place for node in nodes}
    names = {(node.place[0], _code_name(node.entry)) for node in nodes}
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
                failure.update({key: said[key] for key in ("caller", "help", "patches")})


def _place_of(frame: str) -> Tuple[str, int]:
    """(file, line) of a frame of `Node.stack`."""
    match = _AT.match(frame)
    return (match.group("file"), int(match.group("line"))) if match else ("", 0)


def _code_name(entry: Document) -> Any:
    return (entry.get("metrics") or {}).get("co_name") or entry.get("name")


def _of_frame(run: Document, entry: Document) -> Optional[Document]:
    """The function to which torch gave the number in front of a compile's id, for compiles of which
    it tells nothing else.
    """
    frame = str(entry.get("compile_id") or "").rpartition("/")[0]
    found = None
    for function in run.get("functions", ()):
        if frame and any(
            str(one.get("compile_id")).rpartition("/")[0] == frame
            for one in function.get("entries", ())
        ):
            found = function  # numbers start again after torch._dynamo.reset(): the last one
    return found


def _key(prefix: str, entry: Document, used: Dict[str, int]) -> str:
    key = prefix + re.sub(r"[^\w/!]+", "_", str(entry.get("compile_id") or "?"))
    count = used[key] = used.get(key, 0) + 1
    return (
        key if count == 1 else "%s~%d" % (key, count)
    )  # ids start again after torch._dynamo.reset()


# ---- what to look at first -----------------------------------------------------------------------


def joined(one: Dict[str, float], other: Dict[str, float]) -> Dict[str, float]:
    """The seconds of two of `Cause["each"]` together: a part of a compile is within all of it."""
    return dict(one, **{key: max(value, one.get(key, 0.0)) for key, value in other.items()})


def causes(nodes: Sequence[Node]) -> List[Cause]:
    """What to look at first: breaks, recompiles and failures, each with the seconds it cost.

    The costliest come first, failures before others of the same cost; what torch does by design
    comes last. `restarted` of a break are the seconds of analysis that torch discarded there,
    which `cost` leaves out: they are a part of the compile that has the break. `each` are the
    seconds, by the key of the compile that took them: what two causes cost together is no sum where
    both cost a part of one compile. Those of a break are what its removal saves, which is less than
    `cost`: see `savings`. `discarded` of a break are those of the analysis alone.
    """
    found: Dict[Tuple[Any, ...], Cause] = {}

    def add(identity: Tuple[Any, ...], node: Node, cost: float, cause: Cause) -> None:
        known = found.get(identity)
        if known is None:
            cause.update(cost=0.0, nodes=[], count=0, each={})
            known = found[identity] = cause
        known["cost"] += cost
        known["count"] += 1
        known["nodes"].append(node)
        if cause["kind"] != "break":  # which costs the compiles after it
            known["each"][node.key] = cost

    charged: Set[str] = set()
    identity: Tuple[Any, ...]
    for node in nodes:
        for graph_break in node.cuts:
            after = {child.key: child for child in node.children if child.key not in charged}
            charged |= set(after)
            functions = {id(child.function) for child in after.values()}
            identity = ("break", graph_break["file"], graph_break["line"], graph_break["what"])
            empty: Cause = {"resumed": 0, "resume_functions": set(), "restarted": 0.0}
            cause = dict(empty, kind="break", **{"break": graph_break})
            add(identity, node, sum(child.seconds for child in after.values()), cause)
            found[identity]["resumed"] += len(after)
            # the analysis up to the first break, which torch begins again to cut the graph there
            if graph_break is node.cuts[0] and not node.failure:
                found[identity]["restarted"] += _restarted(node)
                found[identity]["each"][node.key] = _restarted(node)
            found[identity]["resume_functions"] |= functions
        # at the limit nothing is compiled: why not stands at the compiles before, if it is the same
        if node.reasons and not node.reasons[0].get("listed"):
            reason = node.reasons[0]
            filename, line = node.place
            identity = (
                "recompile",
                filename,
                line,
                reason["kind"],
                reason["name"],
                reason["row"],  # what needs no action is no part of what helps
                reason["failed"] if reason["kind"] == "guard" else "",
            )
            add(identity, node, node.seconds, {"kind": "recompile", "reason": reason})
        if node.failure:
            filename, line = node.place
            identity = ("failure", filename, line, node.failure["what"], node.failure["line"])
            add(identity, node, node.seconds, {"kind": "failure", "failure": node.failure})
    for cause in found.values():
        if cause["kind"] == "break":
            cause["discarded"] = cause["each"]
            cause["each"] = savings.without_breaks([cause])
    return sorted(found.values(), key=_importance)


#: places of one cause from which on it is said once, with its places after it
_ALIKE = 3


def compiled_times(nodes: Sequence[Node], function: Node) -> int:
    """How many of the nodes are compiles of the function of one of them."""
    made = [one for one in nodes if one.frame == function.frame and not one.failure]
    return len({one.entry.get("compile_id") or one.key for one in made})


def alike(found: Sequence[Cause]) -> List[Cause]:
    """Causes of which the same is said, joined: what 160 functions have in common is read once.

    Args:
        found: those of `causes`.
    Returns:
        The causes in their order, with `places`: all of the causes that stand for this one, the
        costliest first.
    """
    groups: Dict[Tuple[Any, ...], List[Cause]] = {}
    for cause in found:
        said = cause.get("reason") or cause.get("break") or cause["failure"]
        text = said["words"] if cause["kind"] == "recompile" else said["why"]
        what = said.get("what", said.get("kind"))
        groups.setdefault((cause["kind"], what, text, tuple(said["help"])), []).append(cause)
    rows = []
    for group in groups.values():
        lines = {
            (one["failure"]["file"], one["failure"]["line"]) for one in group if "failure" in one
        }
        if len(group) < (2 if len(lines) == 1 else _ALIKE):  # a line that ends several compiles
            rows += [dict(cause, places=[cause]) for cause in group]
            continue
        nodes = [node for cause in group for node in cause["nodes"]]
        total = {name: sum(cause[name] for cause in group) for name in ("cost", "count")}
        total["resumed"] = sum(cause.get("resumed", 0) for cause in group)
        total["resume_functions"] = set().union(
            *(cause.get("resume_functions", ()) for cause in group)
        )
        line = lines.pop() if len(lines) == 1 else ("", 0)
        rows.append(dict(group[0], places=group, nodes=nodes, line=line[1] and line, **total))
    return sorted(rows, key=_importance)


def _importance(cause: Cause) -> Tuple[bool, float, int]:
    order = {"failure": 0, "break": 1, "recompile": 1}
    return is_normal(cause), -cause["cost"], order[cause["kind"]]


def is_normal(cause: Cause) -> bool:
    """Whether one of `causes` is what torch does by design."""
    said = cause.get("reason") or cause.get("break") or cause["failure"]
    return said["row"] in advice.NORMAL


def _spent(entry: Document, *names: str) -> float:
    """Seconds of torch's timed events of these names in one compile."""
    return sum(
        row[2] / 1e6
        for row in entry.get("events") or ()
        if len(row) == 3 and row[0] in names and isinstance(row[2], (int, float))
    )


#: what a row of `avoidable` is called
_RESTARTED = "analysis that torch discarded and restarted"
_COMPILED_AGAIN = "compiles of a function that was compiled before"
_SAME_GRAPH = "graphs that were compiled before, for another function"
_GUARDS = "guards that took long to build"
_MISSED = "graphs that were not in torch's caches"
_KERNELS = "kernels (C++, Triton) that were in no cache"
_IN_TURN = "kernels that were compiled one after the other, without workers"

_KEEP = (
    "They are in torch's cache now. A run that begins without it, as in CI or in a new container, "
    "makes them again: keep the folder (TORCHINDUCTOR_CACHE_DIR), or carry it by "
    "torch.compiler.save_cache_artifacts() and load_cache_artifacts()."
)
_HELP = {
    _SAME_GRAPH: (
        "Compile one function for all of them, such as the forward of one layer's class, and pass "
        "it what differs: its graph is compiled once."
    ),
    _MISSED: _KEEP,
    _KERNELS: _KEEP,
    _IN_TURN: (
        "torch._inductor.config.compile_threads (TORCHINDUCTOR_COMPILE_THREADS) is 1: with more, "
        "torch compiles them in parallel."
    ),
}
_NOT_KEPT = "Each process compiles these again. What torch names is what its cache cannot keep."
_CACHE_OFF = (
    "Each process compiles these again. Torch's cache of graphs is switched off in this run: "
    "torch._inductor.config.fx_graph_cache, TORCHINDUCTOR_FX_GRAPH_CACHE, or "
    "torch._inductor.config.force_disable_caches."
)
_OFF = "FX graph cache is not enabled"


def avoidable(nodes: Sequence[Node]) -> List[Row]:
    """Compile time that could be saved: rows of what, seconds, count, torch's own details, nodes,
    and what helps.

    A second can stand in two rows: a recompile may itself have started its analysis again. `each`
    are a row's (seconds, node), for `overlap`.
    """
    found: Dict[str, Row] = {}

    def add(what: str, seconds: float, node: Node, detail: str = "") -> None:
        row = found.setdefault(
            what, {"what": what, "seconds": 0.0, "count": 0, "details": [], "nodes": []}
        )
        row["seconds"] += seconds
        row["count"] += 1
        if detail and detail not in row["details"]:
            row["details"].append(detail)
        row["nodes"].append((seconds, node))

    graphs: Dict[str, Set[str]] = {}  # of each: the functions, by their part of the compile id
    for node in nodes:
        if node.failure:
            continue  # it left nothing, in no cache either; all of its time stands at the failure
        entry, metrics = node.entry, node.entry.get("metrics") or {}
        restarts = metrics.get("restart_reasons")
        if isinstance(restarts, list) and restarts:
            lost = _restarted(node)
            reasons = [_named_class(str(reason).split("\n")[0])[:160] for reason in restarts]
            add(_RESTARTED, lost, node, ", ".join(reasons[:3]))
        if node.reasons:
            add(_COMPILED_AGAIN, node.seconds, node)
        _add_caches(node, add)
        graph = next(
            (
                _UNIQUE.sub("", str(one.get("text") or ""))
                for one in entry.get("artifacts") or ()
                if one.get("stage") == "Captured_Graph"
            ),
            "",
        )
        shape = re.sub(r"(?m)#.*$", "", graph)
        function = str(entry.get("compile_id")).partition("/")[0]
        functions = graphs.setdefault(shape, set())
        # what compiles one function again stands at its recompiles
        if shape and functions and function not in functions:
            add(_SAME_GRAPH, node.seconds, node)
        functions.add(function)
        guards = _spent(entry, "build_guards")
        if guards > 0.05 * node.seconds and guards > 0.1:
            add(_GUARDS, guards, node)
    rows = [row for row in found.values() if row["seconds"] >= 0.005]
    for row in rows:
        row["each"] = row["nodes"]
        row["nodes"] = [node for _, node in sorted(row["nodes"], key=lambda one: -one[0])]
        if row["what"] == _COMPILED_AGAIN:
            row["help"] = _of_recompiles(row["nodes"])
        elif row["what"] == _GUARDS:
            row["help"] = _of_guards(row["nodes"], nodes)
        elif row["what"] == _RESTARTED:
            row["help"] = _of_restarts(row["nodes"])
        else:
            off = row["details"] == [_OFF]
            row["help"] = _HELP.get(row["what"], _CACHE_OFF if off else _NOT_KEPT)
    # of guards of a function that was compiled once nothing can be saved
    rows = [row for row in rows if row["help"] or row["what"] != _GUARDS]
    return sorted(rows, key=lambda row: -row["seconds"])


def overlap(rows: Sequence[Row]) -> str:
    """What a heading adds where rows of `avoidable` are not to be summed; "" where no compile
    stands in two of them.
    """
    spent: Dict[str, List[float]] = {}
    limits: Dict[str, float] = {}
    for row in rows:
        for value, node in row["each"]:
            spent.setdefault(node.key, []).append(value)
            limits[node.key] = node.seconds
    if all(len(values) == 1 for values in spent.values()):
        return ""
    saved = sum(min(sum(values), limits[key]) for key, values in spent.items())
    return ", at most %.2f s in all, as a compile can count in several rows" % saved


def _of_recompiles(nodes: Sequence[Node]) -> str:
    """Where the advice for recompiles is, and for how many."""
    normal = [one for one in nodes if one.reasons[0]["row"] in advice.NO_ACTION + advice.NORMAL]
    helped = [one for one in nodes if one.reasons[0]["help"] and one not in normal]
    inside = [one for one in nodes if one not in normal + helped and savings.made_inside(one)]
    others = [one for one in nodes if one not in normal + helped + inside]
    if len(helped) == len(nodes):
        return "The advice for each is at the recompiles."
    said = []
    if helped:
        said.append("the advice for %d is at the recompiles" % len(helped))
    if normal:
        said.append("%d %s no action (%s)" % (len(normal), _need(normal), _ids(normal)))
    if inside:
        told = "%d would not be needed without a graph break (%s)"
        said.append(told % (len(inside), _ids(inside)))
    if others:
        said.append("for %d there is no advice that was tested (%s)" % (len(others), _ids(others)))
    return "Of the %s: %s." % (_compiles(len(nodes)), "; ".join(said))


def _need(nodes: Sequence[Node]) -> str:
    return "needs" if len(nodes) == 1 else "need"


def _compiles(count: int) -> str:
    return "1 compile" if count == 1 else "%d compiles" % count


def _lines_of(function: Document) -> Sequence[int]:
    """The lines of a function in its file; () where its source is not the file's."""
    if function.get("source_origin") != "file" or not function.get("firstlineno"):
        return ()
    first = _whole(function["firstlineno"])
    return range(first, first + str(function.get("source") or "").rstrip("\n").count("\n") + 1)


def _restarted(node: Node) -> float:
    """Seconds of analysis that torch discarded when it restarted a compile."""
    metrics = node.entry.get("metrics") or {}
    if not metrics.get("restart_reasons"):
        return 0.0  # torch tells a time of compiles that had no restart, too
    return _seconds(
        metrics, "dynamo_compile_time_before_restart_us", "dynamo_time_before_restart_s"
    )


def _restart_reasons(node: Node) -> Sequence[Any]:
    return (node.entry.get("metrics") or {}).get("restart_reasons") or ()


def _named_class(reason: str) -> str:
    """`TensorifyScalarRestartAnalysis` of `<class 'torch._dynamo.exc.TensorifyScalarRestart…'>`."""
    return re.sub(r"^<class '(?:\w+\.)*(\w+)'>$", r"\1", reason)


def _add_caches(node: Node, add: Any) -> None:
    """What torch's caches could have saved of one compile."""
    backend = sum(
        node.phases.get(name, 0.0) for name in ("aot", "inductor", "kernels", "autotuning")
    )
    missed = False
    not_kept: Dict[str, str] = {}  # an analysis that began again asked the same cache again
    for event in node.entry.get("cache") or ():
        missed = missed or event.get("result") == "miss"
        if event.get("result") == "bypass":
            # an address says nothing to a reader, and would make two rows of one
            said = re.sub(r" at 0x[0-9a-f]+", "", str(event.get("cache_bypass_reason") or ""))
            said = " ".join(said.split()) or "no reason given"
            not_kept.setdefault(str(event.get("cache")), said[:200])
    for cache, said in not_kept.items():
        what = "compiles that %s could not keep" % cache
        add(what, backend or node.seconds, node, said)
    kernels = node.phases.get("kernels", 0.0)
    if missed and backend > 0.1:
        add(_MISSED, backend, node)
    elif kernels > 0.1:
        add(_KERNELS, kernels, node)
    settings = (node.entry.get("metrics") or {}).get("settings")
    files = [row for row in node.entry.get("events") or () if row and row[0] == "compile_file"]
    if isinstance(settings, dict) and settings.get("compile_threads") == 1:
        if kernels > 0.1 and len(files) > 1:
            add(_IN_TURN, kernels, node)


#: compiles that are named in a sentence; the rest is counted
_NAMED = 4


def _ids(nodes: Sequence[Node]) -> str:
    more = len(nodes) - _NAMED
    return ", ".join([node.key for node in nodes[:_NAMED]] + ["%d more" % more] * (more > 0))


#: how torch names a symbol for a float
_OF_NUMPY = re.compile(r"^___from_numpy\((.*)\)\.item\(\)$")  # a scalar of NumPy
_OF_FLOAT = re.compile(r"^zu?f\d+$")


def _floats(nodes: Sequence[Node]) -> str:
    """The floats that torch took for any number in some compiles, in words, by their names unless
    there are many.
    """
    names = dict.fromkeys(
        "`%s`" % _OF_NUMPY.sub(r"\1", attribute_of(str(symbol.get("source") or "")))
        for node in nodes
        for symbol in node.entry.get("symbols") or ()
        if isinstance(symbol, dict) and _OF_FLOAT.match(str(symbol.get("symbol") or ""))
    )
    if not 0 < len(names) <= 4:
        return "a float"
    return "the float%s %s" % ("" if len(names) == 1 else "s", ", ".join(names))


def _of_restarts(nodes: Sequence[Node]) -> str:
    """What can be done about analyses that began again, by why they did."""
    of_floats = [
        node
        for node in nodes
        if any("TensorifyScalarRestart" in one for one in map(str, _restart_reasons(node)))
    ]
    cut = [
        node
        for node in nodes
        if node not in of_floats and any(one["row"] not in advice.NORMAL for one in node.cuts)
    ]
    meant = [node for node in nodes if node.cuts and node not in cut + of_floats]
    parts = [
        (cut, "at a graph break (without it, torch does so at the next, if there is one)"),
        (meant, "at the break that torch's optimizer makes on purpose, which needs no action"),
        (of_floats, "because of %s (TensorifyScalarRestartAnalysis)" % _floats(of_floats)),
    ]
    parts = [one for one in parts if one[0]]
    told = ""
    if [len(some) for some, _ in parts] == [len(nodes)]:
        told = "%s did so %s." % ("It" if len(nodes) == 1 else "Each", parts[0][1])
    elif parts:
        said = "; ".join("%d (%s) did so %s" % (len(some), _ids(some), why) for some, why in parts)
        told = "Of the %s that began again, %s." % (_compiles(len(nodes)), said)
    if of_floats:
        told += (
            " Torch took the float for any number, could not make it a tensor in the graph, and "
            "began again with the float as a constant. Where your code passes it, pass a tensor; "
            "where it hardly changes, set torch._dynamo.config.specialize_float = True."
        )
    return told


def _of_guards(long: Sequence[Node], nodes: Sequence[Node]) -> str:
    """What can be done about guards that took long to build, in words; "" where nothing can.

    `guard_filter_fn` is no help: torch asks it when the guards were built. Of a model of 150 layers
    it leaves 782 of 8,132 guards, in no less time.
    """
    count = len(long[0].entry.get("guards") or ())
    said = "%s has %s guards. " % (long[0].key, format(count, ",")) if count else ""
    again = [node for node in long if node.reasons or node.is_resume]
    if again:
        if len(long) == 1:
            return said + (
                "Torch builds them for each compile: this one would not be needed without the "
                "recompiles and graph breaks above."
            )
        return said + (
            "Torch builds them for each compile: without the recompiles and graph breaks above, "
            "of the %d compiles whose guards took long, %d would not be needed (%s)."
            % (len(long), len(again), _ids(again))
        )
    if len(long) < len(nodes):
        return said + "Torch builds them once for each compile: fewer compiles need fewer."
    return ""


# ---- ranks ---------------------------------------------------------------------------------------

_UNIQUE = re.compile(
    r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}|0x[0-9a-f]+|cuda:\d+|(?<=cuda)\d+"
)


def divergence(runs: Sequence[Document]) -> List[Row]:
    """Where the ranks of a job part: rows of compile id, what differs, and each rank's side; empty
    where nothing does.

    Ranks agree on a compile when they compiled the same function with the same captured graph and
    the same breaks.
    """
    sides = []
    for run in runs:
        table = {}
        for function in run.get("functions", ()):
            for entry in function.get("entries", ()):
                graph = next(
                    (
                        a.get("text") or ""
                        for a in entry.get("artifacts", ())
                        if a.get("stage") == "Captured_Graph"
                    ),
                    "",
                )
                table[str(entry.get("compile_id"))] = {
                    "function": function.get("qualname") or function.get("name") or "?",
                    "graph": _UNIQUE.sub("", graph),
                    "breaks": sorted(
                        "%s: %s" % (b.get("location"), b.get("reason"))
                        for b in entry.get("breaks") or ()
                    ),
                    "reasons": sorted(str(reason) for reason in entry.get("reasons") or ()),
                    "cache": sorted(
                        "%s %s" % (event.get("cache"), event.get("result"))
                        for event in entry.get("cache") or ()
                    ),
                }
        sides.append(table)
    order: List[str] = []
    for table in sides:
        order.extend(key for key in table if key not in order)
    rows = []
    for key in sorted(order, key=_id_order):
        present = [table.get(key) for table in sides]
        all_sides = [side for side in present if side is not None]
        if len(all_sides) < len(present):
            what = "compiled on some ranks only"
            cells = [
                "compiled %s" % side["function"] if side else "not compiled" for side in present
            ]
        else:
            for field, what in (
                ("function", "different functions"),
                ("graph", "different graphs"),
                ("breaks", "different graph breaks"),
                ("reasons", "different reasons to recompile"),
                ("cache", "different cache results"),
            ):
                if any(side[field] != all_sides[0][field] for side in all_sides[1:]):
                    cells = [_cell(field, side[field], all_sides[0][field]) for side in all_sides]
                    break
            else:
                continue
        rows.append({"id": key, "what": what, "cells": cells})
    return rows


def _id_order(key: str) -> List[int]:
    return [int(part) for part in re.findall(r"\d+", key)]


def _cell(field: str, value: Any, first: Any) -> str:
    if field != "graph":
        return "; ".join(value) if isinstance(value, list) else value
    lines, others = value.splitlines(), first.splitlines()
    if value == first:
        return "%d lines" % len(lines)
    for number, line in enumerate(lines):
        if number >= len(others) or others[number] != line:
            return "line %d: %s" % (number + 1, line.strip()[:160])
    return "ends after line %d" % len(lines)
