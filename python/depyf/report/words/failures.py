"""Compiles that failed or made no code, and functions that torch gives up, in plain words."""

import re
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from depyf.advice import breaks as break_rows
from depyf.advice import uses
from depyf.report.words.breaks import OF_REST, Said, gives_up, of_break
from depyf.report.words.stacks import (
    frame_places,
    in_library,
    last_code,
    short_place,
    way_to,
)
from depyf.schema import Document

_LIMIT = re.compile(r"recompile[_ ]limit|cache_size_limit", re.IGNORECASE)
_BACKEND = re.compile(r"^BackendCompilerFailed: backend='(.*?)' raised:\n(.*)")


def is_limit(failure: object) -> bool:
    """Whether a failure is that torch had compiled the function too often."""
    return isinstance(failure, str) and bool(_LIMIT.search(failure.split("\n", 1)[0]))


def given_up(entry: Document) -> Dict[str, str]:
    """What a compile that made no code means for later calls of its function, as the field
    `given_up` of a function has it: {} where torch compiles it again, or where nothing is known.
    """
    failure = str(entry.get("failure") or "")
    metrics = entry.get("metrics") or {}
    texts = [str(one.get("text")) for one in entry.get("breaks") or ()]
    why = "nothing to compile" if metrics else ""
    # where torch can cut a graph at its break, it makes code; earlier ones do not tell why they do
    # not
    why = "not compiled" if why and texts else why
    if is_limit(failure):
        why = "recompile limit"
    elif failure:
        said = failure.partition(": ")[2].split("\n", 1)[0]
        broke = said and any(said in text for text in texts)
        raised = not broke and of_failure(failure, (), metrics)["raised"]
        why = "" if raised else "not compiled"
    return {"compile_id": str(entry.get("compile_id")), "why": why} if why else {}


#: of a resume function that other code calls and that has no compile: torch lets a call run as it
#: is, and tells nobody, where it finds no tensor in it
NO_COMPILE_OF_REST = (
    "torch made no code for it: either no call reached it, or torch did not trace it, as where it "
    "finds no tensor among its variables, and it ran as plain Python."
)
_NO_COMPILE_OF_ONLY_REST = (
    "torch made no code for it. Either torch did not trace it, as where it finds no tensor among "
    "its variables, and it ran as plain Python, or no call reached it, since an exception came "
    "first."
)
_NOTHING_IN_ONLY_REST = (
    "torch made no code for it: torch did not trace it, as where it finds no tensor among its "
    "variables, and it ran as plain Python, unless each call ended at the break with an exception "
    "that the program caught."
)
#: torch decides so before it begins a compile
_LOOKED_AT = (
    "torch made no code for it and did not trace it: it found no tensor and no module among its "
    "variables. A call that reaches it runs as plain Python. Torch searches lists, tuples and "
    "dicts of those, and no other objects."
)
RUNNING = "the block ended while torch was compiling it"
UNFINISHED = "the block ended before torch had finished this compile: its guards are not known"
_NOT_CALLED = "torch made no code for it, since it saw no call of it."
_TRACED_INTO = (
    "%s is given it and calls it: torch traced it there, and made no code for it by itself."
)


def no_compile_of_rest(
    rests: int,
    outer: str = "",
    ended_well: bool = False,
    called: Optional[bool] = None,
    running: bool = False,
) -> str:
    """What is said of a resume function that has no compile.

    Args:
        rests: how many resume functions the code calls that calls it: of several, those behind an
            `if` need not be called.
        outer: the compiled resume function that is given it as the rest of a caller, or "".
        ended_well: whether no exception ended the block; one may have been caught in it.
        called: whether torch looked at a call of it; None where that is not known.
        running: whether torch was compiling it when the block ended.
    """
    if running:
        return RUNNING + "."
    if outer:
        return _TRACED_INTO % outer
    if called is not None:
        return _LOOKED_AT if called else _NOT_CALLED
    if rests == 1 and ended_well:
        return _NOTHING_IN_ONLY_REST
    return _NO_COMPILE_OF_ONLY_REST if rests == 1 else NO_COMPILE_OF_REST


_CALL_WITH_RESTS = re.compile(r"\b_*(resume_at_\w+)\(\s*\[([^\]]*)\]")


def given_to(source: str, name: str) -> str:
    """The resume function to which code gives another one in the list of those that go on with the
    callers; "" where it gives it to none.
    """
    for outer, given in _CALL_WITH_RESTS.findall(source):
        if name.lstrip("_") in re.findall(r"\b_*(resume_at_\w+)", given):
            return "__" + str(outer)
    return ""


#: of what uncompiled calls of a function at its limit call
_OWN_COMPILES = "torch compiles only functions with a torch.compile of their own."


