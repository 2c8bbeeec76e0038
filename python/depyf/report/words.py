"""Graph breaks and recompiles in plain words: what happened, on which line of the user's, and what
helps.

torch's own texts stay beside these words, complete; where a reason is not known here, torch's
explanation is what is said. The words and the advice are rows of `depyf.advice`.
"""

import ast
import os
import re
from typing import Any, Dict, Iterable, List, Mapping, Match, Optional, Sequence, Set, Tuple

from depyf import advice, compiling
from depyf.advice import breaks as break_rows
from depyf.advice import recompiles as guard_rows
from depyf.advice import conditions, uses
from depyf.schema import Document
from depyf.trace.guard_text import changed_state, part_in_words, state_of

#: what is said of a graph break, a failure or a guard that failed: see `of_break`, `of_reason`
Said = Dict[str, Any]

_LIMIT = re.compile(r"recompile[_ ]limit|cache_size_limit", re.IGNORECASE)
_BACKEND = re.compile(r"^BackendCompilerFailed: backend='(.*?)' raised:\n(.*)")
_LOOP = re.compile(r"graph break in (a for/while )?loop", re.IGNORECASE)
_GIVEN_UP = re.compile(
    r"^Skipping (the )?(frame|function)|Failed to handle graph break gracefully", re.MULTILINE
)
#: how a patch begins that changes no line but adds a setting
_SETS = "torch._dynamo.config."
#: a resume function that torch gives up, and no function as a whole
_OF_REST = re.compile(r"(^\s*File .*, in |frame skipped: )torch_dynamo_resume_in_", re.MULTILINE)
_REPORT_HINT = re.compile(
    r"report an issue|file an issue|fundamental - it is unlikely", re.IGNORECASE
)
#: torch's names for that a tensor is turned into a Python number
_NUMBER = re.compile(r"Tensor\.item|Tensor\.tolist|Data dependent operator")
#: what a program does with such a number, where that decides what helps
_USES = (
    (uses.ordered_at, "orders by"),
    (uses.decided_at, "needs"),
    (uses.printed_at, "prints"),
    (uses.indexed_at, "indexes with"),
    (uses.asserted_at, "asserts"),
    (uses.appended_at, "appends"),
)
_SIZED = re.compile(r"^dynamic shape operator", re.IGNORECASE)
_PRINTS = re.compile(r"\bbuiltin (operator )?`?print\b")
#: a branch on a number that a tensor's values decide, such as the size of what a mask keeps
_OF_NUMBER = re.compile(r"attempted to jump with SymNodeVariable")
_GB = re.compile(r"gb(\d{4})\.html")


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
        reader's on the way there), `url`, `raw`.
    """
    raw = found.get("text") or found.get("reason") or "unknown"
    found = _in_later_words(found)
    reason = found.get("reason") or "unknown"
    location = found.get("location") or ""
    stack = [str(text) for text in found.get("user_stack") or ()]
    source = _last_code(stack)
    said = "%s\n%s\n%s\n> %s" % (reason, found.get("explanation") or "", location, source)
    filename, line = split_location(location)
    if _NUMBER.search(reason):
        for at, what in _USES:
            used = at(filename, line)
            if used:
                said += "\n? line %d %s it" % (used, what)
                break
    elif _SIZED.search(reason):
        used = uses.sized_at(filename, line)
        said += "\n? line %d asks for its size" % used if used else ""
        counted = uses.counted_at(filename, line) if used else []
        said += "\n? %s counts" % ", ".join("line %d" % one for one in counted) if counted else ""
    elif _PRINTS.search(said) and uses.prints_number(filename, line):
        said += "\n? prints a number"
    if _OF_NUMBER.search(raw):
        said += "\n? decided by a number"
    number = _GB.search(found.get("url") or "")
    code = "GB" + number.group(1) if number else ""
    hints = "\n".join(map(str, found.get("hints") or ()))
    row, names = advice.find(break_rows.ROWS, code, reason, said, hints)
    names = _as_called(names, stack)
    caller, via = _way_to(filename, line, stack)
    explanation = (found.get("explanation") or "").strip()
    why = (advice.filled(row.words, dict(_UNNAMED, **names)) if row else None) or ""
    # where the loop itself is the problem, its body is not
    looped = break_rows.LOOP.help if _LOOP.search(raw) and row != break_rows.WHILE else ()
    if looped and _is_body_called(filename, line, stack):
        looped = ()
    given = _advice(row, names) + [(one.text, "") for one in looped]
    if row and row.key in break_rows.OF_NONE:
        asked = line if row.key == "branch on a number" else uses.sized_at(filename, line)
        if not uses.asks_for_none(filename, asked):
            given[:2] = given[1::-1]
    if row and in_others_library(filename, stack):
        given = _followable(row, given, caller)
    help = [text for text, _ in given]
    if help and help[0].startswith("Or "):  # it stands alone
        help[0] = help[0][3].upper() + help[0][4:]
    return {
        "what": reason.rstrip(": "),
        "code": code,
        "row": row.key if row else "",
        "why": why or explanation.split("\n")[0] or reason,
        "explanation": explanation if why else "",
        "then": _then("\n".join([raw, *stack]), _is_called_from(raw, stack)),
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
        "url": found.get("url") or "",
        "raw": raw,
    }


def _is_body_called(filename: str, line: int, stack: Sequence[str]) -> bool:
    """Whether what a loop does is a call already, or the innermost loop around a break is a
    library's: nobody can make a function of its body, and torch compiles what it calls.
    """
    for file, at in [(filename, line)] + _places(stack)[::-1]:
        if any(kind != "try" for kind, _ in uses.uncut_around(file, at)):
            return in_library(file) or uses.calls_alone(file, at)
    return False


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


def _as_called(names: Dict[str, str], stack: Sequence[str]) -> Dict[str, str]:
    """The names of a break with `called`, the function as the program's line calls it, and its last
    part, `method`; `name` is the same where torch names something inside of Python's own library.
    """
    name = names.get("name", "")
    called, inside = _call_of(stack, name.rpartition(".")[2])
    if not called:
        return dict(names, called=name) if name else names
    names = dict(names, called=called, method=called.rpartition(".")[2])
    if name and (inside or name.rpartition(".")[2] == names["method"]):
        names["name"] = called
    return names


#: what stands in words for a name that is not known
_UNNAMED = {"called": "a function"}

#: files of Python's own library, and what torch puts in the place of some of its functions
_OF_PYTHON = re.compile(
    r"[/\\]lib[/\\]python\d+\.\d+[/\\](?!(site|dist)-packages)|[/\\]_dynamo[/\\]polyfills[/\\]"
    r"|^<frozen [\w.]+>$"
)
_MARKS = re.compile(r"^\s*[\^~]+\s*$")


def _call_of(stack: Sequence[str], name: str = "") -> Tuple[str, bool]:
    """(what the innermost frame that is not Python's own library calls, as it is written, or "";
    whether there are frames of that library inside). `name` is the last part of the called
    function's, where torch tells it.
    """
    frames, inside = _calling_frames(stack)
    marked = any(_MARKS.match(text) for text in stack)
    return (_called(*frames[-1][1:], whole=marked, name=name) if frames else ""), inside


def in_others_library(filename: str, stack: Sequence[str]) -> bool:
    """Whether the line that broke stands in an installed package, and is not a call of the reader's
    of Python's own library.

    Args:
        filename: of the break.
        stack: its frames, as a traceback has them.
    """
    frames = _calling_frames(stack)[0]
    return in_library(frames[-1][0] if frames else filename)


def _calling_frames(stack: Sequence[str]) -> Tuple[List[Tuple[str, str, str]], bool]:
    """(file, code and marks below it of each frame up to the innermost that is not Python's own
    library, whether there are frames of that library inside).
    """
    frames: List[Tuple[str, str, str]] = []
    for index, text in enumerate(stack):
        match = _FRAME.match(text)
        if match is not None and match.group("file"):
            below = [one for one in stack[index + 1 : index + 3] if not _FRAME.match(one)]
            marks = below[1] if len(below) > 1 and _MARKS.match(below[1]) else ""
            frames.append((match.group("file"), below[0] if below else "", marks))
    inside = False
    while frames and _OF_PYTHON.search(frames[-1][0]):
        frames.pop()
        inside = True
    return frames, inside


#: ends of calls in one line that are tried
_MOST_ENDS = 12


def _called(code: str, marks: str, whole: bool, name: str = "") -> str:
    """The function, a name with attributes, that a line calls at the marks that a traceback has
    below it; without marks, that of its only call, or of its only call of `name`.

    Args:
        whole: no marks means all of the line, as from CPython 3.11 on.
    """
    first = len(marks) - len(marks.lstrip())
    part = code[first : len(marks.rstrip())] if marks else code.strip()
    # torch knows where a call begins, and its marks may go on to the end of the line
    ends = [place + 1 for place, letter in enumerate(part) if letter == ")"][::-1]
    shorter = [part[:end] for end in ends[:_MOST_ENDS]] if marks else []
    for text in [part, part.rstrip(":") + ": pass"] + shorter:
        try:
            tree = compiling.places_of(text.strip())
        except (SyntaxError, ValueError):
            continue
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        named = [node for node in calls if _dotted(node.func).rpartition(".")[2] == name]
        if len(named) == 1:
            calls = named
        elif marks or whole:
            calls = calls[:1]  # the outermost
        if len(calls) == 1:
            return _dotted(calls[0].func)
    return ""


def _dotted(node: ast.AST) -> str:
    parts: List[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id] + parts[::-1]) if isinstance(node, ast.Name) else ""


def _advice(row: Optional[advice.Row], names: Mapping[str, str]) -> List[Tuple[str, str]]:
    """(text, patch) of each piece of advice of a row for which all names are known."""
    found = []
    for one in row.help if row else ():
        text = advice.filled(one.text, names)
        if text is not None:
            found.append((text, advice.filled(one.patch, names) or ""))
    return found


def _followable(
    row: advice.Row, given: List[Tuple[str, str]], caller: "Line"
) -> List[Tuple[str, str]]:
    """The advice that can be followed where the line is not the reader's: settings, and what to do
    at their own line that led there.
    """
    if row.key in break_rows.AROUND:
        return given
    kept = [one for one in given if one[1].startswith(_SETS)]
    names = {"caller": "%s:%d" % (os.path.basename(caller[0]), caller[1])} if caller[1] else {}
    return kept + _advice(break_rows.LIBRARY, names)


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
        "torch gives the %s function up: it runs as plain Python, and only functions that it calls "
        "are compiled, torch's own (such as the modules of torch.nn) not."
    ) % ("rest of the" if is_rest else "whole")


#: the function that torch gives up at a break, and that of a frame
_SKIPPED = re.compile(r"frame skipped: (?P<name>\S+) \(")
_IN = re.compile(r'^\s*File ".+", line \d+, in (?P<name>\S+)')


def _is_called_from(raw: str, stack: Sequence[str]) -> bool:
    """Whether a break is not in the function that torch gives up, but in one that it calls."""
    given_up = _SKIPPED.search(raw)
    frames = [one for one in map(_IN.match, stack) if one is not None]
    if given_up is None or not frames:
        return False
    return given_up.group("name") != frames[-1].group("name")


def _then(raw: str, called: bool = False) -> str:
    """What a break leads to where that is more than a cut; `called`: it stands in a function that
    the compiled one calls, so that the loop is that of the call.
    """
    gone = gives_up(bool(_OF_REST.search(raw)))
    if _LOOP.search(raw):
        where = "is called from" if called else "stands"
        return "It %s inside a loop, where torch cannot cut a graph, so %s" % (where, gone)
    return gone[0].upper() + gone[1:] if _GIVEN_UP.search(raw) else ""


_LIBRARY = re.compile(
    r"[/\\]torch[/\\](nn|optim|utils|autograd|distributed|_dynamo|_functorch|_inductor)[/\\]|"
    r"[/\\](site|dist)-packages[/\\]|[/\\]lib[/\\]python\d+\.\d+[/\\]|^<|[/\\]depyf[/\\](cli"
    r"|launch|__main__)\.py$|[/\\]bin[/\\][^/\\.]+$|[/\\]__transformed_code_\d+_for_[^/\\]*$"
)
_FRAME = re.compile(
    r'^\s*File "(?P<file>.+)", line (?P<line>\d+)|^(?P<path>[^\n]+?):(?P<number>\d+)'
    r" in [^:]+: ?(?P<code>.*)$"
)


def in_library(filename: str) -> bool:
    """Whether a file is Python's own, an installed package's or a dumped one, and so not what the
    reader wrote.
    """
    return bool(_LIBRARY.search(filename))


def graphs_asked_for(events: Sequence[Mapping[str, Any]], has_backward: bool) -> List[str]:
    """Of which graph each answer of inductor's cache is: "forward" or "backward", "" for other
    caches and where torch made a forward graph alone.

    Args:
        events: the answers of all caches of a compile, in torch's order: forward comes first.
        has_backward: whether the compile has a backward graph.
    """
    asked = [
        event.get("key") if event.get("cache") == "fx_graph_cache" else None for event in events
    ]
    keys = [key for key in dict.fromkeys(asked) if key]
    if not has_backward or len(keys) != 2:  # an analysis that begins again may ask for others
        return [""] * len(events)
    which = {keys[0]: "forward", keys[1]: "backward"}
    return [which[key] if key else "" for key in asked]


#: file, line, code
Line = Tuple[str, int, str]
#: lines on the way to a break that are named
_WAY = 6


def _way_to(filename: str, line: int, stack: List[str]) -> Tuple[Line, str]:
    """(the reader's line that led to a break elsewhere, all of the reader's lines on the way there,
    in words); ("", 0, "") and "" where the reader's own file is the only one.

    Args:
        filename, line: of the break.
        stack: its frames, as a traceback has them.
    """
    way = users_frames(stack)
    if way and way[-1][:2] == (filename, line):
        way.pop()
    others = [frame for frame in way if frame[0] != filename]
    if not others:
        return ("", 0, ""), ""
    named = ["%s:%d" % (os.path.basename(one[0]), one[1]) for one in way]
    if len(named) > _WAY:
        named[_WAY // 2 : -(_WAY // 2)] = ["…"]
    return others[-1], "reached by way of " + ", ".join(named) if len(way) > 1 else ""


def users_line(stack: Iterable[Any]) -> Line:
    """(file, line, code) of the innermost frame of a stack that is no library's; ("", 0, "") where
    there is none.

    Args:
        stack: lines as a traceback has them, or as the `user_stack` of an entry, outermost first.
    """
    found = users_frames(stack)
    return found[-1] if found else ("", 0, "")


def _place(frame: "Match[str]") -> Tuple[str, int]:
    """(file, line) of a line that `_FRAME` matches."""
    return (
        str(frame.group("file") or frame.group("path")),
        int(frame.group("line") or frame.group("number")),
    )


def _places(stack: Iterable[Any]) -> List[Tuple[str, int]]:
    """(file, line) of each frame of a stack, outermost first."""
    frames = map(_FRAME.match, map(str, stack))
    return [_place(frame) for frame in frames if frame is not None]


def users_frames(stack: Iterable[Any]) -> List[Line]:
    """(file, line, code) of each frame of a stack that is no library's, outermost first."""
    found: List[Line] = []
    stack = [str(text) for text in stack]
    for text, following in zip(stack, stack[1:] + [""]):
        frame = _FRAME.match(text)
        if frame is None:
            continue
        filename, line = _place(frame)
        if not in_library(filename):
            code = frame.group("code") if frame.group("path") else following.strip()
            code = code if not code.startswith('File "') else ""
            found.append((filename, line, code))
    return found


