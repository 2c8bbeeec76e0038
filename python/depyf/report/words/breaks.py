"""Graph breaks in plain words: what happened, on which line of the user's, and what helps.

torch's own texts stay beside these words, complete; where a reason is not known here, torch's
explanation is what is said. The words and the advice are rows of `depyf.advice.breaks`.
"""

import re
from typing import Any, Dict, Iterable, List, Mapping, Match, Optional, Sequence, Tuple

from depyf import advice
from depyf.advice import breaks as break_rows
from depyf.advice import uses

from depyf.report.words.amended import OF_NUMPY, OF_PRINTED, with_condition, with_needs, with_uses
from depyf.report.words.stacks import (
    Line,
    call_of,
    frame_places,
    in_library,
    in_others_library,
    last_code,
    short_place,
    split_location,
    way_to,
)
from depyf.schema import Document
from depyf.trace.frames import parse_frame

#: what is said of a graph break, a failure or a guard that failed: see `of_break`, `of_reason`
Said = Dict[str, Any]


_LOOP = re.compile(r"graph break in (a for/while )?loop", re.IGNORECASE)
_GIVEN_UP = re.compile(
    r"^Skipping (the )?(frame|function)|Failed to handle graph break gracefully", re.MULTILINE
)
#: how a patch begins that changes no line but adds a setting
SETS = "torch._dynamo.config."
#: a resume function that torch gives up, and no function as a whole
OF_REST = re.compile(r"(^\s*File .*, in |frame skipped: )torch_dynamo_resume_in_", re.MULTILINE)
_REPORT_HINT = re.compile(
    r"report an issue|file an issue|fundamental - it is unlikely", re.IGNORECASE
)
#: torch's names for that a tensor is turned into a Python number
_NUMBER = re.compile(r"Tensor\.item|Tensor\.tolist|Data dependent operator")
#: as above, and for a number of which torch made a tensor
_DRAWN = re.compile(_NUMBER.pattern + r"|^unimplemented builtin op on tensor arguments")
#: what a program does with such a number, where that decides what helps
_USES = (
    (uses.stored_at, "stores by"),
    (uses.largest_at, "picks the largest by"),
    (uses.ordered_at, "orders by"),
    (uses.decided_at, "needs"),
    (uses.given_to_math_at, "gives to math"),
    (uses.printed_at, "prints"),
    (uses.indexed_at, "indexes with"),
    (uses.asserted_at, "asserts"),
    (uses.appended_at, "appends"),
    (uses.put_into_dict_at, "puts into a dict"),
    (uses.updated_at, "updates a number with"),
    (uses.text_at, "formats"),
    (uses.element_at, "picks an element by"),
    (uses.picked_at, "picks with"),
    (uses.beside_at, "takes a number beside"),
)
#: that torch does not keep a list in the graph, as it is of no integers
_OF_FLOATS = re.compile(r"^Tensor\.tolist\(\) with non-integer")
SIZED = re.compile(r"^dynamic shape operator", re.IGNORECASE)
_PRINTS = re.compile(r"\bbuiltin (operator )?`?print\b")
#: a branch on a number that a tensor's values decide, such as the size of what a mask keeps
_OF_NUMBER = re.compile(r"attempted to jump with SymNodeVariable")
#: how torch tells of one inside of a `with` block, and in its traceback of why it broke there
_IN_CONTEXT = re.compile(r"^Graph break under GenericContext")
_NO_RESUME = re.compile(
    r"^Encountered graph break that we cannot resume from|^Consider annotating your code using"
)
_TESTS = re.compile(r"\s*(if|elif|while)\b")
_NOT_GUARDED = re.compile(r"Could not guard on data-dependent expression")
#: a branch on a Python number alone of which torch made a tensor, and each draw of such a number
_OF_DRAWN = re.compile(r"attempted to jump with UnspecializedPythonVariable")
_DRAWS = re.compile(
    r"^ *# File \"(?P<file>.+?)\", line (?P<line>\d+), in [^\n]*\n *random_value_\d+: ", re.M
)
_OF_GRADIENT = re.compile(r"`torch\.autograd\.grad`")
_READS_CLOCK = re.compile(r"`time\.\w+")
#: what packs sequences, or may be given packed ones
_OF_SEQUENCES = re.compile(
    r"\bRNN, GRU,|`(pack_padded_sequence|pack_sequence|pad_packed_sequence)`"
)
#: how torch names an argument that is a generator
_OF_GENERATOR = re.compile(r"UserDefinedObjectVariable\(Generator\)")
#: how torch names an operator that has no kernel for fake tensors
_OF_OPERATOR = re.compile(r"^\s*Developer debug context: (unsupported operator: \S+)", re.M)
_GB = re.compile(r"gb(\d{4})\.html")
#: how torch tells of an exception that the program raises while torch traces it, or its operation
_RAISED = re.compile(r"^\s*Developer debug context: raised exception (?P<what>\w.*)$", re.M)
_OPERATION_RAISED = re.compile(
    r"Dynamo failed to run FX node with fake tensors: call_\w+ (?P<name>[\w.]+|<[^>]*>)"
    r"\(.*\): got (?P<what>\w+\(.*\))\s*$",
    re.S,
)


