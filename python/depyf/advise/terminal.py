"""The changes of a run as text for a terminal."""

import textwrap
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from depyf.advice import NO_ACTION, breaks
from depyf.advise.change import Change, is_open, raises, shown_at
from depyf.advise.listing import Advice
from depyf.advise.uncompiled import left_untold, uncompiled
from depyf.advise.wording import (
    FIRST,
    called_from,
    compiles_removed,
    elsewhere,
    first_of,
    float_first,
    left_out,
    longer,
    not_patched,
    plain,
    saving,
    together,
    told_given_up,
    told_gone,
)
from depyf.schema import Document
from depyf.terminal import place, short_path, shown

#: recompiles without advice that are told; the rest is counted
_MOST_LEFT = 3


#: rows of what compiling was for
_MOST_PHASES = 2


def text(
    document: Document,
    links: bool = False,
    most: int = 3,
    advice: Optional[Advice] = None,
    tried: Optional[Mapping[int, List[str]]] = None,
) -> str:
    """The changes as text for a terminal.

    Args:
        advice: the changes of the document, where they are known.
        tried: what `depyf try` found of each, by its number; None where it is not that.
    """
    from depyf.report import overview

    rows = []
    advice = Advice(document) if advice is None else advice
    nodes, causes, found = advice.nodes, advice.causes, advice.found
    listed = advice.listed(most)
    top, others = listed[:most], listed[most:]
    patches = advice.patches(most)
    rows += _told(top, others, nodes, links, patches, tried or {})
    rows += together(top, nodes) + [AGAIN] * bool(top)
    rows += [_TRY] * (tried is None and bool(patches))
    if others:
        options = {"break": "--breaks", "recompile": "--recompiles", "failure": ""}
        given = sorted({options[each.kind] for one in others for each in (one,) + one.also} - {""})
        more = "and %d more" % len(others)
        folder = document.get("folder")  # else to see them takes another run
        known = shown(short_path(folder)) if isinstance(folder, str) else ""
        shows = "depyf report --advise " + known if known else ""
        shows = shows or "depyf run %s" % " or ".join(given) if shows or given else ""
        rows.append(more + (": " + shows if shows else ""))
    rows += _compiled_anyway(top, causes, links)
    normal = _normal(causes, nodes, links)
    rows = rows or ["nothing to advise"]
    gone = uncompiled(left_untold(nodes, top), links)
    rows[:0] = ["runs uncompiled: " + gone] * bool(gone)
    told_of = _told_of(listed)
    raised = _raised(causes, told_of, links)
    rows[:0] = _backward_twice(document, nodes, links) + raised
    rows[:0] = _ended(document, bool(raised) or any(map(raises, listed)))
    if normal:
        rows += ["what needs no action:"] + normal
    rows += _without_advice(found, causes, told_of, links) + _hinted(causes, told_of, links)
    rows += _drawn(nodes, links)
    skips = document.get("cudagraph_skips") or ()
    if skips:
        rows.append("torch ran graphs without CUDA graphs:")
        rows += ["   " + shown(one) for one in skips if isinstance(one, str)]
    avoidable = overview.avoidable(nodes, advice.spared())
    if avoidable:
        rows.append(_WENT_TO + (_COUNTS_TWICE if overview.overlap(avoidable) else "") + ":")
    for cost in avoidable[:_MOST_PHASES]:
        detail = ": " + cost["details"][0] if cost["details"] else ""
        beside = len(cost["details"]) - 1
        if beside > 0:
            detail += " and for %d other reason%s" % (beside, "" if beside == 1 else "s")
        rows.append(shown("%9.2f s  %s%s" % (cost["seconds"], cost["what"], detail)))
        if cost["help"]:
            rows.append(shown("%12s%s" % ("", cost["help"])))
    rest = avoidable[_MOST_PHASES:]
    if rest:
        seconds = sum(one["seconds"] for one in rest)
        rows.append("%9.2f s  in %d more, which the page of a dump has" % (seconds, len(rest)))
    if nodes:
        rows.append(_counted(nodes))
    return "\n".join(rows)


