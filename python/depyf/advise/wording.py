"""What is said of one change, beside its words."""

import re
from typing import Any, Dict, List, Set, Tuple

from depyf.advice import breaks, uses
from depyf.advise.causing import MADE_BEFORE, outermost
from depyf.advise.change import (
    Change,
    ends,
    fails,
    is_open,
    is_shared,
    shown_at,
    stays_uncompiled,
    takes_loop_out,
)
from depyf.advise.finding import BESIDE, OF_GRADIENTS
from depyf.advise.outside import rests
from depyf.advise.staying import met_at
from depyf.terminal import place, shown

_GAVE_UP = (
    "torch stopped compiling the function after %d compile%s: calls that fit none of them run "
    "uncompiled"
)
#: of a figure of such a function
_SPENT = ". The seconds were spent, and a change may save less"
#: as above, of what the same change has said already
_GAVE_UP_TOO = "torch stopped compiling the function after %d compile%s, too"
#: other places of one change that are named; the rest is counted
_NAMED = 4


def waits(change: Change, above: List[Change]) -> bool:
    """Whether a change is to be made after one that does not stand above it."""
    if _BY_HAND in change.advice:
        return True
    causes = {id(one.cause) for one in above}
    if any(id(one.cause) not in causes for one in change.before):
        return True
    return not asked_first(change) <= set().union(*map(told_at, above))


def patch_now(change: Change, above: List[Change]) -> str:
    """The patch of a change that can be made after those above it; "" for none."""
    return "" if waits(change, above) else str(change.patch)


#: what some advice says to change before it, and no change of the list is about
_BY_HAND = ", where a string is made of a number: "


def asked_first(change: Change) -> Set[str]:
    """The places at which changes stand that the advice of a change says to make before it."""
    advice = re.sub(r"First change ((?!, where ).)+" + re.escape(_BY_HAND), "", change.advice)
    found = re.findall(r"\b(?:First|Then) change (.+?), where ", advice)
    return {at for one in found for at in one.split(", ")}


#: rows that name the line which needs the number of a tensor, or makes a list of one
_NEEDED = tuple(
    one for one in breaks.BY_KEY if one.startswith("item ") or one.endswith("shape in a list")
)


def made_before(change: Change, every: List[Change]) -> Tuple[Change, ...]:
    """The changes, of a list, that are to be made before one: those that its advice names, and
    those without which torch compiles for each value of something, after it as before.
    """
    asked = asked_first(change)
    named = [one for one in every if asked and told_at(one) & asked]
    floats = {id(one.cause) for one in float_first(change, every)}
    holding = [one for one in every if floats & {id(each.cause) for each in (one,) + one.also}]
    found = {id(one.cause): one for one in [*named, *holding, *change.first] if one is not change}
    return tuple(found.values())


def told_at(change: Change) -> Set[str]:
    """The places at which a change is told, and of the lines that need its number."""
    from depyf.report.words.stacks import short_place

    found = set()
    for one in (change,) + change.also:
        file, line = shown_at(one)
        needing = re.findall(r"\bline (\d+)\b", one.words) if one.row in _NEEDED else []
        found |= {short_place(file, at) for at in [line, *map(int, needing)]}
    return found


def saving(change: Change) -> str:
    """What a change saves, in words."""
    if ends(change) < 2:
        return "no figure"  # what runs after it is not known
    if change.left or change.first:
        return "no figure yet"
    if change.kept_out or stays_uncompiled(change) or not all(rests(change).values()):
        return "no figure"
    if is_shared(change) or change.row == MADE_BEFORE:
        return "no figure"
    if fails(change) and change.cause["failure"].get("raised"):
        return "no figure"  # without it the compile goes on
    if change.unsure or change.counts:
        return "may save or cost compile time"
    if any(map(fails, (change,) + change.also)):
        return "no figure"  # torch compiles then what it gave up
    more = " more" if change.alone - change.seconds >= 0.005 else ""
    if change.seconds >= 0.005 and _is_given_up(change):
        return "%.2f s%s spent" % (change.seconds, more)
    return (
        "up to %.2f s%s" % (change.seconds, more)
        if change.seconds >= 0.005
        else ("no%s compile time" % more)
    )


