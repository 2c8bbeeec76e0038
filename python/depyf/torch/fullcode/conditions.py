"""Guards as a Python function, with what they ask in words."""

import ast
import builtins
import re
from typing import Callable, Dict, FrozenSet, List, NamedTuple, Sequence, Tuple

from depyf import legend
from depyf.model import Entry, Guard
from depyf.report import words
from depyf.torch import compat
from depyf.torch.fullcode.linking import HELPERS
from depyf.torch.fullcode.rows import WIDTH, in_comment, on_rows, with_words
from depyf.trace.guard_text import (
    MARK,
    parsed_expression,
    state_in_words,
    state_of,
    tensor_in_words,
)


def _because(guard: Guard) -> str:
    """The user's code and place because of which a guard is there, on one line."""
    told = in_comment(guard.comment.lstrip("# ").partition("\nUser stack trace:")[0])
    return re.sub(r" \(HINT: [^()]*\)", "", told) if " (HINT: " in told else told


#: what only torch's own check can answer: its state, or how the call at hand came about
_ASKED_OF_TORCH = {
    "___check_global_state",
    "___check_torch_function_mode_stack",
    "___check_tensors",
    "___skip_backend_check",
    "___compile_config_hash",
}


def known_names() -> FrozenSet[str]:
    known = set(dir(builtins)) | {"L", "G"} | set(HELPERS)
    known.update(compat.guard_closure_variables())
    known.add("torch")
    return frozenset(known - _ASKED_OF_TORCH)


def _evaluable(expression: str, known: FrozenSet[str]) -> bool:
    parsed = parsed_expression(expression)
    return parsed is not None and parsed[0] <= known


_SOURCE = re.compile(r"""[LG]\[(?:'[^']*'|"[^"]*")\]""")
_STATE = re.compile(r"^__global_state\(\) == (?P<state>\{.*\})$", re.DOTALL)
#: lines of the program that are named for one group of guards
_CAUSES = 3


class States:
    """States of torch that guards compare with, each written once in a file."""

    def __init__(self) -> None:
        self.names: Dict[str, str] = {}  # text -> name

    def name(self, text: str) -> str:
        return self.names.setdefault(text, "__state_%d" % len(self.names))


def _by_source(checked: List[Guard]) -> List[Tuple[str, List[Guard]]]:
    """Guards in groups by what they look at; "" for torch's own state."""
    found: Dict[str, List[Guard]] = {}
    for guard in checked:
        names = sorted(set(_SOURCE.findall(guard.expression or "")))
        found.setdefault(names[0] if len(names) == 1 else " ".join(names), []).append(guard)
    return list(found.items())


def _heading(source: str, group: List[Guard]) -> List[str]:
    """What a group asks, in words, and the line of the program because of which it does."""
    if not source:
        title = "how torch is set up"
        said = [state_in_words(state_of(guard.text)) for guard in group]
        title += "".join(": " + one for one in said if one)
    else:
        looked_at = source.split(" ")
        of_frame = [one[3:-2] for one in looked_at if not one.startswith("G[")]
        # behind the locals, which would read as globals, too
        title = ", ".join(of_frame + ["global " + one[3:-2] for one in looked_at if one[0] == "G"])
    tensors = [one.expression or "" for one in group if tensor_in_words(one.expression or "")]
    inside = [one for one in tensors if not one.startswith("__check_tensor(%s," % source)]
    if len(inside) < len(tensors):
        title += ": " + tensor_in_words(next(one for one in tensors if one not in inside))
    if inside and source and " " not in source:
        title += ", with %d tensor%s in it" % (len(inside), "" if len(inside) == 1 else "s")
    notes = list(dict.fromkeys(_because(guard) for guard in group if guard.comment))
    lines = legend.rows(title, WIDTH - 14)
    if notes and source:
        lines += legend.rows("because of: " + notes[0], WIDTH - 14)
        for note in notes[1:_CAUSES]:
            lines += legend.rows("and of: " + note, WIDTH - 14)
        if len(notes) > _CAUSES:
            more = len(notes) - _CAUSES
            lines.append("and of %d more line%s" % (more, "" if more == 1 else "s"))
    return lines


class Condition(NamedTuple):
    """An expression of a guard function."""

    text: str
    #: what it asks in words, where it has numbers of objects
    said: str
    #: the guards that it is of
    guards: List[Guard]