def _told(
    top: List[Change],
    others: List[Change],
    nodes: List[Any],
    links: bool,
    patches: Mapping[int, str],
    tried: Mapping[int, List[str]],
) -> List[str]:
    """What is told of each of the changes worth most; `others` stand below them.

    Args:
        patches: as `Advice.patches` gives them.
    """
    rows = []
    given_up: Dict[Any, int] = {}  # function -> the number of the change at which that is told
    counted: Set[str] = set()
    for number, one in enumerate(top, 1):
        file, line = shown_at(one)
        head = "%d. %s  %s" % (number, saving(one), place(file, line, links))
        told = [plain(one.words + told_given_up(one, number, given_up) + left_out(one))]
        told += elsewhere(one, number, given_up, links)
        told += [FIRST % place(*shown_at(each), links) for each in float_first(one, top + others)]
        told += ["change: " + plain(one.advice)] + not_patched(one, nodes, links)
        told += longer(one, links)
        told += told_gone(one, number, given_up, links)
        told += compiles_removed(one, nodes, counted)
        told[:0] = called_from(one, links)
        rows.append("\n   ".join([head] + told))
        patch = patches.get(id(one.cause))
        if patch is not None:
            rows.append(textwrap.indent(shown(patch.rstrip("\n")), "   "))
        rows += ["   " + row for row in tried.get(number, ())]
    return rows


def _backward_twice(document: Document, nodes: List[Any], links: bool) -> List[str]:
    """What led to torch's exception that a graph is used by two backward passes, as compiling makes
    one backward graph of what a program has as two.
    """
    if "backward through the graph a second time" not in str(document.get("error") or ""):
        return []
    every = [one for node in nodes for one in node.breaks if one["row"] == "backward"]
    met = [place(*one, links) for one in dict.fromkeys((it["file"], it["line"]) for it in every)]
    return [_TWICE % " and ".join(met)] if len(met) > 1 else []


def _ended(document: Document, is_told: bool) -> List[str]:
    """The exception with which a program ended that came in code of torch's.

    Args:
        is_told: whether it is told elsewhere what torch raised.
    """
    from depyf.report import words

    what, where = words.of_exception(document.get("raised_at") or {})
    if is_told or not document.get("error") or not where:
        return []
    first = str(document["error"]).split("\n")[0]
    return [shown("the program ended with %s: %s" % (what, first)), "   " + shown(where)]


_TWICE = (
    "the exception: .backward() is called at %s. What is computed before the first of them is one "
    "compiled graph, and has one backward graph, which that call frees. Compute what the second "
    "needs in a compiled function of its own, or call .backward() once, on the sum of the losses."
)


def _is_raised(cause: Dict[str, Any]) -> bool:
    """Whether torch raised an exception to the program for which there is no advice."""
    said = cause.get("failure") or {}
    return bool(said.get("raised")) and not said["help"]


def _raised(causes: List[Dict[str, Any]], told_of: Set[int], links: bool) -> List[str]:
    """What torch raised to the program, where no change is told of it."""
    rows: List[str] = []
    for cause in causes:
        if _is_raised(cause) and id(cause) not in told_of:
            said, at = cause["failure"], cause["nodes"][0].place
            said = dict(said, file=said["file"] or at[0], line=said["line"] or at[1])
            rows += [_RAISED] * (not rows) + _of_break_without_advice(cause["cost"], said, links)
    return rows


_RAISED = "torch raised an exception to the program, for which there is no advice:"


def _counted(nodes: List[Any]) -> str:
    """A line by which a run after a change can be compared with this one."""
    from depyf.report import overview
    from depyf.summary.counting import many

    told = map(many, overview.counts(nodes), ("compile", "recompile", "graph break"))
    return "this run: %s; after a change, compare these" % ", ".join(told)


#: what follows the changes that are worth most
AGAIN = "Run again after these: what is left is ordered anew."
_TRY = (
    "`depyf try` in place of `depyf run --advise` runs the program with each patch, and says what "
    "it did."
)
#: the heading of rows that tell what compiling was for; what can be saved is told of the changes
_WENT_TO = "compile time by what it was for"
_COUNTS_TWICE = ", where a compile can count in several rows"