def of_break(found: Document) -> Said:
    """What a graph break says to its reader.

    Args:
        found: a graph break as in docs/run_schema.md.
    Returns:
        A dict: `what` (torch's name for it), `code` (its number), `row` (that of `depyf.advice`, ""
        where there is none), `why`,
        `then` (what it leads to where that is more than a cut), `help` (advice that is tested),
        `hints` (torch's own, word for word), `file`, `line`, `source`, `caller` (the reader's own
        line that led into a library or another file: file, line, code), `via` (all lines of the
        reader's on the way there), `foreign` (whether nothing can be done at the line itself, see
        `leave_out`), `url`, `raw`.
    """
    raw = found.get("text") or found.get("reason") or "unknown"
    found = _in_context(_in_later_words(found), raw)
    reason = found.get("reason") or "unknown"
    location = found.get("location") or ""
    filename, line = split_location(location)
    stack = [str(text) for text in found.get("user_stack") or ()]
    source = last_code(stack)
    said = "%s\n%s\n%s\n> %s" % (reason, found.get("explanation") or "", location, source)
    said += _told_by_source(raw, reason, said, filename, line, stack)
    raised = _RAISED.search(raw) if reason == _OBSERVED else None
    if raised and not raised.group("what").startswith("TypeError("):
        said = reason  # what is done at the line failed, and not torch
    number = _GB.search(found.get("url") or "")
    code = "GB" + number.group(1) if number else ""
    hints = "\n".join(map(str, found.get("hints") or ()))
    row, names = advice.find(break_rows.ROWS, code, reason, said, hints)
    names = _as_called(names, stack)
    caller, via = way_to(filename, line, stack)
    explanation = (found.get("explanation") or "").strip()
    told = (advice.filled(row.words, dict(_UNNAMED, **names)) if row else None) or ""
    told = told or _exception_of_program(raised, explanation, (filename, line))
    why = told or _FOR_DEVELOPERS.sub("", explanation.split("\n")[0]).strip() or reason
    given = _given(row, names, raw, filename, line, stack)
    foreign = bool(row and row.key not in break_rows.AROUND and in_others_library(filename, stack))
    if foreign:  # of what is done about the line, only a setting is the reader's
        given = [one for one in given if one[1].startswith(SETS)]
    help = [text for text, _ in given]
    return {
        # torch ends some with a colon, behind which stood more
        "what": why if reason.rstrip().endswith(":") else reason,
        "code": code,
        "row": row.key if row else "",
        "why": why,
        "explanation": explanation if told else "",
        "then": then_of("\n".join([raw, *stack]), _is_called_from(raw, stack)),
        "help": help,
        "patches": [patch for _, patch in given],
        # a hint against what is done on purpose would mislead, as would one that does not help
        "hints": []
        if row and row.key in advice.WITHOUT_HINTS
        else _hints(found.get("hints") or ()),
        "file": filename,
        "line": line,
        "source": source,
        "caller": caller,
        "via": via,
        "foreign": foreign,
        "url": found.get("url") or "",
        "raw": raw,
    }


