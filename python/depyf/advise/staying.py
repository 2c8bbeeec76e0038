"""What a change leaves: the breaks that keep a function uncompiled, the recompiles that would take
in all of a function.
"""

from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple

from depyf.advice import NO_ACTION, NORMAL, breaks, settings_in, uses
from depyf.advise.causing import MADE_BEFORE
from depyf.advise.change import Change, fails, takes_loop_out
from depyf.report.words.stacks import frame_places

Place = Tuple[str, int]
#: a setting with which numbers that depend on values are in the graph
_OF_NUMBERS = "capture_scalar_outputs"
#: and one with which sizes are that depend on values
_OF_SIZES = "capture_dynamic_output_shape_ops"


def met_at(node: Any) -> Place:
    """(file, line) at which a function that torch gave up is left: it breaks there, or calls what
    breaks; line 0 where torch does not tell.
    """
    ways = [node.way_to(raw) for raw in node.entry.get("breaks") or ()]
    for way in reversed(ways):
        if way:
            return way[0]
    # where torch leaves out the function itself, the compile of what breaks tells who called it
    said = node.failure or {}
    for one in node.frames:
        met = [(each["file"], each["line"]) for each in one.cuts]
        if (said.get("file"), said.get("line")) in met and one.called_at[0] == node.place[0]:
            return str(node.place[0]), int(one.called_at[1])
    return node.place[0], 0


def removed_by(change: Change) -> Set[Place]:
    """(file, line) of the breaks that a change removes."""
    every = (change,) + change.also + change.gone
    return {(one.file, one.line) for one in every if one.kind != "recompile"}


def keeping(node: Any, removed: Set[Place]) -> Optional[Place]:
    """(file, line) of a break of the run that keeps a function uncompiled which torch gave up in a
    loop or `try`, as it is in there, too; None for none.

    Args:
        removed: of the breaks that are none any more.
    """
    inside = _uncut(node)
    met = [(one["file"], one["line"]) for one in _breaks_below(node, inside)]
    return next((one for one in met if one[1] and one not in removed), None)


def _uncut(node: Any) -> Optional[range]:
    """The lines of the loop or `try` around the line at which torch gave a function up."""
    file, line = met_at(node)
    around = uses.uncut_around(file, line) if line else []
    if around:
        return uses.lines_of_statement(file, around[0][1])
    looped = "loop" in ((node.failure or {}).get("then") or "")
    return range(line, 1 << 30) if looped and line else None


def _breaks_below(node: Any, inside: Optional[range]) -> Iterator[Dict[str, Any]]:
    """The breaks of the compiled functions that some lines of a function call, and of those that
    they call.
    """
    work = [one for one in node.frames if inside and one.called_at[1] in inside]
    seen = set()
    while work:
        one = work.pop(0)
        if id(one) not in seen:
            seen.add(id(one))
            work += one.children + one.frames
            raised = _raised_in(one)
            cuts = [told for told in one.cuts if told["row"] not in NORMAL]
            yield from (told for told in cuts if (told["file"], told["line"]) not in raised)


def _raised_in(node: Any) -> Set[Place]:
    """(file, line) of the breaks of a compile in what makes an exception: code that is not traced
    where none is raised.
    """
    found = set()
    for raw in node.entry.get("breaks") or ():
        places = frame_places([str(one) for one in raw.get("user_stack") or ()])
        if any(uses.raises_at(*at) for at in places):
            found.add(places[-1])
    return found


def foreseen(
    node: Any, removed: Set[Place], needed: Iterable[int] = (), orders: bool = False
) -> int:
    """The line that may keep a function uncompiled which torch gave up, as torch has not met it
    yet; 0 for none.

    Args:
        removed: the breaks that are none any more.
        needed: lines of the function that may break a graph, beside those in the loop or `try`.
        orders: see `uses.breaks_in`.
    """
    file, begin = node.place
    at, line = met_at(node)
    inside = _uncut(node) or ()
    left = set(needed)
    known = uses.breaks_in(at, line or begin, orders) + uses.sizes_decided_in(at, line or begin)
    left |= {one for one in known if one in inside}
    left = {one for one in left if (at, one) not in removed and one != line}
    behind = [one for one in left if one > line]
    return min(behind or left, default=0)


def kept_by(change: Change, failing: Change) -> Tuple[Optional[Place], bool]:
    """((file, line) that keeps a function uncompiled after a change, whether torch met it); None
    for none.
    """
    node = failing.cause["nodes"][0]
    known = keeping(node, removed_by(change))
    if known is not None:
        return known, True
    kept_in_graph = _OF_NUMBERS in settings_in(change.advice)
    sorts = kept_in_graph and failing.file == node.place[0]
    ordered = uses.sorted_at(failing.file, failing.line) if sorts else 0
    needed = _needed_in(node, change.advice, ordered, failing.row in _CLOCKS)
    if _OF_SIZES in settings_in(change.advice) and failing.file == node.place[0]:
        needed += uses.sized_lines(failing.file, failing.line)[1:]  # it removes the first decision
    orders = failing.row in breaks.BECOME_TENSORS
    line = foreseen(node, removed_by(change), needed, orders)
    return ((node.place[0], line) if line else None), False