def _told_of(listed: List[Change]) -> Set[int]:
    """The causes, by their ids, of which a list of changes tells."""
    every = [each for one in listed for each in (one,) + one.also + one.gone]
    return {id(one.cause) for one in every}


def _without_advice(
    found: List[Change], causes: List[Dict[str, Any]], told_of: Set[int], links: bool
) -> List[str]:
    """The costliest recompiles for which there is no advice, so that their seconds have a reason,
    and how many more there are.
    """
    from depyf.report import overview

    at_limit = {key for one in found if one.row == "limit" for key in one.each}
    left = [
        cause
        for cause in causes
        if cause["kind"] == "recompile" and not cause["reason"]["help"]
        if not overview.is_normal(cause) and cause["cost"] >= 0.005
        if cause["reason"]["row"] not in NO_ACTION and not at_limit.issuperset(cause["each"])
        if id(cause) not in told_of
        # a compile that failed is told with its failure
        if not all(
            one.failure and (one.failure["help"] or one.failure.get("raised"))
            for one in cause["nodes"]
        )
    ]
    rows = []
    for cause in left[:_MOST_LEFT]:
        node = cause["nodes"][0]
        where = node.caller if node.caller[1] else node.place
        told = place(where[0] or "?", where[1], links), plain(cause["reason"]["words"])
        rows.append("%9.2f s  %s  %s" % ((cause["cost"],) + told))
    more = left[_MOST_LEFT:]
    if more:
        rows.append("%9.2f s  in %d more" % (sum(one["cost"] for one in more), len(more)))
    return ["recompiles for which there is no advice that was tested:"] * bool(rows) + rows


#: of what numpy draws in a graph
_BY_TORCH = (
    "in a graph, torch draws the numbers of %s (%s) with its own generator, so which calls are "
    "compiled changes them. With torch._dynamo.config.use_numpy_random_stream = True numpy draws "
    "them, outside of the graph"
)
#: of what an object of `random.Random` draws
_AGAIN = (
    "%s (%s) gives the same number at each call of the compiled code, which sets the state of that "
    "random.Random to what it was when torch compiled. Draw outside of the compiled function, and "
    "pass the number"
)


def _drawn(nodes: List[Any], links: bool) -> List[str]:
    """For what random numbers the results differ from those without torch.compile."""
    from depyf.report import overview

    rows = []
    draws = (_BY_TORCH, overview.numpy_draws(nodes)), (_AGAIN, overview.object_draws(nodes))
    for form, drawn in draws:
        if drawn:
            called = ", ".join(dict.fromkeys(one[0] for one in drawn))
            places = first_of([place(file, line, links) for _, file, line in drawn], "%d more")
            told = form % (called, ", ".join(places))
            rows.append("results differ from those without torch.compile: " + told)
    return rows


def _hinted(causes: List[Dict[str, Any]], told_of: Set[int], links: bool) -> List[str]:
    """The costliest breaks and failures for which there is no advice, with torch's own hints, word
    for word; then those for which torch has none either. How many more there are is told of each.
    """
    from depyf.report import overview

    left: List[Tuple[float, Dict[str, Any]]] = []  # (seconds, what is said)
    for cause in causes:
        said = cause.get("break") or cause.get("failure")
        known = said is None or said["help"] or id(cause) in told_of or overview.is_normal(cause)
        known = known or _is_raised(cause)
        if said is not None and not known and said["row"] not in _NOTHING_TO_COMPILE:
            left.append((cause["cost"], said))
    rows: List[str] = []
    for head, hinted in ((_HINTS, True), (_NO_HINTS, False)):
        group = [one for one in left if bool(one[1]["hints"]) is hinted]
        more = group[_MOST_LEFT:]
        rows += [head] * bool(group)
        for seconds, said in group[:_MOST_LEFT]:
            rows += _of_break_without_advice(seconds, said, links)
        if more:
            rows.append("%9.2f s  in %d more" % (sum(one[0] for one in more), len(more)))
    return rows