def _is_given_up(change: Change) -> bool:
    """Whether torch stopped compiling a function for what a change is about: the calls after that
    would be compiled, perhaps for other reasons, if the change were made.
    """
    return any(one.gave_up or one.row == "limit" for one in (change,) + change.also)


def _unrolled(change: Change, links: bool) -> List[str]:
    """That torch takes a loop into the graph once nothing in it keeps the function out of it."""
    if not fails(change) or takes_loop_out(change.advice):
        return []
    file, line = met_at(change.cause["nodes"][0])
    # a `while` may ask for a tensor: then the graph breaks in each round
    loops = [at for kind, at in uses.uncut_around(file, line) if kind == "for"] if line else []
    form = (
        "then torch unrolls the loop at %s: it traces each round, and compiles again for another "
        "number of rounds"
    )
    return [form % place(file, loops[0], links)] if loops else []


def longer(change: Change, links: bool) -> List[str]:
    """What is told of a change after which torch may need more time to compile."""
    rows = _before_or_next(change, links)
    if change.left:
        return rows
    if not change.unsure:
        return rows + _unrolled(change, links)
    form = (
        "then the graph breaks at %s: torch traces up to there for each function around this line, "
        "so it may need longer than before, unless that break is removed, too"
    )
    file, line = change.unsure[0]
    return rows + [form % place(file, line, links)]


def _before_or_next(change: Change, links: bool) -> List[str]:
    rows = [_kept_out(one, links) for one in change.kept_out[:_NAMED]]
    for (file, line), may_run in list(rests(change).items())[:_NAMED]:
        rows.append((_IN_ONE if may_run else _IN_TWO) % place(file, line, links))
    rows += [_BEFORE % _named(one, links) for one in change.first[:1]]
    rows += [_COUNTS % (name, place(at, line, links)) for at, line, name in change.counts[:1]]
    if change.left:
        (file, line), met = change.left
        rows.append((_NEXT if met else _MAY_BE_NEXT) % place(file, line, links))
    return rows


def sentences_of(change: Change) -> List[str]:
    """What is to be done before a change, and what is left to do after it, as sentences."""
    return [one[:1].upper() + one[1:] + "." for one in _before_or_next(change, False)]


def _kept_out(call: Any, links: bool) -> str:
    if not call.spelt and not call.counted:
        return _DECIDES_BEHIND % place(call.file, call.line, links)
    if not call.spelt:
        return _COUNTS_BEHIND % (place(call.file, call.line, links), call.counted)
    why = "torch compiles it again and again, and with it all that is compiled together"
    if not call.seen:
        what = "changes %s, so torch may compile for each value" % call.counted
        why = "it runs uncompiled in this run, and %s" % (
            what if call.counted else "whether torch can compile it is not known"
        )
    return "leave the call %s(...) at %s outside, too: %s" % (
        call.spelt,
        place(call.file, call.line, links),
        why,
    )


_DECIDES_BEHIND = (
    "what follows %s had nothing to compile for the first number, and runs uncompiled in this run; "
    "with a symbolic number torch may compile it, again for each decision on the number"
)
_COUNTS_BEHIND = (
    "what follows %s had nothing to compile, and runs uncompiled in this run; it changes %s, so "
    "without the break torch may compile all of the function for each value"
)
_IN_ONE = (
    "what follows the branch, from %s on, can be computed before the test, in the same function"
)
_IN_TWO = (
    "what follows the branch, from %s on, becomes a second function: compile it as well, and call "
    "it after the test"
)
_NEXT = "the next break there is %s: until it is removed, too, the function stays uncompiled"
_MAY_BE_NEXT = "the next break there may be %s: then the function stays uncompiled"
#: of a break behind which a function is compiled again and again
_BEFORE = (
    "first the change for %s: torch compiles what is behind this line again and again for it, and "
    "without the break it would compile the whole function as often"
)