def split_location(location: str) -> Tuple[str, int]:
    """`file:12` as (file, 12); the line is 0 where there is none."""
    head, separator, tail = location.rpartition(":")
    if separator and tail.strip().isdigit():
        return head, int(tail)
    return location, 0


def _last_code(stack: Iterable[str]) -> str:
    """The code of a stack's innermost frame; "" where its file is not there, as of code of exec."""
    for line in reversed(list(stack)):
        text = line.strip()
        if text.startswith('File "'):
            return ""
        if text and text.strip("^~ "):
            return text
    return ""


_TRIED = re.compile(r"^(?P<entry>!?[\w/!]+/\d+): (?P<rest>.*)$", re.DOTALL)
_TENSOR = re.compile(
    r"^tensor '(?P<name>.*?)' (?P<what>size|stride|rank|dtype|dispatch key set|requires_grad"
    r"|device)(?: index)? mismatch"
    r"(?: at index (?P<index>\d+))?\.\s*expected (?P<before>.*?)(?:, actual (?P<after>.*))?$",
    re.DOTALL | re.IGNORECASE,
)
_DEVICE = re.compile(
    r"^tensor '(?P<name>.*?)"
    r"' Tensor device index mismatch\. Expected device index to be (?P<before>.*?)"
    r", but got (?P<after>.*)$"
)
_TYPE = re.compile(
    r"^expected type of '(?P<name>.*?)' to be (?:a tensor type|<class 'torch\.Tensor'>), ?'? ?"
    r"but found (?P<after>.*)$"
)
_STATE = re.compile(r"^GLOBAL_STATE changed: (?P<what>.*)$", re.DOTALL)
_KEY = re.compile(r"^KeyError on (?P<name>.*)$", re.DOTALL)
_TYPE_ID = re.compile(
    r"^___check_type_id\((?P<name>.*), \d+\)(?:, type=<class '(?P<before>.*?)'>)?", re.DOTALL
)
_OBJ_ID = re.compile(
    r"^___check_obj_id\((?P<name>.*), \d+\)(?:, type=<class '(?P<type>.*?)'>)?", re.DOTALL
)
_EQUAL = re.compile(r"^(?P<name>[^=<>!]+?) == (?P<before>.+)$", re.DOTALL)
#: how torch tells that what was a function is none
_NO_FUNCTION = re.compile(r"^CodeGuardAccessor: Not a function on (?P<name>.+)\.__code__$")
_HASATTR = re.compile(r"^(?P<not>not )?hasattr\((?P<name>.*), (?P<key>'\w+')\)$", re.DOTALL)
#: how torch tells that a dict has another number of keys than that
_IN_SET = re.compile(
    r"^(?P<not>not )?(?:frozen)?set\.__contains__\((?P<name>[^(),]+), (?P<item>.+)\)$", re.DOTALL
)
_KEYS = re.compile(r"^len\((?P<name>.*)\) != (?P<before>\d+)$", re.DOTALL)
_CONTAINS = re.compile(
    r"^(?P<not>not )?___dict_contains\((?P<key>'[^']*'|-?\d+), (?P<name>[^()]+)\)$"
)
_LENGTH = re.compile(
    r"^len\((?P<name>.*)\) == (?P<before>\d+)$|^not (?P<empty>[\w.\[\]'\"]+)$", re.DOTALL
)
#: how torch's optimizers ask whether a parameter has its state yet
_OPTIMIZER_STATE = re.compile(
    r"\bstate\[.*(\bparam_groups\[|\bdict\.keys\([^()]*\.state\)|\.state\.keys\(\))"
)
_RANGE = re.compile(r"\.size\(\)\[\d+\]|<=|>=|\bNe\(|\bEq\(|!=|<|>| % ")
_OF_SHAPE = re.compile(r"\.(size|stride|storage_offset)\(\)")
_PLACE = re.compile(r"# (?P<file>\S+?):(?P<line>\d+) in [^\s(]")
_STACK_PLACE = re.compile(
    r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)\n\s*(?P<code>.*)'
)


