"""Guards as torch prints them: one by one, and as the text of a tree; turned into Python where
that is possible."""

import ast
import bisect
import functools
import json
import re
import sys
import types
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from depyf.compiling import parse, walk
from depyf.model import Guard
from depyf.trace.frames import frames_of_text, parse_comment, parse_place, with_path
from depyf.trace.names import RELATIONAL_GUARDS

_TREE_LINE = re.compile(r"^(?P<depth>(?:\| )*)\+- (?P<text>.*)$")


_LEAF = re.compile(r"^(?P<kind>[A-Z][A-Z0-9_]*): (?P<text>.*)$", re.DOTALL)


_MANAGER = re.compile(r"source=(?P<source>.*?), (?:accessed_by=|type=)")


#: what torch appends to the text of a guard for the reader: the value's type, or the state it was
#: compared with
_TYPE_NOTE = re.compile(r"^(?P<code>.*\)), type=<.*>$", re.DOTALL)


_STATE_NOTE = re.compile(
    r"^(?P<code>___check_global_state\(\)) against (?P<state>\{.*\})$", re.DOTALL
)


#: set by mark_dynamic() and the like; a guard for each says that nobody has called them
MARK = re.compile(r"^hasattr\((?P<of>.+), '_dynamo_(?P<mark>\w+)_indices'\) == False$")


_SAVED_HOOKS = re.compile(
    r"^torch\._functorch\.aot_autograd\.utils\.top_saved_tensors_hooks ids == (?P<ids>.*)$",
    re.DOTALL,
)


#: everything before the first `#` that is in no string; stops at a quote that nothing closes
_UP_TO_COMMENT = re.compile(r"""(?:[^'"#]+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*""", re.DOTALL)
#: an item by its number, as a number or as text
_ITEM = re.compile(r"(?:(?<=\[)(?=[0-9]+\])|(?<=\[')(?=[0-9]+'\]))(?:0|[1-9][0-9]*)(?=['\]])")
#: what torch says of a symbol that it knows no line for, as if that were an error
_UNKNOWN = re.compile(r"^# \(unknown (var|source) .*please file a bug\)$")
_CHECK_TENSOR = re.compile(r"^check_tensor\((?P<arguments>.*)\)$", re.DOTALL)
_DEVICE = re.compile(r"\((\w+)")


def split_comment(text: str) -> Tuple[str, str]:
    """Splits the text of a guard into its code and the comment that torch appends.

    A `#` inside a string is code.
    """
    if "#" not in text:
        return text.rstrip(), ""
    end = _UP_TO_COMMENT.match(text).end()  # type: ignore[union-attr]
    if end < len(text) and text[end] == "#":
        return text[:end].rstrip(), text[end:].strip()
    if end < len(text) and "  # " in text:  # an apostrophe that opens no string
        code, _, comment = text.partition("  # ")
        return code.rstrip(), "# " + comment.strip()
    return text.rstrip(), ""


def parsed_expression(text: str) -> Optional[Tuple[FrozenSet[str], type]]:
    """The names that an expression reads and does not bind itself, and the class of its outermost
    node; None for others.

    A guard's text is looked at several times, and each layer of a model is asked the same: texts
    that differ in the numbers of items alone are parsed once.
    """
    return _parsed(_ITEM.sub("0", text))


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Optional[Tuple[FrozenSet[str], type]]:
    try:
        body = parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    read: Set[str] = set()
    bound: Set[str] = set()
    for node in walk(body):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    kind: type = type(body)
    if isinstance(body, ast.BoolOp):
        kind = type(body.op)
    return frozenset(read - bound), kind


def forget_texts() -> None:
    """Forgets what is known of texts, which is of use only while one run is read or written."""
    _parsed.cache_clear()
    expression_of.cache_clear()
    tensor_in_words.cache_clear()


def _is_expression(text: str) -> bool:
    return parsed_expression(text) is not None


