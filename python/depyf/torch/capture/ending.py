"""What is known of a run only when its block ends: who raised, guards, whose code runs."""

import linecache
import re
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from depyf.interrupts import pass_on
from depyf.model import (
    Entry,
    Function,
    LiveObject,
    Run,
    backward_of,
    is_backward_pass,
    resumed_after,
)
from depyf.plain import file_of, name_of
from depyf.report import words
from depyf.torch import compat, guards
from depyf.trace.breaks import own_place
from depyf.trace.frames import parse_frame
from depyf.trace.guard_text import ModuleFiles, guards_of_tree_text, make_guard, name_whole_paths
from depyf.trace.names import resumed
from depyf.trace.records import Resets

#: a line of a program that raises by itself
_RAISES = re.compile(r"\s*(raise|assert)\b")


def raised_at(run: Run, frames: List[Tuple[types.CodeType, int]]) -> Dict[str, Any]:
    made = {id(entry.code): (function, entry) for function, entry in _with_code(run)}
    code, line = frames[-1]
    function, entry = made.get(id(code), (None, None))
    by = "program"
    rest_of, at = resumed(name_of(code))
    if entry is not None:
        by = "generated"
    elif at and not _RAISES.match(linecache.getline(file_of(code), line)):
        by = "resumed"
    elif words.is_of_torch(file_of(code)):
        by = "torch"
    place, program = (file_of(code), line), ""
    if entry is not None and function is not None:
        program = _program_line(entry, function, line)
    elif by == "resumed":
        program = "%s:%d" % place
    elif by == "torch":
        own = [
            (made.get(id(one), (None, None)), one, at)
            for one, at in frames
            if not words.is_of_torch(file_of(one))
        ]
        for (of, known), one, at in own[-1:]:
            program = "%s:%d" % (file_of(one), at)
            if known is not None and of is not None:
                program, entry = _program_line(known, of, at), known
    title = function.title_of(entry) or function.title if function and entry else ""
    title = rest_of if by == "resumed" else title
    return {
        "by": by,
        "file": place[0],
        "line": place[1],
        "function": title,
        "program": program,
        "compile_id": entry.compile_id if entry is not None else "",
    }


def _with_code(run: Run) -> Iterator[Tuple[Function, Entry]]:
    for function in run.functions:
        for entry in function.entries:
            if entry.code is not None:
                yield function, entry


def _program_line(entry: Entry, function: Function, line: int) -> str:
    """The line of the program, `file:line`, for which a line of the code of an entry is; "" where
    that is not known.
    """
    mapped = dict(entry.line_map) if entry.code_path else {line: line}
    found = mapped.get(line) or 0
    if found == function.firstlineno:  # torch's own operations have the first line
        names = function.name, resumed(function.name)[0]
        places = [own_place(one, function.filename, names) for one in entry.breaks]
        found = entry._broke_at
        found = found or next((place[1] for place in reversed(places) if place is not None), 0)
    return "%s:%d" % (function.filename, found) if found else ""


def name_backward_passes(run: Run) -> None:
    """Names what compiled autograd traced after the function that torch compiled of it."""
    for entry in run.unattributed:
        if not re.match(r"!\d+$", entry.compile_id):
            continue
        entry.qualname = entry.qualname or backward_of([])
        for function in run.functions:
            for one in function.entries:
                own = one.compile_id.startswith(entry.compile_id + "/")
                if own and is_backward_pass(function.qualname) and not function.is_resume:
                    entry.qualname = function.qualname
                    entry.detail = entry.detail or (
                        "compiled autograd traced a whole backward pass, of which compile %s "
                        "made code" % one.compile_id
                    )


def name_running(run: Run) -> None:
    """Names what torch was compiling when the block ended, after the stack with which each of
    these compiles began.
    """
    rests: Dict[Tuple[str, str], Set[str]] = {}
    for entry in run.entries():
        for rest in entry._rests:
            code = rest._code.get()
            if code is not None:
                name = entry.aliases.get(rest.name, rest.name)
                rests.setdefault((file_of(code), name_of(code)), set()).add(name)
    for entry in run.unattributed:
        begun = parse_frame(entry.user_stack[-1]) if entry.user_stack else None
        if begun is None or entry.finished or entry.failure or entry.hooked or entry.qualname:
            continue
        file, line, name = begun[:3]
        whole, after = resumed(name)
        entry.qualname = resumed_after(whole, after or line) if whole else name
        entry.detail = words.RUNNING
        known = rests.get((file, name), set())
        if len(known) == 1:
            entry.resumes = known.pop()