def short(text: str) -> str:
    """A guard's text with `x` for `L['x']`, as torch itself writes reasons from 2.7 on."""
    return re.sub(r"\b[LG]\['(\w+)'\]", r"\1", text)


#: what torch calls a value that stood on the stack at a graph break
_KEPT = re.compile(r"___stack\d+\b")


def of_reason(
    text: str, source: str = "", line: int = 0, parameters: Optional[Sequence[str]] = None
) -> Said:
    """What one reason of a recompile says: why one of the entries that were there did not fit.

    Args:
        text: the reason as torch words it, such as "0/0: tensor 'x' size mismatch at index 0.
            expected 2, actual 3".
        source, line: of a resume function: its decompiled source, and the line of its break.
        parameters: of a resume function: those of the function that it continues. What else it is
            given are locals of that function, for which no caller can do anything.
    Returns:
        A dict: `tried` (compile id), `failed` (the guard), `kind`, `name`, `words`, `before`,
        `after`, `help`, `file`, `line`, `source`: of the line that made the guard (see
        `place_reason`), `caller` as of a break, `raw`, `parameters`.
    """
    match = _TRIED.match(text)
    tried, rest = (match.group("entry"), match.group("rest")) if match else ("", text)
    # torch's comment: the line of code, then its place
    comment = rest.find("#") + 1
    place = _PLACE.search(rest, comment) if comment else None
    code = rest[comment : place.start()] if place else ""
    stack = None
    for stack in _STACK_PLACE.finditer(rest):
        pass
    seen = stack or place
    guard = rest.split("\n", 1)[0]
    guard = short(re.split(r"(?<!\s)\s{2,}# ", guard, maxsplit=1)[0].strip())
    found: Said = {
        "tried": tried,
        "failed": guard,
        "kind": "guard",
        "name": "",
        "words": "",
        "before": "",
        "after": "",
        "row": "",
        "help": [],
        "patches": [],
        "file": stack.group("file") if stack else place.group("file") if place else "",
        "line": int(seen.group("line")) if seen else 0,
        "source": (stack.group("code") if stack else code).strip(),
        "caller": ("", 0, ""),
        "raw": text,
        "parameters": parameters,
    }
    _describe(found, guard)
    if found["row"] in _OF_CACHE and not _is_argument(found["name"]):
        if _CACHE.search(found["name"]):
            _advise(found, "cache state")
    if _KEPT.search(guard):
        _name_kept(found, source, line)
    return found


