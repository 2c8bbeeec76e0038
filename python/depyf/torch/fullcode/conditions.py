"""Guards as a Python function, with what they ask in words."""

import ast
import builtins
import re
from typing import Dict, FrozenSet, List, Tuple

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


def _conditions(group: List[Guard], states: States) -> List[Tuple[str, str]]:
    """The expressions of a group, with what they ask in words where they have numbers of objects;
    marks of one value as one.
    """
    found: List[str] = []
    said: Dict[str, str] = {}
    marks: Dict[str, List[str]] = {}
    for guard in group:
        expression = guard.expression or ""
        mark = MARK.match(expression)
        state = _STATE.match(expression)
        if mark is not None and parsed_expression(mark.group("of")) is not None:
            if mark.group("of") not in marks:
                found.append(mark.group("of"))
            marks.setdefault(mark.group("of"), []).append(mark.group("mark"))
        elif state is not None:
            found.append("__global_state() == %s" % states.name(state.group("state")))
        else:
            one_line = " ".join(expression.split("\n")) if "\n" in expression else expression
            one_line = "(%s)" % one_line if _needs_parentheses(one_line) else one_line
            if one_line not in found:  # torch has some twice, for two reasons
                found.append(one_line)
                said[one_line] = words.identity_in_words(guard.text)
    return [
        ("__unmarked(%s, %s)" % (one, ", ".join(map(repr, marks[one]))), "")
        if one in marks
        else (one, said.get(one, ""))
        for one in found
    ]


def guard_function(
    name: str, entry: Entry, known: FrozenSet[str], token: str, states: States
) -> str:
    lines = ["def %s(L, G=None):" % name]
    lines.append(
        '    """True when compile %s may run for these locals; torch checks the same in C++."""'
        % in_comment(entry.compile_id)
    )
    lines.append("    G = __home__ if G is None else G")
    lines.append("    try:")
    lines.append("        return bool(")
    lines.append("            True")
    opaque: List[Guard] = []
    checked: List[Guard] = []
    for guard in entry.guards:
        known_here = guard.expression is not None and _evaluable(guard.expression, known)
        (checked if known_here else opaque).append(guard)
    for source, group in _by_source(checked):
        lines += ["            # " + line for line in _heading(source, group)]
        for condition, said in _conditions(group, states):
            lines += with_words(on_rows(condition), in_comment(said))
    if opaque:
        lines.append("            # checked by torch alone:")
    for guard in opaque:
        said = state_in_words(state_of(guard.text))
        text = "torch's settings: " + said if said else guard.text
        text = in_comment(text) + ("  " + in_comment(guard.comment) if guard.comment else "")
        wide = legend.rows(text, WIDTH - 18, whole_words=True)
        lines += ["            #   " + row for row in wide]
    lines += on_rows("__checked_by_torch(%r, L)" % token)
    lines.append("        )")
    lines.append("    except Exception:  # a guard that cannot be evaluated does not hold")
    lines.append("        return False")
    return "\n".join(lines) + "\n"


def _needs_parentheses(expression: str) -> bool:
    parsed = parsed_expression(expression)
    return parsed is None or parsed[1] in (ast.Or, ast.IfExp, ast.Lambda, ast.Starred)