def why_unattributed(entry: Entry) -> str:
    if entry.failure:
        return "the compile failed before torch made code for a function"
    if entry.compile_id.startswith("!"):
        return "compiled autograd: a whole backward pass, which is not a function of the program"
    gone = words.given_up(entry.to_json())
    if gone:
        said = words.from_then_on(gone, 0)
        return "torch made no code for this frame (" + said.partition(" (")[2].rstrip(".")
    return (
        "torch reported only a part of this compile: it began before the block or did not end in it"
    )


def waits_for_backward(entry: Entry) -> bool:
    stages = [artifact.stage for artifact in entry.artifacts]
    return (
        "Backward_graph" in stages
        and stages.count("kernel") == 1
        and not entry.backward_metrics
        and entry.code is not None
    )


def read_guards(run: Run, resets: Resets, problem: Callable[[str, str], None]) -> None:
    """Reads the guards of every entry from torch's caches, in torch's order, or from the trace
    where they are gone.

    Args:
        run: the run.
        resets: how often torch has forgotten all.
        problem: is told of guards that cannot be read.
    """
    files = list(dict.fromkeys(function.filename for function in run.functions))
    modules = ModuleFiles()
    for function in run.functions:
        code = function.code
        kept = compat.cache_entries(code) if code is not None else None
        order, all_known = _read_cached(function, kept or [], problem)
        all_known = all_known and kept is not None
        for entry in function.entries:
            # without its code, only that another compile has its number tells
            gone = all_known and id(entry) not in order and not entry.failure
            tells_of_ends = compat.trace_logger() is not None
            entry._unfinished = gone and tells_of_ends and not entry.finished
            entry.dropped = gone and not entry._unfinished
            entry.dropped |= code is None and entry.resets < resets.count
            if not entry.guards and entry.guard_tree:
                entry.guards = guards_of_tree_text(entry.guard_tree, guards.known_state())
            elif not entry.guards:
                entry.guards = [
                    make_guard(text, state=guards.known_state())
                    for text in entry._logged_guards
                    if text != "GUARDS:"
                ]
            name_whole_paths(entry.guards, [function.filename] + files, modules)
        function._order = sorted(
            function.entries, key=lambda one: order.get(id(one), len(order) + one.index)
        )


def _read_cached(
    function: Function, cached: Sequence[Any], problem: Callable[[str, str], None]
) -> Tuple[Dict[int, int], bool]:
    """The places of a function's entries in torch's cache, by their ids, and whether all that is
    there is of them.
    """
    order: Dict[int, int] = {}
    all_known = True
    for position, cache_entry in enumerate(cached):
        entry = _matching(function, cache_entry)
        if entry is None:
            all_known = False
            continue
        order[id(entry)] = position
        _notice_other_code(entry, getattr(cache_entry, "code", None))
        entry.invalidated = compat.is_invalidated(cache_entry)
        manager = compat.entry_guard_manager(cache_entry)
        entry._guard_manager = LiveObject(manager)
        try:
            entry.guards = guards.guards_of(manager)
        except Exception as error:
            pass_on()
            problem("reading the guards of %s" % entry.name, str(error) or type(error).__name__)
    return order, all_known


def _notice_other_code(entry: Entry, running: Any) -> None:
    # another hook, which torch calls after depyf's, has the last word
    ours = entry.code
    if running is None or running is ours or running is entry._torch_code.get():
        return
    if ours is None and not entry.replaced:
        return
    if not entry.replaced_by:
        name = " or ".join(entry._hooks_behind) or "a bytecode hook that is not known here"
        entry.replaced_by = "%s, from %s" % (name, file_of(running))
    entry.replaced, entry._code = False, LiveObject(running)


def _matching(function: Function, cache_entry: Any) -> Optional[Entry]:
    code = getattr(cache_entry, "code", None)
    if code is not None:
        for entry in function.entries:
            if entry.code is code or entry._torch_code.get() is code:
                return entry
    compile_id = compat.entry_compile_id(cache_entry)
    for entry in reversed(function.entries):
        if compile_id is not None and entry.compile_id == compile_id:
            return entry
    if compile_id is None and code is not None:  # up to torch 2.4; names of graphs are unique there
        for entry in function.entries:
            if entry.graph_name and entry.graph_name in code.co_names:
                return entry
    return None