_COUNTS = (
    "then torch compiles the function that changes %s at %s, and may do so for each value: make "
    "that change outside of it first"
)


def _named(change: Change, links: bool) -> str:
    words = plain(re.split(r"[.;] ", change.words)[0])
    return "%s (%s)" % (place(*shown_at(change), links), words)


def not_patched(change: Change, nodes: List[Any], links: bool) -> List[str]:
    """The functions whose torch.compile is to be given dynamic=True, and the branches for
    torch.where, that are not in the patch.
    """
    if re.search(r"(?m)^\+.*\btorch\.where\(", change.patch):
        by_hand = [one for one in change.also if one.advice == change.advice and not one.patch]
        places = dict.fromkeys(place(*shown_at(one), links) for one in by_hand)
        rows = ["not in the patch: %s" % one for one in places]
        return first_of(rows, "not in the patch: %d more")
    if not re.search(r"(?m)^\+.*\bdynamic=True", change.patch):
        return []
    every = (change,) + change.also
    covered = {outermost(one.cause["nodes"][0]) for one in every if one.patch}
    asked = [frame for one in every if "dynamic=True" in one.advice for frame in one.outermost]
    asked += _sharing(set(asked), nodes)
    first = {tuple(node.frame): node for node in reversed(nodes)}
    left = [first[one] for one in dict.fromkeys(asked) if one not in covered and one in first]
    rows = [
        "not in the patch: give the torch.compile of %s dynamic=True, too: %s"
        % (shown(node.title), place(node.place[0] or "?", node.place[1], links))
        for node in sorted(left, key=lambda node: node.place)
    ]
    return first_of(rows, "not in the patch: %d more")


def _sharing(given: Set[Any], nodes: List[Any]) -> List[Any]:
    """The functions whose torch.compile is not given dynamic=True, and that meet breaks which those
    that are given it meet, too: what breaks there is compiled by itself, once for both only where
    both have the same settings.
    """
    met: Dict[Any, Set[Any]] = {}  # the places of breaks by the function of the program's call
    for node in nodes:
        settings = (node.entry.get("metrics") or {}).get("settings") or {}
        if settings.get("assume_static_by_default") is not False:
            places = {(one["file"], one["line"]) for one in node.breaks if one["line"]}
            met.setdefault(outermost(node), set()).update(places)
    own: Set[Any] = set().union(*(met.get(one, set()) for one in given))
    return [
        one
        for one, places in met.items()
        if one not in given and any(_is_shared_at(at, one, given, nodes) for at in places & own)
    ]


def _is_shared_at(at: Any, other: Any, given: Set[Any], nodes: List[Any]) -> bool:
    """Whether what breaks at (file, line) is compiled by itself, and for one of two sides alone:
    where each of them has a compile of its own, such as one without gradients, they share none.
    """
    sides = set()
    for node in nodes:
        if node.place[0] == at[0] and node.has_line(at[1]) and not node.failure:
            called_by = outermost(node)
            if called_by != tuple(node.frame):
                sides |= {called_by in given} if called_by in given or called_by == other else set()
    return len(sides) == 1


def called_from(change: Change, links: bool) -> List[str]:
    """The reader's own line behind a place in a library."""
    file, line, code = change.caller
    if not line or (file, line) in ((change.file, change.line), change.shown_at):
        return []
    return ["called from %s: %s" % (place(file, line, links), shown(code.strip()))]


def called_from_in_words(change: Change) -> str:
    """The same of a change and of the others that it is for, for a sentence; "" for none."""
    places = []
    for one in (change,) + change.also:
        file, line, _ = one.caller
        if line and (file, line) not in ((one.file, one.line), one.shown_at):
            places.append(place(file, line, False))
    return ", called from " + _in_words(first_of(places, "%d more")) if places else ""