def from_then_on(given_up: Mapping[str, str], compiles: int) -> str:
    """What the calls of a function come to that torch compiles no more, as a sentence about it.

    Args:
        given_up: the field of the function.
        compiles: how many made code before.
    """
    at = "compile %s" % given_up["compile_id"]
    if given_up["why"] == "recompile limit":
        return (
            "torch no longer compiles it (%s reached the recompile limit): calls that fit none of "
            "its compiles run as plain Python. In those calls, %s" % (at, _OWN_COMPILES)
        )
    why = "%s failed" % at
    if given_up["why"] == "nothing to compile":
        why = "%s found nothing to compile" % at
    return "torch skips it (%s): it runs as plain Python%s." % (
        why,
        " from then on, and none of its earlier compiles is tried" if compiles else "",
    )


#: where the stack of a compile says that torch.compile itself calls the function
_COMPILED_HERE = re.compile(r"[/\\]torch[/\\](_dynamo|nn[/\\]modules)[/\\]")


def skipped_by(function: Document) -> str:
    """The compile after which torch skips a function that it had compiled before, so that none of
    the function's compiles is tried any more; "" where torch tries them.
    """
    gone = function.get("given_up") or {}
    if not function.get("entries") or gone.get("why", "recompile limit") == "recompile limit":
        return ""
    return str(gone.get("compile_id"))


def skipped_at(run: Document, entry: Document) -> Optional[Document]:
    """The function of a run that torch skips, with its earlier compiles, after a compile."""
    if entry.get("name"):
        return None
    made = str(entry.get("compile_id"))
    return next((one for one in run.get("functions") or () if skipped_by(one) == made), None)


def of_nothing(entry: Document, ends: bool) -> Optional[Said]:
    """What a compile says to its reader that found nothing to compile in a function that the
    program compiles, or in one side of a branch in the rest of a function after a break; None for
    other compiles, and for what a compiled function only calls.

    Args:
        ends: whether the function had been compiled before, so that its compiles no longer run.
    """
    stack = entry.get("user_stack") or ()
    if entry.get("name") or len(stack) < 2:
        return None
    if given_up(entry).get("why") != "nothing to compile":
        return None
    if entry.get("resumes"):
        return _of_a_side(str(list(stack)[-1]))
    callers = [file for file, _ in frame_places(stack[-2:])]
    if len(callers) < 2 or not _COMPILED_HERE.search(callers[0]) or in_library(callers[1]):
        return None
    text = "nothing to compile"
    text += ", and what was compiled before no longer runs" * ends
    return dict(of_break({"reason": text, "text": text}), raised=False)


def _of_a_side(frame: str) -> Optional[Said]:
    """As `of_nothing`, of the rest of a function that begins in the test of a branch."""
    file, line = (frame_places([frame]) or [("", 0)])[0]
    other = 0 if in_library(file) else uses.computed_after(file, line)
    if not other:
        return None
    text = "nothing to compile, and line %d is never compiled" % other
    said = {"reason": text, "text": text, "location": "%s:%d" % (file, line)}
    return dict(of_break(said), raised=False)


#: exceptions after which torch runs the function as plain Python, whatever is set
_SOFT = re.compile(r"^(Unsupported|UserError|SkipFrame|\w*Restart\w*|RecompileLimitExceeded)\b")
_INTERRUPTS = ("KeyboardInterrupt", "SystemExit")
#: where Inductor's text of an operation that it could not lower names it, and the lines it is from
_TARGET = re.compile(r"^\s*target: (\S+)", re.MULTILINE)
_FOUND_FROM = re.compile(r"^\s*Found from : *$", re.MULTILINE)


def of_failure(
    text: str,
    breaks: Sequence[Said] = (),
    metrics: Optional[Mapping[str, Any]] = None,
    operation: str = "",
    stack: Sequence[str] = (),
) -> Said:
    """A compile that failed.

    Args:
        text: torch's text of the failure.
        breaks: what `of_break` says of the graph break at which torch gave up, if it was one.
        metrics: torch's of that compile.
        operation: of a graph, at which the exception was raised, where that is known.
        stack: the lines that it is from, as a traceback has them.
    Returns:
        The same as `of_break`, and `raised`: whether the exception went to the program, as far as
        torch tells.
    """
    if breaks:
        gone = gives_up(bool(OF_REST.search(breaks[-1]["raw"])))
        then = breaks[-1]["then"] or "Torch cannot split a graph there, so " + gone
        return dict(breaks[-1], then=then, raised=False)
    target = _TARGET.search(text)
    told = _FOUND_FROM.split(text)
    found = _words_of_failure(text, operation or (target.group(1) if target else ""))
    _place_failure(found, list(stack) or (told[-1].splitlines() if len(told) > 1 else []))
    fullgraph = "to the program" in found["then"]
    suppressed = (metrics or {}).get("config_suppress_errors")
    hard = suppressed is False and not _SOFT.match(text) and found["row"] != "limit"
    found["raised"] = text.startswith(_INTERRUPTS) or fullgraph or hard
    if hard and not found["then"]:
        found["then"] = "torch raised the exception to the program, and it ended the call."
    if found["row"] == "limit" and not found["raised"] and not found["then"]:
        found["then"] = "In those calls, " + _OWN_COMPILES
    return found