def _told_by_source(
    raw: str, reason: str, said: str, filename: str, line: int, stack: Sequence[str]
) -> str:
    """What the program's source tells of a break, as lines that the rows of advice look for.

    Args:
        raw: all that torch printed.
        reason: torch's name for the break.
        said: what the rows look for without them.
    """
    told = ""
    drawn = uses.drawn_at(filename, line) if _DRAWN.search(reason) else 0
    if drawn:
        told += "\n? line %d draws it" % drawn
    elif _NUMBER.search(reason):
        one_of_some = _OF_FLOATS.search(reason) and uses.makes_lists(filename, line)
        used, what = (0, "") if one_of_some else use_of(filename, line)
        told += "\n? in a forward hook" if _is_of_hook(filename, line, stack) else ""
        told += "\n? line %d %s it" % (used, what) if used else ""
        if what == "gives to math":
            told += "\n? calls %s, for tensors %s" % uses.math_called_at(filename, used)
        sized = 0 if used else uses.sized_by_numbers_at(filename, line)
        told += "\n? line %d decides on a size by it" % sized if sized else ""
        counter = "" if used else _counted_by_python(filename, line, stack)
        told += "\n? %s counts" % counter if counter else ""
        told += "\n? makes a list" if uses.lists_of(filename, line) else ""
    elif SIZED.search(reason):
        used = uses.sized_at(filename, line)
        listed = uses.listed_at(filename, line)
        told += "\n? line %d lists it" % listed if listed else ""
        told += "\n? line %d asks for its size" % used if used else ""
        told += _left_out(filename, used) if used else ""
        told += "\n? does more than skip" if uses.replaced_at(filename, used) else ""
        weighted = uses.gives_more(filename, line, "bincount", ("input", "minlength"))
        told += "\n? has weights" if weighted else ""
        counted = uses.counted_at(filename, line) if used else []
        told += "\n? %s counts" % _lines(counted) if counted else ""
    elif _PRINTS.search(said) and uses.prints_number(filename, line):
        told += "\n? prints a number"
    elif _READS_CLOCK.search(said):
        used = uses.timed_at(filename, line)
        told += "\n? line %d decides by the time" % used if used else ""
    elif _OF_GRADIENT.search(reason) and uses.creates_graph(filename, line):
        told += "\n? creates a graph of the gradient"
    elif _OF_GENERATOR.search(raw):
        told += "\n? is given a torch.Generator"
    elif _OF_SEQUENCES.search(said) and uses.packs_sequences(filename, line):
        told += "\n? packs sequences"
    else:
        told += "".join("\n? " + one for one in _OF_OPERATOR.findall(raw)[:1])
    in_context = _BRANCH.search(reason) and _NOT_GUARDED.search(raw)
    if _OF_NUMBER.search(raw) or in_context:
        told += "\n? decided by a number" + _left_out(filename, line)
        told += "\n? does more than skip" if uses.replaced_at(filename, line) else ""
    elif _OF_DRAWN.search(raw):
        drawn_at = dict.fromkeys((one["file"], int(one["line"])) for one in _DRAWS.finditer(raw))
        at = ["line %d" % one[1] if one[0] == filename else short_place(*one) for one in drawn_at]
        told += "\n? drawn at %s" % " and ".join(at) if at else ""
    elif OF_NUMPY.search(raw):
        told += "\n? tests a NumPy value"
    elif _BRANCH.search(reason) and uses.skips_at(filename, line):
        told += "\n? skips what a mask keeps"
    return told


def _given(
    row: Optional[advice.Row],
    names: Mapping[str, str],
    raw: str,
    filename: str,
    line: int,
    stack: Sequence[str],
) -> List[Tuple[str, str]]:
    """(text, patch) of what helps against a break: that of its row, then of a loop around it."""
    looped = _help_of_loop(row, raw, filename, line, stack)
    given = with_condition(advice_of(row, names), names, raw, filename, line)
    if row is not None and row.key in OF_PRINTED:
        given = with_uses(given, filename, line)
    if row is not None and row.key == "item as an index":
        given = with_needs(given, filename, line)
    given += [(one.text, "") for one in looped]
    if row is not None and row.key in _LOGS and not _REORDERED.match(names.get("called", "")):
        given = [one for one in given if not one[1].startswith(_REORDERS)]
    if row and row.key in break_rows.OF_NONE:
        asked = line if row.key == "branch on a number" else uses.sized_at(filename, line)
        if not uses.asks_for_none(filename, asked):
            given[:2] = given[1::-1]
    return given