def told_given_up(change: Change, number: int, told: Dict[Any, int]) -> str:
    """That torch gave the function up; of each function once, with the number of that change
    afterwards.
    """
    if not change.gave_up:
        return ""
    explained = number in told.values()
    before = told.setdefault(change.function, number)
    if before != number:
        return ". torch stopped compiling the function: see %d" % before
    form = _GAVE_UP_TOO if explained else _GAVE_UP
    spent = _SPENT if not explained and saving(change).endswith(" spent") else ""
    return ". " + form % (change.gave_up, "" if change.gave_up == 1 else "s") + spent


#: what to do before sizes become symbolic
FIRST = (
    "first: change the float at %s, as its own advice says: torch compiles again for each value of "
    "it, with dynamic=True, too"
)
#: rows of floats that torch makes symbolic, so that one compile is for all values
_SYMBOLIC_FLOATS = ("float", "float attribute", "float that decides")


def float_first(change: Change, every: List[Change]) -> List[Change]:
    """What is about a float of the same compiled function of which torch makes a constant, also
    where sizes are symbolic: without a change of it, each of its values takes a compile.
    """
    if "(..., dynamic=True)" not in change.advice or change.row.startswith("float"):
        return []
    called = frozenset().union(*(each.outermost for each in (change,) + change.also))
    for one in [each for found in every for each in (found,) + found.also]:
        if one.row.startswith("float") and one.row not in _SYMBOLIC_FLOATS:
            if one.outermost & called:
                return [one]
    return []


def left_out(change: Change) -> str:
    """Why a change is among those worth most, whatever it saves of compiling."""
    end = "" if change.words.endswith(".") else "."
    ended = _ENDED_TWICE if change.row == OF_GRADIENTS else _ENDED
    ended = end + ended if not ends(change) else ""
    failing = [one for one in (change,) + change.also + change.gone if fails(one)]
    return ended + _left_uncompiled(change, failing, "" if ended else end) if failing else ended


_ENDED_TWICE = " The program ended with an exception, as a compiled graph was differentiated twice."
_ENDED = " The program ended with an exception in code that torch made here."


def _left_uncompiled(change: Change, failing: List[Change], end: str) -> str:
    ended = [one for one in failing if one.cause["failure"].get("raised")]
    failing = [one for one in failing if one not in ended]
    nodes = [one.cause["nodes"][0] for one in failing]
    if ended:
        at = _in_words([place(*shown_at(one), False) for one in ended])
        end += " At %s torch raises an exception to the program." % at
    if not nodes:
        return end
    names = list(dict.fromkeys(_subject(one) for one in nodes if not one.through))
    wrappers: Dict[str, List[str]] = {}  # by the function that they are around
    for one in [each for each in nodes if each.through]:
        of = wrappers.setdefault(str(one.title), [])
        if one.through + one.elsewhere not in of:
            of.append(one.through + one.elsewhere)
    for title, of in wrappers.items():
        named = "the wrapper %s" % of[0] if len(of) == 1 else "%d wrappers" % len(of)
        names.append("%s around %s" % (named, title))
    more = len(names) - _MOST_SUBJECTS
    names[_MOST_SUBJECTS:] = ["%d more" % more] * (more > 0)
    told = _in_words(names)
    form = "%s %s run%s uncompiled at each call%s because of %s; that time is not counted."
    is_one = len(names) == 1 and sum(map(len, wrappers.values())) < 2
    lines = {(one.file, one.line) for one in failing}
    which = "it"
    if lines != {(change.file, change.line)}:  # of a change for several lines, not the first alone
        which = _in_words([place(*shown_at(one), False) for one in failing])
    since = _since(nodes)
    return form % (end, re.sub("^the ", "The ", told), "s" if is_one else "", since, which)


def _since(nodes: List[Any]) -> str:
    """From which compile on functions run uncompiled that torch had compiled before."""
    from depyf.report.words import skipped_at

    ended = [one.key for one in nodes if skipped_at(one.run, one.entry) is not None]
    if not ended:
        return ""
    told = "compile " + ended[0] if len(ended) == 1 else "compiles " + _in_words(ended)
    return " from %s on" % told if len(ended) == len(nodes) else " (from %s on)" % told