def _split_arguments(text: str) -> List[str]:
    parts, depth, quote, start = [], 0, "", 0
    for position, char in enumerate(text):
        if quote:
            if char == quote and text[position - 1] != "\\":
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    tail = text[start:].strip()
    return parts + [tail] if tail else parts


def _tensor_expression(text: str) -> Optional[str]:
    # check_tensor(L['x'], Tensor, DispatchKeySet(CPU, ...), torch.float32, device=None,
    # requires_grad=False, size=[10], stride=[1]) names things that exist only in C++; as text they
    # become arguments of a helper
    match = _CHECK_TENSOR.match(text)
    if match is None:
        return None
    arguments = _split_arguments(match.group("arguments"))
    if len(arguments) < 4:
        return None
    keywords = [argument for argument in arguments[4:]]
    if any("=" not in keyword for keyword in keywords):
        return None
    call = "__check_tensor(%s)" % ", ".join(
        [arguments[0], repr(arguments[1]), repr(arguments[2]), arguments[3]] + keywords
    )
    return call if _is_expression(call) else None


@functools.lru_cache(maxsize=4096)  # one function's entries have most of their guards in common
def expression_of(text: str, state: FrozenSet[str] = frozenset()) -> Optional[str]:
    """Python that decides what the guard decides; None where only torch's C++ knows the names.

    Args:
        text: the guard as torch prints it, without the comment.
        state: the parts of torch's global state that can be asked for in this process.
    """
    text = text.strip()
    tensor = _tensor_expression(text)
    if tensor is not None:
        return tensor
    if text.startswith("check_tensor("):
        return None
    match = _STATE_NOTE.match(text)
    if match is not None:
        try:
            wanted = json.loads(match.group("state"))
        except ValueError:
            wanted = None
        if isinstance(wanted, dict) and wanted and state == set(wanted):
            return "__global_state() == %r" % (wanted,)
        return "___check_global_state()"
    match = _TYPE_NOTE.match(text)
    if match is not None:
        text = match.group("code")
    match = _SAVED_HOOKS.match(text)
    if match is not None:
        return (
            "__saved_tensors_hooks() == %s" % match.group("ids")
            if _is_expression(match.group("ids"))
            else None
        )
    if text.startswith(("check_no_aliasing(", "___check_tensors(")):
        names = text[text.index("(") + 1 : -1]
        call = "__check_no_aliasing(%s)" % names
        return call if text.startswith("check_no_aliasing(") and _is_expression(call) else None
    if not _is_expression(text):
        return None
    return text


class ModuleFiles:
    """Finds files of the modules that this process has by the ends of their paths."""

    def __init__(self) -> None:
        self._backwards: Optional[List[str]] = None
        self._found: Dict[str, List[str]] = {}

    def ending_with(self, tail: str) -> List[str]:
        """The file of torch's that is called so; else the one file whose path ends so; [] where
        there is none, or more than one.
        """
        if tail not in self._found:
            found = _of_torch(tail) or self._all_with(tail)
            self._found[tail] = found if len(found) == 1 else []
        return self._found[tail]

    def _all_with(self, tail: str) -> List[str]:
        """At most two of the files whose path ends so."""
        if self._backwards is None:
            # backwards, so that the paths with one ending are neighbours
            files = map(_file_of, list(sys.modules.values()))
            self._backwards = sorted({one[::-1] for one in files if one})
        first = bisect.bisect_left(self._backwards, tail[::-1])
        near = self._backwards[first : first + 2]
        return [one[::-1] for one in near if one.startswith(tail[::-1])]


def _file_of(module: Any) -> str:
    file = vars(module).get("__file__") if type(module) is types.ModuleType else None
    return file if type(file) is str else ""


def _of_torch(tail: str) -> List[str]:
    # most guards that a frame of torch's made are of a few of its files; a file of the program's
    # may be called as one that lies in torch's own folder
    if "/" not in tail:
        return []
    name = "torch." + tail.rpartition(".py")[0].replace("/", ".")
    file = _file_of(sys.modules.get(name))
    return [file] if file.endswith("torch/" + tail) else []