def _help_of_loop(
    row: Optional[advice.Row], raw: str, filename: str, line: int, stack: Sequence[str]
) -> Sequence[advice.Help]:
    """What helps against the loop in which torch cannot cut a graph at a break; () for none."""
    # where the loop itself is the problem, its body is not
    if not _LOOP.search(raw) or row is not None and row.key in break_rows.REPEAT:
        return ()
    file, at = _loop_around(filename, line, stack)
    decides = row is not None and row.key in break_rows.DECIDE
    if decides and _leaves_loop(filename, line, stack):
        return break_rows.LEAVES.help
    if uses.ends_loop_around(filename, line) or uses.ends_loop_by_call(file, at):
        return break_rows.LEAVES.help
    if not file:
        return break_rows.LOOP.help
    if in_library(file) or uses.calls_alone(file, at):
        return ()  # nobody can make a function of it, or it is one
    if uses.is_worth_a_function(file, at):
        return break_rows.LOOP.help
    return break_rows.ROUNDS.help if decides else ()


#: a sentence of torch's for those who write torch
_FOR_DEVELOPERS = re.compile(r"(?:^|(?<=\. ))[^.]*\bVariableTracker\b[^.]*(?:\.|$)")
#: torch's names for a branch that a tensor decides
_BRANCH = re.compile(r"^(generic_jump|Data-dependent branching)", re.IGNORECASE)
#: torch's name for that the program raises an exception
_OBSERVED = "Observed exception"
#: how torch up to 2.8 writes a constant of the program
_CONSTANT = re.compile(r"\[?ConstantVariable\(\w+: ('[^']*'|[^()\[\]]*)\)\]?")


def _exception_of_program(
    raised: Optional[Match[str]], explanation: str, at: Tuple[str, int]
) -> str:
    """Names the exception of the program that torch tells of in words of its own; "" where it is
    none.

    Args:
        at: (file, line) of the break.
    """
    if raised is not None:
        what = _CONSTANT.sub(r"\1", raised.group("what").strip())
        caught = any(kind == "try" for kind, _ in uses.uncut_around(*at))
        none = "" if caught else ", and nothing in there catches it"
        return "This line raises `%s` while torch traces it%s." % (what, none)
    operation = _OPERATION_RAISED.search(explanation)
    if operation is None:
        return ""
    return (
        "The operation `%(name)s` raised `%(what)s` when torch ran it on tensors without values, "
        "to learn the shape of the result." % operation.groupdict()
    )


def _left_out(filename: str, line: int) -> str:
    """What is noted of a branch that leaves out more than what computes with tensors."""
    left = uses.left_out_at(filename, line)
    return "\n? leaves out %s" % _lines(left) if left else ""


def _lines(lines: Iterable[int]) -> str:
    return ", ".join("line %d" % one for one in lines)


#: rows of what logs, and the functions of `logging` that torch can call after the graph
_LOGS = ("log that is asked", "log", "log function")
_REORDERED = re.compile(r"^logging\.(debug|info|warn|warning|error|critical|exception|log)$")
_REORDERS = "torch._dynamo.config.reorderable_logging_functions.add("
_LOGGED_ALONE = (
    "The line that logs runs as plain Python, so torch compiles `%s` of Python's logging by "
    "itself%s."
)
_IN_LOGGING = re.compile(r"[/\\]lib[/\\]python[\d.]+[/\\]logging[/\\]__init__\.py$")
#: how torch names a builtin that it does not trace
_BUILTIN = re.compile(r"trace the builtin `(?P<name>[\w.]+?)\.?`")


def describe_logged_alone(said: Said, function: str, place: str) -> None:
    """Says of a break in a function of Python's logging, which torch compiles by itself, as no code
    around it is compiled: what can be done in the graph of a program cannot be done there.
    """
    if said["row"] not in _LOGS or not _IN_LOGGING.search(place):
        return
    found = _BUILTIN.search(said["explanation"] or said["raw"])
    untraced = ", and does not trace `%s`" % found.group("name") if found else ""
    said["why"] = _LOGGED_ALONE % (function, untraced)
    given = advice_of(break_rows.BY_KEY["log"], {})
    said.update(help=[text for text, _ in given], patches=[patch for _, patch in given])