def _needed_in(node: Any, advice: str, ordered: int = 0, is_whole: bool = False) -> List[int]:
    """The lines that make a Python number of a tensor, and may keep a function uncompiled that
    torch gave up, once some advice is followed.

    Args:
        ordered: the line that sorts such numbers, 0 for none.
        is_whole: as in `_in_contexts`.
    """
    file, begin = node.place
    needed = uses.values_needed_in(file, begin, _OF_NUMBERS not in settings_in(advice))
    needed += [ordered] if ordered else []
    if _uncut(node):  # elsewhere torch cuts the graph, and compiles what is in front of the cut
        return [one for one in needed if uses.uncut_around(file, one)]
    return _in_contexts(node, needed, is_whole)


#: rows of what a context manager is there for, so that nobody keeps the `with` without it
_CLOCKS = ("clock", "clock that decides")


def _in_contexts(node: Any, lines: List[int], is_whole: bool) -> List[int]:
    """The lines that may keep a function uncompiled which torch gave up in a `with`: those in its
    block, as torch cuts the graph behind it. All of them where it gave it up elsewhere.

    Args:
        is_whole: whether the advice takes out a `with` whose own code breaks the graph.
    """
    file, line = met_at(node)
    inner = uses.withs_around(file, line) if line else []
    own = [one for one in uses.withs_at(file, line) if one not in inner] if line else []
    if not inner and not own:
        return lines
    blocks = [one for one in inner + own if not is_whole or one in inner]
    ranges = [uses.lines_of_block(one) for one in blocks]
    return [one for one in lines if file == node.place[0] and any(one in each for each in ranges)]


def leaves_outer(change: Change, removed: Set[Place], advice: str) -> bool:
    """Whether a function that calls those of a change stays uncompiled without some breaks, so that
    these are compiled by themselves as before.

    Args:
        advice: what removes the breaks.
    """
    for one in (change,) + change.also:
        for node in {id(each): each for each in _outer_ones(one)}.values():
            if keeping(node, removed) is not None or foreseen(node, removed):
                return True
            if not _uncut(node) or takes_loop_out(advice):
                continue
            if foreseen(node, removed, _needed_in(node, advice)):
                return True
    return False


def _outer_ones(change: Change) -> List[Any]:
    found = []
    for node in change.cause.get("nodes") or ():
        outer = node.outer or node.whole().outer
        if outer is not None and outer.failure and not outer.is_limit:
            found.append(outer)
    return found


def failing_in(change: Change) -> List[Change]:
    """What a change is about that torch gave up."""
    return [one for one in (change,) + change.also + change.gone if fails(one)]


def recompiled_behind(change: Change, every: List[Change]) -> List[Change]:
    """The changes, of a list, of recompiles of what is behind the breaks of a change, for what the
    function before the break is not compiled again. Without the break, all of the function is: not
    where another break is between, nor for what comes from the break or is set at its line.
    """
    causes = [one.cause for one in (change,) + change.also if one.kind == "break"]
    frames, own = _behind(causes)
    removed = {(one["break"]["file"], one["break"]["line"]) for one in causes}
    made = _set_at(removed)
    found = []
    for one in every:
        for each in (one,) + one.also:
            if one is change or each.kind != "recompile" or each.within or each.row in NO_ACTION:
                continue
            if each.row == MADE_BEFORE:
                continue
            reason = each.cause["reason"]
            again = [node for node in each.cause["nodes"] if node.frame in frames]
            often = len(again) > 1 or any(node.is_limit for node in again)
            often = often and not any(_is_made(node, made, removed) for node in again)
            if often and reason["name"] not in own and not _goes(again, causes):
                found.append(one)
                break
    return found


def _set_at(places: Set[Place]) -> Set[str]:
    """The last parts of the names that some lines assign."""
    return {one.rpartition(".")[2] for at in places for one in uses.assigned_at(*at)}


def _is_made(node: Any, made: Set[str], removed: Set[Place]) -> bool:
    """Whether a recompile is for a value, alone or beside others, that some breaks make: it is
    handed on across one of them, or its name is set at one.
    """
    at = (node.place[0], node.resumes_at)
    for reason in node.reasons[:1]:
        names = [reason["name"], reason["beside"], *reason["differing"]]
        for name in filter(None, names):
            known = dict(reason, name=name, failed=name, raw="")
            if at in removed and node.hands_on(known) or name.rpartition(".")[2] in made:
                return True
    return False


def _goes(nodes: List[Any], causes: List[Dict[str, Any]]) -> bool:
    from depyf.report import savings

    return all(any(savings.is_of_break(node, one, causes) for one in causes) for node in nodes)


def _behind(causes: List[Dict[str, Any]]) -> Tuple[FrozenSet[Any], Set[str]]:
    """(the functions that go on behind some breaks, up to the next one; the names for which what is
    before them is compiled again).
    """
    before = [node for cause in causes for node in cause["nodes"]]
    removed = {(one["break"]["file"], one["break"]["line"]) for one in causes}
    frames: Set[Any] = set()
    work = [one for node in before for one in node.children]
    while work:
        node = work.pop()
        if node.frame not in frames:
            frames.add(node.frame)
            if all((one["file"], one["line"]) in removed for one in node.cuts):
                work += node.children  # else another break is in front of these
    own = {
        one["name"]
        for node in before
        for each in node.siblings
        if node.frame not in frames
        for one in each.reasons
    }
    return frozenset(frames), own