def name_whole_paths(
    guards: Iterable[Guard], files: Sequence[str], modules: Optional[ModuleFiles] = None
) -> None:
    """Puts the whole path of the line because of which a guard is there into its comment.

    Torch cuts from the path what it shares with torch's own (torch/utils/_traceback.py,
    shorten_filename), and one letter more; the guard's stack has it whole, where there is one.

    Args:
        files: where it may be: the file of the compiled function first.
        modules: where it may be else.
    """
    for guard in guards:
        place = parse_comment(guard.comment)
        if place is None:
            continue
        paths = [frame.path for frame in frames_of_text(guard.comment)]
        paths += [found[0] for found in map(parse_place, guard.user_stack) if found is not None]
        paths += files
        path = next((one for one in paths if one.endswith(place.path)), None)
        if path is None and modules is not None:
            path = next(iter(modules.ending_with(place.path)), None)
        if path is not None:
            guard.comment = with_path(guard.comment, path)


def make_guard(
    text: str,
    kind: str = "",
    source: str = "",
    user_stack: Any = None,
    state: FrozenSet[str] = frozenset(),
) -> Guard:
    """A `Guard` from the text that torch prints for it."""
    code, comment = split_comment(text)
    if _UNKNOWN.match(comment):
        comment = ""
    stack = []
    for frame in user_stack or ():
        stack.append(
            "%s:%s in %s"
            % (
                getattr(frame, "filename", "?"),
                getattr(frame, "lineno", "?"),
                getattr(frame, "name", "?"),
            )
        )
    return Guard(
        text=code,
        kind=kind,
        source=source,
        comment=comment,
        expression=expression_of(code, state),
        user_stack=stack,
    )


def guards_of_tree_text(text: str, state: FrozenSet[str] = frozenset()) -> List[Guard]:
    """The guards in the text of a guard tree, as the trace carries it (`dynamo_cpp_guards_str`).

    Used where the guard manager itself has died.
    """
    found: List[Guard] = []
    sources: Dict[int, str] = {}
    relations = set()
    for line in text.splitlines():
        match = _TREE_LINE.match(line)
        if match is None:
            if (
                found
                and line.strip()
                and not line.startswith(("TREE_GUARD_MANAGER", "Guard latency"))
            ):
                found[-1] = make_guard(
                    found[-1].text + "\n" + line, found[-1].kind, found[-1].source, None, state
                )
            continue
        depth = len(match.group("depth")) // 2
        body = match.group("text")
        manager = _MANAGER.search(body)
        leaf = _LEAF.match(body)
        if leaf is not None and not (manager is not None and "Manager" in body.split(":", 1)[0]):
            kind, guard = leaf.group("kind"), leaf.group("text")
            if kind in RELATIONAL_GUARDS:
                # earlier torch prints it under each of its things
                if (kind, guard) in relations:
                    continue
                relations.add((kind, guard))
            found.append(make_guard(guard, kind, sources.get(depth - 1, ""), None, state))
        elif manager is not None:
            sources[depth] = manager.group("source")
    return found


#: numbers of torch's ScalarType, as the state has them
_DTYPES = {
    5: "float16",
    6: "float32",
    7: "float64",
    9: "complex64",
    10: "complex128",
    15: "bfloat16",
}
#: the devices of autocast in torch's order; a torch of another version may have others
_AUTOCAST = ("CPU", "CUDA", "MTIA", "MAIA", "XPU", "IPU", "HPU", "XLA", "PrivateUse1", "MPS")
#: parts of the state and their words, without autocast and what `_setting` joins
_SETTINGS = {
    "grad_mode": "grad mode",
    "default_dtype": "default dtype",
    "num_threads": "number of threads",
    "deterministic_algorithms": "deterministic algorithms",
    "allow_tf32": "TF32",
    "torch_function": "torch functions",
}


