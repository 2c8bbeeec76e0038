"""Which piece of advice is for a line of a program, by what its source does there."""

import ast
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

from depyf.advice import OF_LIST, OUTSIDE, PRINTS, breaks, uses
from depyf.advise.change import Known
from depyf.advise.patches import patch_for, sets_already
from depyf.advise.source import source_of


def first_patch(
    said: Dict[str, Any],
    file: str,
    line: int,
    known: Known,
    caller: Tuple[str, int, str] = ("", 0, ""),
    of_compile: Tuple[str, int] = ("", 0),
) -> Tuple[str, str]:
    """(advice, patch) of the first advice that has a patch, else of the first; of a branch with a
    side that is no value, of the advice for those.

    Args:
        caller: the reader's line that calls a library's function: file, line, code.
        of_compile: where the function begins whose torch.compile led there.
    """
    said = _without_done(said, known.program or file)
    if not said["help"]:
        return "", ""
    if _decides_a_round(said["row"], file, line):
        return breaks.LEAVES.help[0].text, ""  # what a round decides, the next one needs
    if said["row"] == "branch" and _has_effects(file, line):
        begin = OF_LIST if _makes_list(file, line) else OUTSIDE
        begin = PRINTS if _prints_beside(file, line) else begin
        if begin == OUTSIDE:
            begin = _of_loop(said) or begin  # what a round decides, the next one needs
        for one in said["help"]:
            if one.startswith(begin):
                return one, ""
    if said["row"] == "while" and not uses.computes_alone(file, line):
        return breaks.LEAVES.help[0].text, ""
    if said["row"] == "branch on a number" and _raises(file, line):
        for one in said["help"]:
            if one.startswith(OUTSIDE):
                return one, ""
    if said["row"] == "item that decides" and len(said["help"]) > 1:
        # what is decided in another function is seldom something that a tensor can decide
        decided = uses.decided_at(file, line)
        same = uses.in_same_function(file, line, decided)
        if same and _chooses_a_value(file, decided):
            return said["help"][0], patch_for(_WHERE_OF_ITEM, file, decided, known)
        # what a round of a loop decides, the next one needs; a function that a loop calls is one
        # already
        of_loop = _of_loop(said)
        if of_loop != breaks.LEAVES.help[0].text:
            in_loop = any(kind != "try" for kind, _ in uses.uncut_around(file, line))
            of_loop = of_loop if in_loop else ""
        return of_loop or said["help"][1], ""
    leaves = not uses.asks_for_none(file, line) or said["row"] == "item"
    leaves = leaves or uses.ends_loop_around(file, line)
    if breaks.LEAVES.help[0].text in said["help"] and leaves:
        return breaks.LEAVES.help[0].text, ""
    if said["row"] in breaks.OF_NONE or said["row"] == "value of each object":
        return said["help"][0], ""
    if said["row"] in _PUT_OFF and _passes_changing_number(said, file, line, known):
        return said["help"][0], ""  # torch cannot put it off
    if said["row"] == "dynamic shape" and uses.calls(file, "tolist"):
        return said["help"][0], ""  # with the setting, torch may end in an error there
    if said["row"] == "print" and uses.in_autograd_function(file, line):
        return said["help"][0], ""  # what torch would print later is lost there
    for advice, wanted in zip(said["help"], said["patches"]):
        patch = ""
        if wanted.startswith("torch.compile") and of_compile != (file, line):
            patch = patch_for(wanted, *of_compile, known) if of_compile[1] else ""
        if wanted and not patch:
            patch = patch_for(wanted, file, line, known, caller[:2])
        if patch:
            return advice, patch
    return said["help"][0], ""


def _without_done(said: Dict[str, Any], program: str) -> Dict[str, Any]:
    """What is said of a cause, without the settings that the program has: they did not help."""
    both = list(zip(said["help"], said["patches"]))
    left = [one for one in both if not sets_already(one[1], program)]
    if len(left) == len(both):
        return said
    return dict(said, help=[one for one, _ in left], patches=[one for _, one in left])


#: as the patch of a row has it, for a branch on the .item() of a tensor
_WHERE_OF_ITEM = "torch.where(CONDITION.item(), A, B)"