def place_reason(found: Said, stacks: Iterable[Sequence[Any]]) -> None:
    """Names the line that made a condition on a shape, and completes the name of its file, whose
    beginning torch leaves out.

    Args:
        found: what `of_reason` says.
        stacks: of the lines that made guards of the entry that was tried, outermost frame first.
    """
    if not found["line"]:
        return
    for stack in stacks:
        paths = [
            frame.group("path")
            for frame in (_FRAME.match(str(text)) for text in stack)
            if frame is not None
            and int(frame.group("number") or 0) == found["line"]
            and str(frame.group("path")).endswith(found["file"])
        ]
        if paths:
            found["file"] = str(paths[-1])
            if found["row"] == "counter":
                _advise(found, "counter")  # what the program does with it can be read now
            elif found["row"] in _LENGTHS:
                _advise(found, _length_row(found))
            if in_library(found["file"]):
                found["caller"] = users_line(stack)
            break
    describe_rate(found, found["caller"][0])
    if found["kind"] == "shape condition" and found["source"]:
        # torch tells of a size of 0 or 1 at its first use, which need not decide anything
        how = "; the size is first used" if found["row"] == "size from 2" else ", decided"
        made = os.path.basename(found["file"]), found["line"], found["source"]
        found["words"] += how + " at %s:%d: `%s`" % made
        if found["caller"][1]:
            file, line, code = found["caller"]
            found["words"] += ", called from your line %s:%d: `%s`" % (
                os.path.basename(file),
                line,
                code.strip(),
            )


def describe_rate(found: Said, caller: str) -> None:
    """Says where the program writes the learning rate itself: a tensor that the optimizer is given
    at first would be replaced there.

    Args:
        found: the reason.
        caller: a file of the reader's own that led to it, "" for none.
    """
    if found["row"] != "learning rate":
        return
    for file in (found["file"], caller):
        line = 0 if in_library(file) else uses.rate_written_at(file)
        if line:
            at = "%s:%d" % (os.path.basename(file), line)
            _advise(found, "learning rate that is written", at=at)
            return


def _name_kept(found: Said, source: str, line: int) -> None:
    """Says what a value on the stack is: torch's name for it stands in no source of the user's."""
    at = "the graph break at line %d" % line if line else "a graph break"
    kept = "a value kept across " + at

    def named(match: Match[str]) -> str:
        stored = re.search(r"(?m)^\s*(\w+) = %s\s*$" % match.group().strip("`"), source)
        name = stored.group(1) if stored else ""
        if not match.group().startswith("`"):
            return name or match.group()
        return "`%s`, kept across %s," % (name, at) if name else kept

    words = re.sub(r"`___stack\d+`|___stack\d+\b", named, found["words"]).rstrip(",")
    left = _KEPT.search(words)
    if left:
        words += ", where `%s` is %s" % (left.group(), kept)
    found["words"] = words
    # what helps says what to pass or to write for a name: here nobody passes or names anything
    found.update(help=[], patches=[])


#: rows of what changes when a cache of keys and values is filled
_OF_CACHE = (
    "flag",
    "none",
    "value",
    "text",
    "counter",
    "integer",
    "keys",
    "length",
    "other length",
    "given or None",
    "tensor or not",
)


#: parts of torch's state that a program sets once, and does not switch back and forth
SETTINGS = frozenset(
    (
        "default_dtype",
        "num_threads",
        "deterministic_algorithms",
        "deterministic_algorithms_warn_only",
        "allow_tf32",
        "allow_fp16_reduce",
        "allow_bf16_reduce",
    )
)


def describe_state(reason: Said, before: str, after: str) -> None:
    """Says what of torch's state changed from the guard of the entry that was tried to that of the
    one that was made.
    """
    changed = changed_state(state_of(before), state_of(after))
    if changed:
        reason["words"] = "; ".join(changed)