def state_of(text: str) -> Dict[str, Any]:
    """torch's global state as a guard on it compares it: {part: value}; empty for other guards."""
    match = _STATE_NOTE.match(text)
    if match is None:
        return {}
    try:
        state = json.loads(match.group("state"))
    except (ValueError, RecursionError):
        return {}
    return state if isinstance(state, dict) else {}


def _dtype(number: Any) -> str:
    named = isinstance(number, int) and _DTYPES.get(number)
    return named or "dtype %s" % (number,)


def _autocast(state: Any) -> str:
    if not isinstance(state, dict):
        return str(state)
    enabled, dtypes = state.get("enabled"), state.get("dtype")
    if not isinstance(enabled, list) or not isinstance(dtypes, list):
        return str(state)
    found = []
    for number, (on, dtype) in enumerate(zip(enabled, dtypes)):
        known = len(enabled) == len(_AUTOCAST)
        if on:
            device = _AUTOCAST[number] if known else "device %d" % number
            found.append("%s (%s)" % (device, _dtype(dtype)))
    if not found:
        return "off"
    without = "" if state.get("cached_enabled", True) else ", without its cache"
    return "on for %s%s" % (", ".join(found), without)


def settings(state: Dict[str, Any]) -> Dict[str, str]:
    """torch's global state in words: {what: its value}."""
    found = {}
    for part, value in state.items():
        if part == "autocast_state":
            found["autocast"] = _autocast(value)
            continue
        if part == "deterministic_algorithms_warn_only":
            continue
        said = "on" if value is True else "off" if value is False else str(value)
        if part == "default_dtype":
            said = _dtype(value)
        elif part == "deterministic_algorithms" and value is True:
            said = "only warned of" if state.get(part + "_warn_only") is True else "on"
        found[_SETTINGS.get(part, part)] = said
    return found


def state_in_words(state: Dict[str, Any]) -> str:
    """What a guard on torch's global state asks, for people: what programs set, what is unusual; ""
    of no state.
    """
    if not state:
        return ""
    values = settings(state)
    usual = {"deterministic algorithms": "off", "TF32": "off", "torch functions": "on"}
    order = ["grad mode", "autocast", "default dtype", "number of threads"]
    order += [name for name in sorted(usual) if name in values and values[name] != usual[name]]
    return ", ".join("%s %s" % (name, values[name]) for name in order if name in values)


def changed_state(before: Dict[str, Any], after: Dict[str, Any]) -> List[str]:
    """What differs between two global states, in words: "grad mode was on, is off"."""
    old, new = settings(before), settings(after)
    found = []
    for name in old:
        if name in new and new[name] != old[name]:
            verbs = ("were", "are") if name.endswith("s") and " of " not in name else ("was", "is")
            found.append("%s %s %s, %s %s" % (name, verbs[0], old[name], verbs[1], new[name]))
    return found


def part_in_words(part: str) -> str:
    """A part of the global state as torch names it where that changed."""
    match = re.match(r"^autocast\((\w+)\)_(enabled|dtype)$", part)
    if match is not None:
        device = match.group(1)
        device = device.upper() if len(device) < 5 else device
        return "autocast%s on %s" % (" dtype" if match.group(2) == "dtype" else "", device)
    return _SETTINGS.get(part, part.replace("_", " "))


@functools.lru_cache(maxsize=1024)
def tensor_in_words(expression: str) -> str:
    """What a `__check_tensor(...)` asks, for people; "" for any other expression."""
    if not expression.startswith("__check_tensor("):
        return ""
    parts = _split_arguments(expression[len("__check_tensor(") : -1])
    if len(parts) < 4:
        return ""
    given = dict(part.split("=", 1) for part in parts[4:] if "=" in part)
    keys = _DEVICE.search(parts[2])
    device = keys.group(1) if keys else "?"
    if given.get("device", "None") != "None":
        device += " " + given["device"]
    text = "%s %s on %s" % (parts[3].replace("torch.", ""), parts[1].strip("'\""), device)
    if "size" in given:
        text += ", size %s" % given["size"].replace("None", "any")
    return text + (", with gradient" if given.get("requires_grad") == "True" else "")