def _in_words(names: List[str]) -> str:
    return " and ".join(", ".join(dict.fromkeys(names)).rsplit(", ", 1))


#: functions that a change names of those which run uncompiled
_MOST_SUBJECTS = 3


def _subject(node: Any) -> str:
    """A function, or the rest of one, in a sentence."""
    form = "the rest of %s after line %d"
    return form % (node.title, node.resumes_at) if node.is_resume else str(node.title)


def together(top: List[Change], nodes: List[Any]) -> List[str]:
    """A line about what several changes save together, where a compile counts at more than one."""
    top = [one for one in top if not is_open(one) and all(rests(one).values())]
    top = [one for one in top if not any(map(fails, (one,) + one.also))]
    if all(one.alone - one.seconds < 0.005 for one in top):
        return []
    form = "together up to %.2f of the %.2f s of compiling: each counts what those above it leave"
    return [form % (sum(one.seconds for one in top), sum(node.seconds for node in nodes))]


def compiles_removed(change: Change, nodes: List[Any], counted: Set[str]) -> List[str]:
    """A line with how many compiles are made for what a change of recompiles removes: of a break it
    is not known, as what is on both sides of it becomes one compile.

    Args:
        counted: the keys of those that the changes above remove, to which its own are added.
    """
    every = (change,) + change.also + change.gone
    if is_open(change) or any(one.kind != "recompile" for one in every):
        return []
    own = {key for key, seconds in change.each.items() if seconds} - counted
    counted |= own
    form = "of the %d compiles, %d %s because of this"
    return [form % (len(nodes), len(own), "is" if len(own) == 1 else "are")] * bool(own)


#: words of a recompile for a size
_IS_SIZE = re.compile(r"\.?size\(\d+\)")
_OF_CALLER = (
    "; where a size that the function around is given changes with it, torch compiles that again"
)
#: as above, of a value that the same call makes before the break
OF_MADE = "; what the value is made of still takes a compile where it differs"


def told_gone(change: Change, number: int, given_up: Dict[Any, int], links: bool) -> List[str]:
    """Lines that name the recompiles that a change also removes, and that torch stopped compiling
    because of them.
    """
    rows: List[str] = []
    for one in change.gone:
        words = plain(one.words.partition(BESIDE)[0] + told_given_up(one, number, given_up))
        told = any(_OF_CALLER in row for row in rows)
        words += _OF_CALLER if _IS_SIZE.search(words) and not told else ""
        words += OF_MADE if one.row == MADE_BEFORE else ""
        row = "also removes: %s  %s" % (place(one.file or "?", one.line, links), words)
        rows += [row] * (row not in rows)
    return first_of(rows, "also removes: %d more")


def elsewhere(change: Change, number: int, given_up: Dict[Any, int], links: bool) -> List[str]:
    """Lines that name the other places of a change, with their words where those differ."""
    from depyf.report.words import is_logged_alone

    rows = []
    for one in change.also:
        stopped = "" if one.function in given_up else told_given_up(one, number, given_up)
        same_words = one.words == change.words and not stopped
        told = one.words.partition(BESIDE)[0]  # the other reasons are told of the first alone
        words = ", for the same reason" if same_words else "  " + plain(told + stopped)
        file, line = shown_at(one)
        if one.caller[1] and one.caller[:2] not in (shown_at(one), change.caller[:2]):
            words = " from %s%s" % (place(one.caller[0], one.caller[1], links), words)
        row = "also %s%s" % (place(file, line, links), words)
        at_one_line = (file, line) == shown_at(change)
        same = same_words and at_one_line
        same = same or at_one_line and is_logged_alone(one.words)  # it is all one call
        if not same and row not in rows:
            rows.append(row)
    return first_of(rows, "also %d more")


def first_of(rows: List[str], form: str) -> List[str]:
    """The first rows, and how many more there are."""
    more = len(rows) - _NAMED
    return rows if more <= 0 else rows[:_NAMED] + [form % more]


def plain(words: str) -> str:
    """Words on one line of a terminal, without the marks of code."""
    return shown(" ".join(words.replace("`", "").split()))