def _describe(found: Said, guard: str) -> None:
    match = _TENSOR.match(guard) or _DEVICE.match(guard)
    if match is not None:
        _describe_tensor(found, match)
        return
    match = _TYPE.match(guard)
    if match is not None:
        found.update(kind="type", name=match.group("name"), after=match.group("after"))
        named = re.match(r"^<class '(.*)'>$", found["after"])
        found["after"] = named.group(1) if named else found["after"]
        none = found["after"] == "NoneType"
        found["words"] = "`%s` was a tensor, is %s" % (
            found["name"],
            "None" if none else found["after"],
        )
        _advise(found, "none" if none else "tensor or not")
        return
    match = _STATE.match(guard)
    if match is not None:
        what = match.group("what").strip()
        found.update(kind="global state", name=what)
        parts = what.split()
        found["words"] = "torch's global state changed: %s" % (
            ", ".join(map(part_in_words, parts)) or "unknown"
        )
        _advise(found, "setting" if parts and SETTINGS.issuperset(parts) else "global state")
        return
    match = _KEY.match(guard)
    if match is not None:
        found.update(kind="container", name=match.group("name"))
        found["words"] = "the key `%s` is not there any more" % found["name"]
        _advise(found, "keys")
        return
    match = _TYPE_ID.match(guard)
    if match is not None:
        found.update(kind="type", name=match.group("name"), before=match.group("before") or "")
        found["words"] = "`%s` %s, is of another type" % (
            found["name"],
            "was %s" % _article(found["before"]) if found["before"] else "changed its type",
        )
        _advise(found, type_row(found["before"], ""))
        return
    match = _OBJ_ID.match(guard)
    if match is not None:
        found.update(kind="object", name=match.group("name"))
        found["words"] = "`%s` is another object than before" % found["name"]
        _advise(found, "member of a set" if _of_set(match.group("type") or "") else "object")
        return
    if _OPTIMIZER_STATE.search(guard):
        found.update(kind="container")
        found["words"] = "the first step() makes the optimizer's state; one more compile is normal"
        _advise(found, "optimizer's state")
        return
    match = _LENGTH.match(guard)
    if match is not None:
        name = match.group("name") or match.group("empty")
        found.update(kind="container", name=name, before=match.group("before") or "0")
        if name == "kwargs":
            found["words"] = (
                "the call had %s keyword arguments, has another number" % (found["before"])
            )
            _advise(found, "keys")
            return
        found["words"] = "`%s` had %s element%s, has another length" % (
            name,
            found["before"],
            "" if found["before"] == "1" else "s",
        )
        _advise(found, _length_row(found))
        return
    match = _KEYS.match(guard)
    if match is not None:
        found.update(kind="container", name=match.group("name"), before=match.group("before"))
        found["words"] = "`%s` had %s key%s, has more or fewer" % (
            found["name"],
            found["before"],
            "" if found["before"] == "1" else "s",
        )
        _advise(found, "keys")
        return
    if "___dict_contains" in guard or "not in" in guard:
        found.update(kind="container")
        found["words"] = "the keys of a dict changed: `%s` does not hold" % guard
        match = _CONTAINS.match(guard)
        if match is not None:
            found["name"] = match.group("name")
            key = "the key %s was " % match.group("key")
            found["words"] = (
                key
                + ("not in `%s`, now is" if match.group("not") else "in `%s`, is not any more")
                % (found["name"])
            )
        of_object = found["name"].endswith(".__dict__") and match is not None and match.group("not")
        _advise(found, "attribute that is added" if of_object else "keys")
        return
    match = _EQUAL.match(guard)
    computed = match is not None and conditions.is_computed(match.group("name"))
    if match is not None and ".size()" not in guard and not computed:
        name = match.group("name").strip()
        found.update(kind="value", name=name, before=match.group("before"))
        found["words"] = "`%s` was %s, is another value" % (name, found["before"])
        is_global = "G['%s']" % name in found["raw"]
        if name.endswith(".item()"):
            _advise(found, "tensor as an index", name=_argument(name[: -len(".item()")]))
            return
        at = _KEY_AT.match(name)
        if at is not None:
            _advise(found, "key at a place", name=_argument(at.group("name")))
            return
        _advise(found, _value_row(name, found["before"], is_global))
        if found["row"] == "learning rate":
            found["words"] = "the optimizer's learning rate " + found["words"].partition("` ")[2]
        return
    match = re.match(r"^(?P<name>\S+) is (?P<not>not )?None$", guard)
    if match is not None:
        found.update(kind="value", name=match.group("name"))
        found["words"] = "`%s` was %s, now is%s" % (
            (match.group("name"),)
            + (("given", " None") if match.group("not") else ("None", " given"))
        )
        _advise(found, "none")
        return
    match = _NO_FUNCTION.match(guard)
    if match is not None:
        found.update(kind="type", name=match.group("name"), before="function")
        found["words"] = "`%s` was a function, is of another type" % found["name"]
        return
    match = _HASATTR.match(guard)
    if match is not None:
        found.update(kind="value", name=match.group("name"))
        now = "now has it" if match.group("not") else "has it no more"
        found["words"] = "`%s` had %s attribute %s, %s" % (
            found["name"],
            "no" if match.group("not") else "the",
            match.group("key"),
            now,
        )
        if match.group("not"):
            _advise(found, "attribute that is added")
        return
    if _RANGE.search(guard) or computed:
        found.update(kind="shape condition", name="")
        of_shape = bool(_OF_SHAPE.search(guard)) and not _KEPT.search(guard)
        what = "shape" if of_shape else "number"
        found["words"] = "a condition on a %s does not hold any more: `%s`" % (what, guard)
        if "# duck sizing added this equality" in found["raw"]:
            found["words"] = (
                "torch took two sizes that were equal at the first call for one size, and they "
                "are not equal any more: `%s`" % guard
            )
            _advise(found, "equal sizes")
            return
        low = re.match(r"^2 <= (?P<name>\S+)\.size\(\)\[(?P<index>\d+)\]$", guard)
        if low is not None:
            _advise(found, "size from 2", **low.groupdict())
        else:
            _advise(found, "shape condition" if of_shape else _condition_row(found, guard))
        return
    match = _IN_SET.match(guard)
    if match is not None:
        found.update(kind="container", name=match.group("name"))
        was, now = ("was not", "now is") if match.group("not") else ("was", "is not any more")
        told = match.group("item"), was, match.group("name"), now
        found["words"] = "`%s` %s in `%s`, %s" % told
        _advise(found, "what a set holds")
        return
    match = _FREED.match(guard)
    if match is not None:
        found.update(kind="object", name=match.group("name"))
        found["words"] = "an object that the compile depended on was freed: `%s`" % found["name"]
        return
    found["words"] = "the guard `%s` does not hold any more" % guard


def _of_set(kind: str) -> bool:
    """Whether torch asks which object of a type it is because there are a few of them for good: of
    a program's own types it asks so of the members of an enum alone.
    """
    own = "." in kind and not kind.startswith(("torch.", "functools."))
    return kind == "type" or own


def of_type(name: str) -> str:
    """A value of a type, in words: `a float`, `None`."""
    return "None" if name == "NoneType" else _article(name)


def _article(name: str) -> str:
    return ("an " if name[:1] in "aeiou" else "a ") + name


def _advise(found: Said, key: str, **names: str) -> None:
    row = guard_rows.BY_KEY[key]
    names = dict({"name": _argument(found["name"]), "before": found["before"]}, **names)
    if not _is_programs(names["name"], found["parameters"]):
        names["name"] = ""  # advice that needs the name is not given
    if names["name"] and names["name"].isidentifier() and "variable" not in names:
        names["variable"] = names["name"]
    setting = _SETTING.search(found["raw"])  # torch names it where it is what helps
    # a symbolic number on which the program decides is a constant again
    decides = bool(setting or key == "counter") and _decides(found)
    if decides and key == "counter":
        each = uses.is_of_each_object(found["file"], found["name"])
        key = "value of each object" if each else "counter that decides"
        key = "integer used as a constant" if _is_length(found) else key
        row = guard_rows.BY_KEY[key]
    if key == "dict that is given keys":
        given_keys = uses.keys_given(found["file"], found["line"], found["name"])
        names["keys"] = ", ".join(repr(one) for one in given_keys)
    names["setting"] = setting.group() if setting and not decides else ""
    given = _advice(row, names)
    found.update(row=key, help=[text for text, _ in given], patches=[patch for _, patch in given])


def _decides(found: Said) -> bool:
    """Whether Python needs the value that a guard asks for, as a branch does."""
    if _DECIDES.match(found["source"]) or _picks(found):
        return True
    return bool(uses.needed_at(found["file"], found["line"], found["name"]))