#: the row of a number that changes where torch needs a constant
_CONSTANT = "number as a constant"


def describe_needed_constant(found: Said) -> None:
    """Says what helps against a number that is no constant by what its line does: it draws one up
    to it, or decides; of other lines that is not known.
    """
    if found["row"] != _CONSTANT:
        return
    at = found["file"], found["line"]
    if found["line"] in uses.draws_in(*at):
        row = break_rows.BY_KEY["drawn up to a size"]
        found.update(row=row.key, why=row.words)
        found.update(help=[one.text for one in row.help], patches=[one.patch for one in row.help])
    elif not uses.decides_at(*at):
        found.update(help=[], patches=[])


def outcome(failure: Said) -> str:
    """What a failed compile came to, for a label: the function ran as plain Python, or not at
    all.
    """
    return "exception ended the call" if failure["raised"] else "not compiled"


def _place_failure(found: Said, stack: Sequence[str]) -> None:
    """Names the line that the operation at which a compile failed is from.

    It is told to no row of the advice, which is for lines at which a graph breaks.
    """
    places = frame_places(stack)
    if not places:
        return
    filename, line = places[-1]
    caller, via = way_to(filename, line, list(stack))
    source = last_code(stack)
    found.update(file=filename, line=line, source=source, caller=caller, via=via)


def _words_of_failure(text: str, operation: str) -> Said:
    lines = text.splitlines()
    if text.startswith(_INTERRUPTS):
        found = of_break({"reason": lines[0].partition(":")[0], "text": text})
        found["why"] = "The compile was interrupted; torch did not fail."
        return found
    for row in break_rows.MISSING_TOOLS:
        lacks = row.reason.search(text) if row.reason is not None else None
        if lacks:
            return of_break({"reason": lacks.group(), "text": text})
    backend = _BACKEND.match(text)
    if backend:
        name, raised = backend.groups()
        found = of_break({"reason": "BackendCompilerFailed", "text": text})
        at = " at the operation `%s`" % operation if operation else ""
        found["why"] = "The backend `%s` raised `%s`%s." % (name, raised.rstrip("."), at)
        if name in ("eager", "aot_eager"):  # those that the advice has tried
            found.update(help=[], patches=[])
        return found
    said = {
        "reason": (lines[0].partition(": ")[2] or lines[0]) if lines else "unknown",
        "explanation": next(
            (line.partition("Explanation:")[2].strip() for line in lines if "Explanation:" in line),
            "",
        ),
        "hints": [
            line.partition("Hint:")[2].strip() for line in lines if line.strip().startswith("Hint:")
        ],
        "text": text,
        "url": (re.findall(r"https?://\S+gb\d{4}\.html", text) or [""])[0],
    }
    found = of_break(said)
    if found["why"] == said["reason"]:
        what = "`%s`" % operation if operation else "this"
        raised = lines[0] if lines else "unknown"
        if raised.endswith(":") and len(lines) > 1:  # as of torch up to 2.6
            raised += " " + lines[1].strip()
        found["why"] = "torch could not compile %s: `%s`." % (what, raised)
    elif text.startswith("Unsupported: ") and not _LIMIT.search(said["reason"]):
        found["then"] = (
            "torch raised this to the program instead of breaking the graph, as it does with "
            "fullgraph=True."
        )
    return found


_OF_TORCH = re.compile(
    r"[/\\](torch|torchgen|triton|functorch)[/\\]|<eval_with_key>|torchinductor_"
)


def is_of_torch(filename: str) -> bool:
    """Whether a file is torch's own, or a graph that torch runs."""
    return in_library(filename) and bool(_OF_TORCH.search(filename)) or "<eval_with" in filename


_WRONG_CODE = (
    "Where the program has no such exception with TORCH_COMPILE_DISABLE=1, torch made wrong code."
)


def of_exception(raised: Mapping[str, Any]) -> Tuple[str, str]:
    """An exception that ended a block: what stands in front of its message, and what behind it.

    Args:
        raised: `raised_at` of the run.
    """
    at = short_place(str(raised.get("file") or ""), int(raised.get("line") or 0))
    program = str(raised.get("program") or "")
    known = "The line of the program that it is for is %s." % program
    if raised.get("by") == "generated":
        said = "%s raised it, which is code that torch made of %s. " % (at, raised.get("function"))
        said += known if program else "Which line of the program it is for is not known."
        return "an exception", said + " " + _WRONG_CODE
    if raised.get("by") == "resumed":
        said = "It came at %s, in the rest of %s that torch made behind a graph break. " % (
            at,
            raised.get("function"),
        )
        return "an exception", said + _WRONG_CODE
    if raised.get("by") == "torch":
        said = "torch's own code raised it (%s)" % at
        return "an exception", said + (", called from %s." % program if program else ".")
    return "an exception of the program", ""