_HINTS = "torch's own hints, where there is no advice that was tested:"
_NO_HINTS = "graph breaks and failures for which there is neither advice nor a hint of torch's:"
#: rows of functions that have nothing that torch could compile
_NOTHING_TO_COMPILE = tuple(one for one in breaks.BY_KEY if one.startswith("nothing to compile"))


def _of_break_without_advice(seconds: float, said: Dict[str, Any], links: bool) -> List[str]:
    where = place(said["file"] or "?", said["line"], links)
    rows = ["%9.2f s  %s  %s" % (seconds, where, plain(said["why"]))]
    file, line, code = said["caller"]
    if line:
        form = "%12scalled from your line %s: %s"
        rows.append(form % ("", place(file, line, links), shown(code.strip())))
    return rows + [shown("%12s%s" % ("", " ".join(one.split()))) for one in said["hints"]]


def _compiled_anyway(top: List[Change], causes: List[Dict[str, Any]], links: bool) -> List[str]:
    """The breaks that are not listed although the compiles after them took more than the least of
    the changes saves, as a report of the breaks has it: why they save less.
    """
    from depyf.report import overview

    least = min([one.seconds for one in top if not is_open(one)], default=0.0)
    every = [each for one in top for each in (one,) + one.also + one.gone]
    listed = {(each.file, each.line) for each in every if each.kind != "recompile"}
    rows = []
    for cause in causes:
        said = cause.get("break")
        if not said or not said["help"] or said["row"] in NO_ACTION or overview.is_normal(cause):
            continue
        saved = sum(cause["each"].values())
        cost = cause["cost"]
        if (said["file"], said["line"]) in listed or cost < 0.005 or cost <= max(least, 2 * saved):
            continue
        where = place(said["file"] or "?", said["line"], links)
        told = "up to %.2f s  %s  %s" % (saved, where, plain(said["why"]))
        rows.append("   %s %s" % (told, plain(said["help"][0])))
    head = "breaks that are not listed, as most of what is compiled after them would be compiled "
    head += "without them, too, together with what is before the break:"
    return [head] * bool(rows) + rows[:_MOST_LEFT]


def _normal(causes: List[Dict[str, Any]], nodes: List[Any], links: bool) -> List[str]:
    """The costliest recompiles that are normal, so that their seconds have a reason."""
    told = []
    for cause in causes:
        said = cause.get("reason")
        if said and said["help"] and said["row"] in NO_ACTION and cause["cost"] >= 0.005:
            told.append((cause["cost"], cause["nodes"][0], said))
    rows = []
    for seconds, node, said in sorted(told, key=lambda one: -one[0])[:3]:
        words = "%s. %s" % (said["words"], said["help"][0])
        rows.append(_normal_row(seconds, node, words, links))
    return rows + _modes(nodes, links)[:_MOST_LEFT]


def _normal_row(seconds: float, node: Any, words: str, links: bool) -> str:
    where = node.caller if node.caller[1] else node.place
    return "%9.2f s  %s  %s" % (seconds, place(where[0], where[1], links), plain(words))


_FOR_EACH_MODE = (
    "%s. train() and eval() each have code of their own: one compile for each of the two modes is "
    "normal and needs no action."
)


def _modes(nodes: List[Any], links: bool) -> List[str]:
    """The compiles for a module's other mode, one row for a function: what else differs in them is
    told elsewhere.
    """
    found: Dict[Any, List[Any]] = {}
    words_of: Dict[Any, str] = {}
    for node in nodes:
        for reason in node.reasons:
            if reason["row"] == "training mode" and node not in found.setdefault(node.frame, []):
                found[node.frame].append(node)
                words_of.setdefault(node.frame, reason["words"])
    rows = []
    for frame, made in found.items():
        seconds = sum(one.seconds for one in made)
        if seconds >= 0.005:
            words = _FOR_EACH_MODE % words_of[frame]
            rows.append(_normal_row(seconds, made[0], words, links))
    return rows