_DECIDES = re.compile(r"(if|elif|while|assert|for)\b|return .*\bif\b")
_SETTING = re.compile(r"allow_unspec_int_on_nn_module")


def _is_programs(name: str, parameters: Optional[Sequence[str]]) -> bool:
    """Whether a caller has a name for it: arguments of a wrapper that takes any have none, nor has
    a local that is kept across a break.
    """
    if parameters is not None and name.isidentifier() and name not in parameters:
        return False
    return not is_handed_on(name) and not _KEPT.search(name)


def is_handed_on(name: str) -> bool:
    """Whether a name is that of an argument of a wrapper which takes any."""
    return bool(re.match(r"^args\[\d+\]|^kwargs\[", name))


def type_row(before: str, after: str) -> str:
    """The row of a changed type, by the types; `after` is "" where it is not known."""
    containers = ("tuple", "list")
    if before in containers and after in containers:
        return "container's type"
    return "given or None" if "NoneType" in (before, after) else "type"


def describe_type(found: Said, after: str) -> None:
    """Says what a value of another type now is: torch tells it by the guards of the new entry."""
    found["after"] = after
    if found["before"] == "function" and after == "NoneType":
        _advise(found, "none")
    if found["row"] == "type":
        _advise(found, type_row(found["before"], after))


#: how a value begins as torch prints it -> its type
_LITERALS = (
    (re.compile(r"^-?\d+$"), "int"),
    (re.compile(r"^-?\d[\d.]*(e[-+]?\d+)?$|^-?(inf|nan)$"), "float"),
    (re.compile(r"^(True|False)$"), "bool"),
    (re.compile(r"^['\"]"), "str"),
)


#: rows of what torch takes as symbolic -> those of what is again a constant in the compile for the
#: other value
_AGAIN = {
    "size": "size used as a constant",
    "integer": "integer used as a constant",
    "float": "float used as a constant",
    "float attribute": "float attribute used as a constant",
}


def type_of_literal(text: str) -> str:
    """The type of a value as torch prints it; "" where it is not known."""
    return next((name for form, name in _LITERALS if form.match(text)), "")


def is_number(text: str) -> bool:
    """Whether a value as torch prints it is an integer or a float."""
    return type_of_literal(text) in ("int", "float")


_STATIC = re.compile(r"^\s*@.*\bdynamic\s*=\s*False\b", re.MULTILINE)


def describe_constant(found: Said, settings: Any = None, source: str = "") -> None:
    """Says that the compile for another size or number is for that alone, as its guards tell.

    Args:
        found: the reason.
        settings: those of the compile, where torch told them.
        source: of the function, its decorators included.
    """
    row = _AGAIN.get(found["row"])
    if row is None:
        return
    found["words"] += "; the compile for it is again for it alone"
    if row == "integer used as a constant":
        row = _constant_row(found)
    elif found["kind"] == "value" and _DROPOUT.search(found["source"]):
        row = "float of dropout"
    elif found["kind"] == "value" and _decides_otherwise(found):
        row = "number condition"
    elif row == "float attribute used as a constant" and uses.sets_in(source, found["name"]):
        row = "float that is set"
    names = {}
    if row in ("float used as a constant", "float attribute used as a constant"):
        of_torch = uses.number_parameter(found["file"], found["line"], found["name"])
        names["called"], parameter = of_torch
        if parameter == "label_smoothing":
            row = "float of label smoothing"
        elif names["called"]:
            row = "float of an operator"
    _advise(found, _static_row(settings, source) or row, **names)


_ASKED = re.compile(r"^\s*(?:el)?if (?P<test>[^:]+):")


def _decides_otherwise(found: Said) -> bool:
    """Whether the branch that made a guard goes another way for the value that there is now."""
    asked = _ASKED.match(found["source"])
    if asked is None:
        return False
    test, name = asked.group("test"), found["name"]
    sides = {conditions.holds(test, name, found[key]) for key in ("before", "after")}
    return sides == {True, False}


def describe_static(found: Said, settings: Any = None, source: str = "") -> None:
    """Advises on a size or number that has no compile, where torch takes none as symbolic.

    Args:
        found: the reason.
        settings: those of another compile of the function, where torch told them.
        source: of the function, its decorators included.
    """
    row = _static_row(settings, source)
    if row and found["row"] in _AGAIN:
        _advise(found, row)


def _static_row(settings: Any, source: str) -> str:
    """The row of why torch takes no size or number of a function as symbolic; "" where it may."""
    if _STATIC.search(source.partition("def ")[0]):
        return "given dynamic=False"
    if isinstance(settings, dict) and settings.get("automatic_dynamic_shapes") is False:
        return "not dynamic"
    return ""


_DROPOUT = re.compile(r"\b(\w+_)?dropout\w*\(", re.IGNORECASE)


def _constant_row(found: Said) -> str:
    """The row of an integer that is a constant in each compile, by what the program does with it:
    a function, a loop, a branch, an operator.
    """
    at = found["file"], found["line"], found["name"]
    if _picks(found):
        return "number that is picked" if uses.picks_number(*at) else "integer that picks"
    if _is_length(found):
        return "integer used as a constant"
    if uses.tested_at(*at) or _DECIDES.match(found["source"]):
        return "number condition"
    return "integer of an operator"


_FREED = re.compile(r"^Cache line invalidated because (?P<name>.+) got deallocated$")
_APART = re.compile(r"^(?P<name>[\w.\[\]']+) != [01]$|^2 <= (?P<other>[\w.\[\]']+)$")


def _condition_row(found: Said, guard: str) -> str:
    """The row of a condition on a number: one that the program asks for, or an operator that treats
    0 and 1 apart.
    """
    match = _APART.match(guard)
    if match is None or _DECIDES.match(found["source"]):
        return "number condition"
    name = match.group("name") or match.group("other")
    decided = uses.tested_at(found["file"], found["line"], name)
    return "number condition" if decided else "number 0 or 1"


def _is_length(found: Said) -> bool:
    """Whether a value tells how often a loop runs."""
    if re.search(r"\bfor\b.*\brange\(|^while\b", found["source"]):
        return True
    return bool(uses.ranged_at(found["file"], found["line"], found["name"]))


def _picks(found: Said) -> bool:
    """Whether the line that made a guard picks an element with the value."""
    index = r"[\w)\]]\[\s*%s\s*\]" % re.escape(found["name"])
    return bool(re.search(index, found["source"]) or _PICKS.search(found["file"]))