def _of_loop(said: Dict[str, Any]) -> str:
    """What helps where the loop around a break is the problem; "" where it is none."""
    return next((one for one in breaks.OF_LOOPS if one in said["help"]), "")


#: rows of what torch can do at the end of the graph, where no number that changes is given to it
_PUT_OFF = ("print", "warning", "log function")


def _passes_changing_number(said: Dict[str, Any], file: str, line: int, known: Known) -> bool:
    """Whether a line gives a number to a call because of which torch compiled again."""
    from depyf.report import words

    if words.in_library(file) and said["caller"][1]:
        file, line = said["caller"][:2]
    given = uses.given_names(file, line)
    return any(
        reason["name"] in given and words.is_number(reason["before"])
        for node in (known.nodes if given else ())
        for reason in node.reasons
    )


def _decides_a_round(row: str, file: str, line: int) -> bool:
    """Whether what a line decides by a tensor ends a round of a loop around it: `torch.where` ends
    none.
    """
    from depyf.report import words

    if row not in breaks.DECIDE or words.in_library(file):
        return False
    at = uses.decided_at(file, line) if row == "item that decides" else line
    looped = any(kind != "try" for kind, _ in uses.uncut_around(file, at))
    return looped and uses.in_same_function(file, line, at) and uses.ends_round(file, at)


def _has_effects(file: str, line: int) -> bool:
    """Whether a branch does what torch.where cannot: a side raises, leaves a loop, returns no
    tensor, calls something for its effect, counts in what lives longer than the call, or sets a
    number of which something needs the value.
    """
    sides = _sides(file, line)
    return any(map(_is_effect, sides)) or uses.needs_number(file, line, sides)


def _sides(file: str, line: int) -> List[ast.stmt]:
    """The statements of the sides of the branch at a line: where one leaves the function or the
    round, what follows the branch is the other.
    """
    parsed = source_of(file)
    around = uses.nodes_at(parsed[1], line) if parsed is not None else ()
    for at, node in enumerate(around):
        if isinstance(node, ast.If) and node.lineno == line:
            leaves = isinstance(node.body[-1], (ast.Return, ast.Continue, ast.Break))
            return node.body + node.orelse + (_behind(node, around[:at]) if leaves else [])
    return []


def _behind(node: Any, around: Sequence[Any]) -> List[ast.stmt]:
    """What runs after a statement in its function, or in its round of a loop.

    Args:
        around: what the statement is in, outer ones first.
    """
    found: List[ast.stmt] = []
    for outer in reversed(around):
        blocks = [getattr(outer, name, ()) for name in ("body", "orelse", "finalbody")]
        for block in blocks:
            if isinstance(block, list) and node in block:
                found += block[block.index(node) + 1 :]
                node = outer
                break
        if node is outer and isinstance(outer, (ast.For, ast.While, *uses.SCOPES)):
            break
    return found


def _raises(file: str, line: int) -> bool:
    """Whether a side of the branch at a line raises in the end."""
    parsed = source_of(file)
    return any(
        isinstance(node, ast.If) and node.lineno == line and isinstance(side[-1], ast.Raise)
        for node in (uses.nodes_at(parsed[1], line) if parsed is not None else ())
        for side in (getattr(node, "body", []), getattr(node, "orelse", []))
        if side
    )


def _chooses_a_value(file: str, line: int) -> bool:
    """Whether a line decides between values, as torch.where can: not the length of a range, nor
    whether something is printed. True where its source is not there.
    """
    parsed = source_of(file)
    if parsed is None:
        return True
    nodes = [one for one in uses.nodes_at(parsed[1], line) if getattr(one, "lineno", 0) == line]
    if uses.needs_number(file, line, nodes):
        return False
    for one in nodes:
        if isinstance(one, ast.If):
            chosen = [each.value for each in one.body + one.orelse if isinstance(each, ast.Assign)]
            return not _has_effects(file, line) and not any(map(_is_size, chosen))
    return any(isinstance(one, ast.IfExp) for one in nodes)


#: functions whose results are sizes where a side of a branch chooses one
_SIZES = ("dim", "int")