def _conditions(group: List[Guard], states: States) -> List[Condition]:
    """The conditions of a group; marks of one value are one."""
    found: Dict[Tuple[str, bool], List[Guard]] = {}  # (text, whether it is what has marks)
    said: Dict[str, str] = {}
    marks: Dict[str, List[str]] = {}
    for guard in group:
        expression = guard.expression or ""
        mark = MARK.match(expression)
        state = _STATE.match(expression)
        is_mark = False
        if mark is not None and parsed_expression(mark.group("of")) is not None:
            marks.setdefault(mark.group("of"), []).append(mark.group("mark"))
            text, is_mark = mark.group("of"), True
        elif state is not None:
            text = "__global_state() == %s" % states.name(state.group("state"))
        else:
            one_line = " ".join(expression.split("\n")) if "\n" in expression else expression
            text = "(%s)" % one_line if _needs_parentheses(one_line) else one_line
            said.setdefault(text, words.identity_in_words(guard.text))
        found.setdefault((text, is_mark), []).append(guard)  # torch has some twice, for two reasons
    return [
        Condition("__unmarked(%s, %s)" % (one, ", ".join(map(repr, marks[one]))), "", guards)
        if is_marked
        else Condition(one, said.get(one, ""), guards)
        for (one, is_marked), guards in found.items()
    ]


class Guards:
    """The guards of one entry, as a Python function asks them.

    Args:
        entry: what they are of.
        known: names that the file has.
        states: those of the file.

    Attributes:
        asked: by what they look at, the guards that Python can ask.
        opaque: the others, which torch alone checks.
    """

    def __init__(self, entry: Entry, known: FrozenSet[str], states: States) -> None:
        self.opaque: List[Guard] = []
        checked: List[Guard] = []
        for guard in entry.guards:
            here = guard.expression is not None and _evaluable(guard.expression, known)
            (checked if here else self.opaque).append(guard)
        self.asked = _by_source(checked)
        self._conditions = [_conditions(group, states) for _, group in self.asked]

    def conditions(self) -> List[str]:
        """What is asked, in order."""
        return [one.text for group in self._conditions for one in group]

    def rows(self, wanted: Callable[[str], bool]) -> List[str]:
        """The rows of an `and` of those conditions that are wanted."""
        lines: List[str] = []
        for (source, group), conditions in zip(self.asked, self._conditions):
            kept = [one for one in conditions if wanted(one.text)]
            if kept:
                ids = {id(guard) for one in kept for guard in one.guards}
                of_these = [guard for guard in group if id(guard) in ids]
                lines += ["            # " + line for line in _heading(source, of_these)]
            for one in kept:
                lines += with_words(on_rows(one.text), in_comment(one.said))
        return lines

    def opaque_rows(self) -> List[str]:
        """Comments on what torch alone checks."""
        lines = ["            # checked by torch alone:"] * bool(self.opaque)
        for guard in self.opaque:
            said = state_in_words(state_of(guard.text))
            text = "torch's settings: " + said if said else guard.text
            text = in_comment(text) + ("  " + in_comment(guard.comment) if guard.comment else "")
            wide = legend.rows(text, WIDTH - 18, whole_words=True)
            lines += ["            #   " + row for row in wide]
        return lines


#: guards that entries have in common are written once if they are so many
_MANY = 8


def in_common(every: Sequence[Guards]) -> FrozenSet[str]:
    """The conditions that all of several entries ask, where it is worth writing them once."""
    asked = [frozenset(one.conditions()) for one in every if one.asked]
    shared = frozenset.intersection(*asked) if len(asked) > 1 else frozenset()
    return shared if len(shared) >= _MANY else frozenset()


def guard_function(
    name: str, entry: Entry, guards: Guards, token: str, common: FrozenSet[str], shared: str
) -> str:
    """The guards of an entry as a function.

    Args:
        common: conditions that the function `shared` asks.
    """
    said = "True when compile %s may run for these locals; torch checks the same in C++."
    first: List[str] = []
    if common and guards.asked:
        told = "the %d guards that each of these entries has" % len(common)
        first = with_words(on_rows("%s(L, G)" % shared), told)
    rows = first + guards.rows(lambda one: one not in common) + guards.opaque_rows()
    rows += on_rows("__checked_by_torch(%r, L)" % token)
    return _function(name, said % in_comment(entry.compile_id), rows)


def shared_function(name: str, guards: Guards, common: FrozenSet[str]) -> str:
    """The guards that all entries of a function have, in the order of one of them."""
    said = "True when the guards hold that all entries have; each has others, too."
    return _function(name, said, guards.rows(lambda one: one in common))


def _function(name: str, said: str, rows: List[str]) -> str:
    head = ["def %s(L, G=None):" % name, '    """%s"""' % said]
    head += ["    G = __home__ if G is None else G", "    try:"]
    head += ["        return bool(", "            True"]
    end = ["        )", "    except Exception:  # a guard that cannot be evaluated does not hold"]
    return "\n".join(head + rows + end + ["        return False"]) + "\n"


def _needs_parentheses(expression: str) -> bool:
    parsed = parsed_expression(expression)
    return parsed is None or parsed[1] in (ast.Or, ast.IfExp, ast.Lambda, ast.Starred)