def describe_any(
    found: Said,
    breaks: Sequence[Said] = (),
    guards: Sequence[str] = (),
    settings: Any = None,
) -> None:
    """Says that the compile for another number takes any, or any of which a condition holds.

    Args:
        found: the reason.
        breaks: those of that compile, as `of_break` has them.
        guards: its guards.
        settings: those of the compile, where torch told them.
    """
    name, before = found["name"], found["before"]
    known = [one for one in guards if conditions.holds(one, name, before) is False]
    asked = [one for one in guards if conditions.asks_of(one, name)]
    asked.sort(key=lambda one: " == " not in one)
    any_number = "is another number; from here on any number fits"
    if asked:
        any_number += " for which `%s` holds" % asked[0]
    now = "is one of which `%s` holds" % known[0] if known else any_number
    found["words"] = found["words"].replace("is another value", now)
    given = isinstance(settings, dict) and settings.get("assume_static_by_default") is False
    if known or given:
        # with dynamic=True, too, the first number has a compile of its own
        equal = _EQUAL.match(known[0]) if known else None
        if equal is not None and not conditions.is_computed(equal.group("name")):
            _advise(found, _constant_row(found), name=_argument(equal.group("name")))
            return
        _advise(found, _condition_row(found, known[0] if known else ""))
        return
    if found["row"] in ("counter", "counter that decides"):
        _advise(found, "integer attribute")
    if found["row"] in ("float", "float attribute") and _decides(found):
        _advise(found, "float that decides")
    if found["row"] == "integer" and any(one["row"] == "function of a number" for one in breaks):
        _advise(found, "integer in a function")


#: sizes that are marked one by one; for more, dynamic=True is the shorter way
_MOST_MARKS = 4


def describe_sizes(found: Said, changed: Sequence[Tuple[str, int]]) -> None:
    """Names all dimensions to be marked as dynamic: a mark of one of several that change together
    spares no compile.

    Args:
        found: the reason, of a changed size.
        changed: (tensor, dimension) of each that changed.
    """
    parameters = found["parameters"]
    names = [(_argument(name), index) for name, index in changed]
    can = all(
        _is_programs(name, parameters)
        and (parameters is None or re.split(r"\W", name)[0] in parameters)
        for name, _ in names
    )
    marks = ["torch._dynamo.maybe_mark_dynamic(%s, %d)" % one for one in names]
    if not can or len(marks) > _MOST_MARKS:
        marks = []
    this = "this one" if len(marks) == 1 else "these"
    _advise(found, "size", marks=" and ".join(marks), this=this)


def describe_methods(found: Said, place: Tuple[str, int]) -> None:
    """Advises on a list that a method of an object makes grow, by what the methods do with it that
    the compiled function calls.

    Args:
        found: the reason.
        place: (file, line) of the compiled function.
    """
    row = _list_row(uses.owner_uses(place, (found["file"], found["line"]), found["name"]))
    if row:
        _advise(found, row)


def describe_object(found: Said) -> None:
    """Advises on a flag, a text or another value that each object of a class is made with."""
    if uses.is_of_each_object(found["file"], found["name"]):
        _advise(found, "value of each object")


def is_kept(found: Said) -> bool:
    """Whether a reason is about a value that a graph break handed on: one on the stack, or a local
    that is no parameter of the function.
    """
    name, parameters = found["name"], found["parameters"]
    kept = name.isidentifier() and parameters is not None and name not in parameters
    return kept or bool(_KEPT.search(found["failed"]))


def describe_kept(found: Said, line: int) -> None:
    """Says what spares the recompile because of a value that a graph break handed on.

    Args:
        found: the reason.
        line: of the break.
    """
    _advise(found, "kept value", at="line %d" % line)


def describe_texts(found: Said) -> None:
    """Says of a list of another length that it is one of texts, which no tensor holds."""
    _advise(found, "texts in a list")


def describe_small(found: Said, name: str, index: int, before: str) -> None:
    """Says that another size was 0 or 1, too, which torch compiles apart whatever is dynamic."""
    found["words"] += "; `%s.size(%d)`, which was %s, is another, too" % (name, index, before)
    _advise(found, "size 0 or 1", name=_argument(name), variable="", index=str(index))


#: rows of numbers and sizes for which advice makes them symbolic
SYMBOLIC = (
    "size",
    "integer",
    "integer attribute",
    "float",
    "float attribute",
    "float that decides",
)


def describe_beside(found: Said, other: Said) -> None:
    """Says that another value, too, is a constant in both compiles: what makes the one symbolic
    spares none.
    """
    form = "; `%s`, which was %s, is %s, too"
    if other["kind"] == "container":
        form = "; `%s`, which had %s elements, has %s, too"
    found["words"] += form % (other["name"], other["before"] or "no", other["after"])
    found.update({key: other[key] for key in ("row", "help", "patches")})


def describe_stop(found: Said) -> None:
    """Says that the compile for any number has a graph break, which one for a number alone has not:
    made symbolic from the start, it would break at once.
    """
    found["words"] += "; what is compiled for any number has a graph break"
    found.update(row="", help=[], patches=[])


def describe_value_of_type(found: Said, after: str) -> None:
    """Says that what was one value is of another type now; nothing where it is of the same, or
    where one of them is not known.
    """
    before = type_of_literal(found["before"])
    if not before or not after or before == after:
        return
    found["words"] = "`%s` was %s, %s, is %s" % (
        found["name"],
        found["before"],
        _article(before),
        _article(after),
    )
    found["after"] = after
    _advise(found, type_row(before, after))


#: rows of a changed length that go by the source line alone
_LENGTHS = ("growing list", "length", "other length")


def _list_row(used: Set[str]) -> str:
    """The row of a list that is read in these ways, of `uses.container_uses`; "" for one that only
    grows, or of which they do not tell.
    """
    if used == {"grows", "shown"}:
        return "growing list that is shown"
    if "all" in used:
        return "growing list that is read" if "grows" in used else ""
    if not used or used == {"grows"}:
        return ""
    return "end of a list" if "end" in used else "length of a list"


def _length_row(found: Said) -> str:
    """The row of a changed length, by what the function does with the container, and by the source
    line that asked for it.
    """
    source = found["source"]
    used = uses.container_uses(found["file"], found["line"], found["name"])
    row = _list_row(used)
    if row:
        return row
    if uses.keys_given(found["file"], found["line"], found["name"]):
        return "dict that is given keys"
    if re.search(r"^[\w.]+\[[^\]=]+\]\s*=(?!=)|\.(setdefault|update)\(", source):
        return "growing dict"
    if "grows" in used:
        return "growing list"
    if re.search(r"\bfor\b.*\bin\b", source):
        return "length"
    grows = re.search(r"\.(append|appendleft|extend|insert|add)\(", source)
    return "growing list" if grows else "other length"


def _value_row(name: str, before: str, is_global: bool) -> str:
    if name.endswith(".training") and before in ("True", "False"):
        return "training mode"
    if re.match(r"^-?\d+\.\d*(e-?\d+)?$|^-?\d+e-?\d+$", before):
        if re.search(r"param_groups\[.*\['lr'\]$", name):
            return "learning rate"
        return "float" if _is_argument(name) and not is_global else "float attribute"
    if re.match(r"^-?\d+$", before):
        return "counter" if is_global or re.search(r"\.|\['", name) else "integer"
    if re.match(r"^[bB]?['\"]", before):
        return "text"
    return "flag" if before in ("True", "False") else "value"