def is_logged_alone(why: str) -> bool:
    """Whether the words of a break are about a function of Python's logging, which torch compiles
    by itself.
    """
    return why.startswith(_LOGGED_ALONE.partition(",")[0])


def _is_of_hook(filename: str, line: int, stack: Sequence[str]) -> bool:
    """Whether the function of a line is a forward hook, which torch's module calls."""
    frames = [one for one in stack if parse_frame(one) or _CALLS_HOOK.match(one)]
    places = [at for at, one in enumerate(frames) if _CALLS_HOOK.match(one)]
    behind = frames[places[-1] + 1 :] if places else []
    return len(frame_places(behind)) == 1


#: the line of torch's module that calls a forward hook
_CALLS_HOOK = re.compile(r"^\s*hook_result = hook\(self, args,", re.M)


def use_of(filename: str, line: int) -> Tuple[int, str]:
    """(line that decides what helps for a Python number that a line makes of a tensor, what it does
    with it); (0, "") for none.
    """
    for at, what in _USES:
        used = at(filename, line)
        if used:
            return used, what
    return 0, ""


def _counted_by_python(filename: str, line: int, stack: Sequence[str]) -> str:
    """The line of a function that updates a number which stays between calls, where a break in a
    loop has the function run as plain Python; "" for none. Without the break, torch guards that
    number.
    """
    if not _loop_around(filename, line, stack)[0]:
        return ""
    for file, at in [(filename, line)] + frame_places(stack)[::-1]:
        counted = uses.counted_near(file, at)
        if counted:
            return short_place(file, counted)
    return ""


def _loop_around(filename: str, line: int, stack: Sequence[str]) -> Tuple[str, int]:
    """(file, line) of the innermost frame that is in a loop at a break; ("", 0) for none."""
    for file, at in [(filename, line)] + frame_places(stack)[::-1]:
        if any(kind != "try" for kind, _ in uses.uncut_around(file, at)):
            return file, at
    return "", 0


def _leaves_loop(filename: str, line: int, stack: Sequence[str]) -> bool:
    """Whether what a line decides ends a round of a loop, or the function that a loop calls: the
    loop needs the decision, wherever the code between stands. Nobody can take a library's apart.
    """
    if in_library(_loop_around(filename, line, stack)[0]):
        return False
    return uses.ends_round(filename, uses.decided_at(filename, line) or line)


#: graph breaks in the words of torch up to 2.6 -> their name and explanation in later ones
_LATER_WORDS = (
    (
        re.compile(r"^builtin: (?P<name>[\w.]+) \["),
        "Failed to trace builtin operator",
        "Dynamo does not know how to trace builtin operator `{name}`.",
    ),
    (
        re.compile(
            r"^Graph break due to unsupported (Python )?builtin (None\.)?(?P<name>\w+(\.\w+)*)"
        ),
        "Attempted to call function marked as skipped",
        "Dynamo does not know how to trace the builtin `{name}`.",
    ),
    (
        re.compile(r"^'?skip function (?P<name>graph_break) in file "),
        "Call to `torch._dynamo.graph_break()`",
        "The program calls `{name}`.",
    ),
    (
        re.compile(r"^'?skip function (?P<name>[\w.<>]+) in file (?P<file>[^']*)"),
        "Attempted to call function marked as skipped",
        "Dynamo does not trace the function `{name}` in file `{file}`.",
    ),
    (
        re.compile(
            r"^call torch\._dynamo\.disable\(\) wrapped function <function (?P<name>\S+) at "
        ),
        "Skip calling `torch.compiler.disable()`d function",
        "Dynamo does not trace the function `{name}`.",
    ),
)


def _in_later_words(found: Document) -> Document:
    """A graph break with the name and explanation that later versions of torch give it."""
    if found.get("explanation") or found.get("url"):
        return found
    for form, reason, explanation in _LATER_WORDS:
        match = form.match(found.get("reason") or "")
        if match is not None:
            return dict(found, reason=reason, explanation=explanation.format(**match.groupdict()))
    return found