def _is_size(node: ast.expr) -> bool:
    """Whether an expression is plainly a size: what takes one takes no tensor in its place."""
    called = getattr(node, "func", None)
    return uses.is_size(node) or getattr(called, "attr", getattr(called, "id", "")) in _SIZES


def _prints_beside(file: str, line: int) -> bool:
    """Whether the sides of a branch assign what torch.where can choose, and print or log."""
    parsed = source_of(file)
    for node in uses.nodes_at(parsed[1], line) if parsed is not None else ():
        if isinstance(node, ast.If) and node.lineno == line:
            every = node.body + node.orelse
            told = [one for one in every if _is_shown(one)]
            left = [one for one in every if one not in told]
            return bool(told and left) and all(
                isinstance(one, (ast.Assign, ast.AugAssign)) and not _is_effect(one) for one in left
            )
    return False


#: methods of a logger that show a message
_LOGS = frozenset("debug info warning warn error critical exception log".split())


def _is_shown(node: ast.stmt) -> bool:
    called = getattr(node.value, "func", None) if isinstance(node, ast.Expr) else None
    if isinstance(called, ast.Attribute):
        return called.attr in _LOGS
    return getattr(called, "id", "") == "print"


def _makes_list(file: str, line: int) -> bool:
    """Whether the only thing that a branch does is to make a list of each element of one."""
    parsed = source_of(file)
    for node in uses.nodes_at(parsed[1], line) if parsed is not None else ():
        if isinstance(node, ast.If) and node.lineno == line:
            return all(
                isinstance(one, ast.Assign) and isinstance(one.value, ast.ListComp)
                for one in node.body + node.orelse
            )
    return False


def _is_effect(node: ast.stmt) -> bool:
    if isinstance(node, (ast.If, ast.With, ast.For, ast.While)):
        return any(map(_is_effect, node.body + getattr(node, "orelse", [])))
    if isinstance(node, (ast.Assign, ast.AugAssign)) and _sets_number(node):
        return True
    if isinstance(node, ast.AugAssign) and _is_chosen_element(node.target):
        return True
    if isinstance(node, (ast.Return, ast.Assign)):
        return not _may_be_tensor(node.value)
    return isinstance(node, (ast.Raise, ast.Break, ast.Continue, ast.Expr))


def _sets_number(node: Union[ast.Assign, ast.AugAssign]) -> bool:
    """Whether a statement plainly gives an attribute or an element a number of Python's."""
    kept = [one for one in uses.targets_of(node) if isinstance(one, (ast.Attribute, ast.Subscript))]
    is_item = any(isinstance(one, ast.Subscript) and not _is_key(one) for one in kept)
    return bool(kept) and not is_item and _is_number(node.value, set(map(uses.path_of, kept)))


def _is_chosen_element(node: ast.expr) -> bool:
    """Whether it is an element at a computed place: to add to it counts or scatters."""
    index = uses.unwrapped(node.slice) if isinstance(node, ast.Subscript) else None
    return isinstance(index, (ast.Name, ast.Attribute, ast.Call))


def _is_key(node: ast.Subscript) -> bool:
    index = uses.unwrapped(node.slice)
    return isinstance(getattr(index, "value", getattr(index, "s", None)), str)


#: functions of Python's whose results are numbers where they are given numbers
_GIVE_NUMBERS = ("abs", "float", "int", "len", "max", "min", "round")


def _is_number(node: ast.expr, counted: Set[str]) -> bool:
    """Whether an expression is plainly a number of Python's.

    Args:
        counted: the attributes that count as such.
    """
    if isinstance(node, ast.Call):
        made = uses.method_of(node) in ("item", "tolist")
        return made or isinstance(node.func, ast.Name) and node.func.id in _GIVE_NUMBERS
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, counted) and _is_number(node.right, counted)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand, counted)
    known = isinstance(node, ast.Attribute) and uses.path_of(node) in counted
    return known or isinstance(node, ast.Constant)


#: expressions that torch.where cannot take
_NO_TENSORS = (
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.JoinedStr,
    ast.Lambda,
)


def _may_be_tensor(node: Optional[ast.expr]) -> bool:
    """Whether torch.where can take what an expression gives."""
    if isinstance(node, _NO_TENSORS):
        return False
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, int, float))
    return node is not None