#: how torch names a key of a dict by its place
_KEY_AT = re.compile(r"^list\(dict\.keys\((?P<name>.*)\)\)\[\d+\]$")
#: torch's own code that picks an element of a container of modules
_PICKS = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]container\.py$")


#: what attributes of a cache of keys and values are called in libraries
_CACHE = re.compile(r"cache|past_key_values|\.(keys|values)(\[|$)", re.IGNORECASE)


def _is_argument(name: str) -> bool:
    """Whether a program can pass something else for it: an argument by itself, and no attribute or
    element of one.
    """
    return bool(re.match(r"^\w+$", _argument(name)))


def _size_row(name: str, before: str, after: str) -> str:
    if not _is_argument(name) and _CACHE.search(name):
        return "growing cache"
    return "size 0 or 1" if before in ("0", "1") or after in ("0", "1") else "size"


def _by_mode(before: str, after: str) -> bool:
    """Whether two sets of torch's dispatch keys differ as torch.inference_mode() makes them."""
    sets = [set(re.findall(r"\w+", text)) for text in (before, after)]
    differing = sets[0] ^ sets[1]
    return bool(differing) and all(re.match(r"ADInplace|Autograd", one) for one in differing)


_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
}


def _describe_tensor(found: Said, match: Match[str]) -> None:
    groups = match.groupdict()
    what = (groups.get("what") or "device").lower()
    name, before, after = (
        groups["name"],
        (groups.get("before") or "").strip(),
        (groups.get("after") or "").strip(),
    )
    found.update(kind=what, name=name, before=before, after=after)
    if what == "size":
        index = groups.get("index") or "0"
        found["words"] = "`%s.size(%s)` was %s, is %s" % (name, index, before, after)
        _advise(found, _size_row(name, before, after), index=index)
        if found["row"] == "size":
            describe_sizes(found, [(name, int(index))])
    elif what == "stride":
        found["words"] = "`%s.stride(%s)` was %s, is %s" % (
            name,
            groups.get("index") or "0",
            before,
            after,
        )
        if _is_argument(name):
            _advise(found, "stride")
        elif _CACHE.search(name):
            _advise(found, "growing cache")
    elif what == "rank":
        found["words"] = "`%s` had %s dimension%s, has %s" % (
            name,
            before,
            "" if before == "1" else "s",
            after,
        )
        _advise(found, "rank")
    elif what == "dtype":
        before, after = _DTYPES.get(before, before), _DTYPES.get(after, after)
        found.update(before=before, after=after)
        found["words"] = "`%s.dtype` was %s, is %s" % (name, before, after)
        _advise(found, "dtype")
    elif what == "dispatch key set" and _by_mode(before, after):
        inside = len(after) < len(before)
        found["words"] = "`%s` %s" % (
            name,
            "is used in torch.inference_mode(), or was made in it, and was not before"
            if inside
            else "was used in torch.inference_mode(), or was made in it, and is not now",
        )
        _advise(found, "inference mode")
    elif what == "requires_grad":
        before = "did" if "1" in before else "did not"
        found["words"] = "`%s` %s require grad, now does%s" % (
            name,
            before,
            " not" if before == "did" else "",
        )
        _advise(found, "requires_grad")
    else:
        found["words"] = "the %s of `%s` was %s, is %s" % (
            what,
            name,
            before,
            after or "another one",
        )


def _argument(name: str) -> str:
    match = re.match(r"^L\['(\w+)'\](.*)$", name)
    return match.group(1) + match.group(2) if match else name


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
    why = "not compiled" if why and any(map(_then, texts)) else why
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
    "torch made no compile of it while depyf looked: it was not called, or it had nothing to "
    "compile and ran as plain Python."
)
_NO_COMPILE_OF_ONLY_REST = (
    "torch made no compile of it while depyf looked: each call goes on with it, unless an "
    "exception ends the call before, so it had nothing to compile and ran as plain Python."
)


def no_compile_of_rest(rests: int) -> str:
    """What is said of a resume function that has no compile.

    Args:
        rests: how many resume functions the code calls that calls it: of several, those behind an
            `if` need not be called.
    """
    return _NO_COMPILE_OF_ONLY_REST if rests == 1 else NO_COMPILE_OF_REST


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
            "torch compiles it no more (%s reached the recompile limit): calls that fit none of "
            "its compiles run as plain Python, and of what they call %s" % (at, _OWN_COMPILES)
        )
    why = "%s failed" % at
    if given_up["why"] == "nothing to compile":
        why = "%s found nothing to compile" % at
    return "torch gave it up (%s): it runs as plain Python%s." % (
        why,
        " from then on, and none of the compiles before is tried" if compiles else "",
    )


#: where the stack of a compile says that torch.compile itself calls the function
_COMPILED_HERE = re.compile(r"[/\\]torch[/\\](_dynamo|nn[/\\]modules)[/\\]")


def of_nothing(entry: Document) -> Optional[Said]:
    """What a compile says to its reader that found nothing to compile in a function that the
    program compiles, or in one side of a branch in the rest of a function after a break; None for
    other compiles, and for what a compiled function only calls.
    """
    stack = entry.get("user_stack") or ()
    if entry.get("name") or len(stack) < 2:
        return None
    if given_up(entry).get("why") != "nothing to compile":
        return None
    if entry.get("resumes"):
        return _of_a_side(str(list(stack)[-1]))
    callers = [file for file, _ in _places(stack[-2:])]
    if len(callers) < 2 or not _COMPILED_HERE.search(callers[0]) or in_library(callers[1]):
        return None
    text = "nothing to compile"
    return dict(of_break({"reason": text, "text": text}), raised=False)


def _of_a_side(frame: str) -> Optional[Said]:
    """As `of_nothing`, of the rest of a function that begins in the test of a branch."""
    file, line = (_places([frame]) or [("", 0)])[0]
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
        gone = gives_up(bool(_OF_REST.search(breaks[-1]["raw"])))
        then = breaks[-1]["then"] or gone[0].upper() + gone[1:]
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
        found["then"] = "Of what those calls call, " + _OWN_COMPILES
    return found


def outcome(failure: Said) -> str:
    """What a failed compile came to, for a label: the function ran as plain Python, or not at
    all.
    """
    return "exception ended the call" if failure["raised"] else "not compiled"


def _place_failure(found: Said, stack: Sequence[str]) -> None:
    """Names the line that the operation at which a compile failed is from.

    It is told to no row of the advice, which is for lines at which a graph breaks.
    """
    places = _places(stack)
    if not places:
        return
    filename, line = places[-1]
    caller, via = _way_to(filename, line, list(stack))
    source = _last_code(stack)
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
        found["why"] = "The backend `%s` raised `%s`%s." % (name, raised, at)
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
        found["why"] = "torch could not compile %s: `%s`." % (
            what,
            lines[0] if lines else "unknown",
        )
    elif text.startswith("Unsupported: ") and not _LIMIT.search(said["reason"]):
        found["then"] = (
            "torch raised this to the program instead of cutting the graph, as it does with "
            "fullgraph=True."
        )
    return found