def _in_context(found: Document, raw: str) -> Document:
    """A graph break inside of a `with` block with the name of what broke there, where torch has
    only that of the block, and its traceback tells.
    """
    reason = found.get("reason") or ""
    source = last_code([str(text) for text in found.get("user_stack") or ()])
    known = _IN_CONTEXT.search(reason) or _NO_RESUME.search(reason) and _TESTS.match(source)
    if not known or not _NOT_GUARDED.search(raw):
        return found
    return dict(found, reason="Data-dependent branching", url="gb0170.html")


def _as_called(names: Dict[str, str], stack: Sequence[str]) -> Dict[str, str]:
    """The names of a break with `called`, the function as the program's line calls it, and its last
    part, `method`; `name` is the same where torch names something inside of Python's own library.
    """
    name = names.get("name", "")
    called, inside = call_of(stack, name.rpartition(".")[2])
    if not called:
        return dict(names, called=name) if name else names
    names = dict(names, called=called, method=called.rpartition(".")[2])
    if name and (inside or name.rpartition(".")[2] == names["method"]):
        names["name"] = called
    return names


#: what stands in words for a name that is not known
_UNNAMED = {"called": "a function", "of": "a tensor's value"}


def advice_of(row: Optional[advice.Row], names: Mapping[str, str]) -> List[Tuple[str, str]]:
    """(text, patch) of each piece of advice of a row for which all names are known."""
    found = []
    for one in row.help if row else ():
        text = advice.filled(one.text, names)
        if text is not None:
            found.append((text, advice.filled(one.patch, names) or ""))
    return found


def leave_out(said: Said, caller: Line) -> None:
    """Advises, at a break in a library, on the reader's line that calls it from compiled code.

    Args:
        said: what `of_break` says.
        caller: that line.
    """
    given = advice_of(break_rows.LIBRARY, {"caller": short_place(*caller[:2])})
    said.update(
        caller=caller,
        help=said["help"] + [text for text, _ in given],
        patches=said["patches"] + [patch for _, patch in given],
    )


def _hints(hints: Iterable[str]) -> List[str]:
    """torch's hints, each once.

    That something be reported to torch only where it says nothing else.
    """
    kept = list(dict.fromkeys(hints))
    return [one for one in kept if not _REPORT_HINT.search(one)] or kept


def gives_up(is_rest: bool) -> str:
    """What becomes of a function, or of its rest after a break, in which torch cannot cut a graph,
    as the end of a sentence.
    """
    return (
        "torch skips the %s function: it runs as plain Python, and torch compiles only functions "
        "that it calls, of torch's own (such as the modules of torch.nn) not all."
    ) % ("rest of the" if is_rest else "whole")


def runs_on_from(line: int) -> str:
    """What becomes of a function behind a graph for whose break torch makes no resume function.

    Args:
        line: the first of those that run as they are.
    """
    return (
        "from line %d on the function's own code runs, as plain Python at each call: torch makes "
        "no resume function for this break. That happens inside of some `with` and `try` blocks, "
        "and where the break is at an operation at which torch cannot cut a function. Torch "
        "compiles only functions that this code calls." % line
    )


#: the function that torch gives up at a break, and that of a frame
_SKIPPED = re.compile(r"frame skipped: (?P<name>\S+) \(")


def _is_called_from(raw: str, stack: Sequence[str]) -> bool:
    """Whether a break is not in the function that torch gives up, but in one that it calls."""
    given_up = _SKIPPED.search(raw)
    frames = [one for one in map(parse_frame, stack) if one is not None]
    if given_up is None or not frames:
        return False
    return given_up.group("name") != frames[-1].name


def then_of(raw: str, called: bool = False) -> str:
    """What a break leads to where that is more than a cut; `called`: it stands in a function that
    the compiled one calls, so that the loop is that of the call.
    """
    gone = gives_up(bool(OF_REST.search(raw)))
    if _LOOP.search(raw):
        where = "is called from" if called else "is"
        return "It %s inside a loop, where torch cannot split a graph, so %s" % (where, gone)
    return gone[0].upper() + gone[1:] if _GIVEN_UP.search(raw) else ""
