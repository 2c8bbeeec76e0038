"""A patch for a piece of advice: text between columns of one statement is changed, so that the
rest of the file stays as it is.
"""

import ast
import difflib
import os
import re
from typing import Any, Dict, List, Optional, Set, Tuple

from depyf import compiling, paths
from depyf.advice import uses
from depyf.advise.branch_patch import with_where
from depyf.advise.change import Known
from depyf.advise.compiled import (
    calls_of_compiled,
    compilers,
    compiles_of,
    is_torch_compile,
    made_for,
)
from depyf.advise.source import (
    bodies,
    functions_of,
    is_function,
    lines_of,
    segment,
    source_of,
    with_text,
)
from depyf.terminal import short_path


def patch_for(
    wanted: str,
    file: str,
    line: int,
    known: Known,
    caller: Tuple[str, int] = ("", 0),
    dynamic_at: Tuple[str, int] = ("", 0),
) -> str:
    """The diff of a change; "" where none can be written.

    Args:
        dynamic_at: where the function begins whose torch.compile is given dynamic=True besides.
    """
    from depyf.report import words

    of_program = ("torch._dynamo.config.", "torch.fx.experimental._config.", "lr=")
    compiled_elsewhere = wanted.startswith("torch.compile") and words.in_library(file or "")
    if wanted.startswith(of_program) or compiled_elsewhere:
        # a setting is the program's, wherever the line is that asks for it, and so is what a
        # library's class is made with
        file = known.program or file
        line = 0 if compiled_elsewhere else line
    called_at = caller[1] if compiled_elsewhere and _same(caller[0], file) else 0
    if not file or words.in_library(file) or re.search(r"\b[A-Z]{3,}\b", wanted.split("(")[-1]):
        if not wanted.startswith("torch.where"):
            return ""
    parsed = source_of(file)
    if parsed is None or _shows_changed(wanted, file, known):
        return ""
    source, tree = parsed
    if wanted.startswith("torch.where"):
        of_item = ".item()" in wanted
        without = _without_gradient(known, file)
        changed = with_where(source, tree, line, _is_float(known, file), of_item, without)
    elif wanted == "torch.compile(..., dynamic=True)":
        changed = _with_dynamic(source, tree, line, called_at)
    elif wanted.startswith(("torch._dynamo.config.", "torch.fx.experimental._config.")):
        changed = _with_setting(source, tree, wanted)
    elif " in place of math." in wanted:
        changed = _with_torchs_math(source, tree, line, wanted)
    elif wanted.startswith("lr="):
        changed = _with_rate(source, tree)
    elif wanted.startswith("torch._dynamo.") and "mark_" in wanted:
        changed = _with_marks(source, tree, line, wanted)
    else:
        changed = None
    if changed is None or changed == source or not _compiles(source, tree, changed):
        return ""
    if dynamic_at[1] and _same(dynamic_at[0], file):
        moved = dynamic_at[1] + changed.count("\n") - source.count("\n")
        changed = _with_dynamic(changed, compiling.places_of(changed), moved) or changed
    return diff_of(file, source, changed)


def diff_of(file: str, source: str, changed: str, context: int = 1) -> str:
    """The unified diff of a file, for `patch -p1` in the current folder, or in the root for a file
    outside of it.

    Args:
        context: lines around each change.
    """
    name = short_path(file)
    if name.startswith(os.pardir):  # `patch -p1` takes no such names; from the root it finds this
        name = paths.absolute(file)
    name = name.lstrip("/")
    lines = lines_of(source), lines_of(changed)
    return "".join(difflib.unified_diff(*lines, "a/" + name, "b/" + name, n=context))


def _shows_changed(wanted: str, file: str, known: Known) -> bool:
    """Whether a patch may have torch show a tensor after it was changed in place: what torch shows
    at the end of a graph is as it is then, and the setting is for each call in the program.
    """
    from depyf.report import words

    called = re.search(r"reorderable_logging_functions\.add\(([\w.]+)\)", wanted)
    if called is None:
        return False
    name = called.group(1).rpartition(".")[2]
    files = {file, *(one.place[0] for one in known.nodes)}
    own = [one for one in files if one and not words.in_library(one)]
    return not all(uses.shows_its_own(one, name) for one in own)


def _compiles(source: str, tree: ast.Module, changed: str) -> bool:
    """Whether a changed source is Python: of a long file only the changed statements are parsed."""
    for text in (_changed_statements(source, tree, changed), changed):
        try:
            compiling.places_of(text)
            return True
        except SyntaxError:
            pass
    return False


def _changed_statements(source: str, tree: ast.Module, changed: str) -> str:
    """The lines of a changed source that hold the statements of its module that are changed."""
    if not uses.HAS_ENDS:
        return changed
    before, after = lines_of(source), lines_of(changed)
    most = min(len(before), len(after))
    first = next((i for i in range(most) if before[i] != after[i]), most)
    below = next((i for i in range(most - first) if before[-1 - i] != after[-1 - i]), most - first)
    end = len(before) - below
    for one in tree.body:
        begin, last = uses.first_line(one) - 1, uses.last_line(one)
        if begin < end and last > first:
            first, end = min(first, begin), max(end, last)
    return "".join(after[first : len(after) - (len(before) - end)])


_FLOATS = frozenset("torch.%s" % one for one in ("float32", "float64", "float16", "bfloat16"))


def _is_float(known: Known, file: str) -> bool:
    """Whether all tensors that the guards of a file's functions name have one dtype, of floats."""

    found = set()
    for node in known.nodes:
        if node.place[0] == file:
            for guard in node.entry.get("guards") or ():
                if str(guard.get("text") or "").startswith("check_tensor("):
                    found |= set(re.findall(r", (torch\.\w+), device=", guard["text"])) or {""}
    return len(found) == 1 and found <= _FLOATS


_ONE_TENSOR = re.compile(r"check_tensor\(L\['(\w+)'\], .*\brequires_grad=(True|False)\b")
_ONE_NUMBER = re.compile(r"L\['(\w+)'\] == -?[\d.]+(e[-+]?\d+)?$")


def _without_gradient(known: Known, file: str) -> Set[str]:
    """The names of a file's functions that are tensors which require no gradient, or numbers, as
    the guards of all compiles say; none where any tensor requires one, or a compile failed.
    """
    found: Set[str] = set()
    for node in known.nodes:
        if node.place[0] == file:
            if node.entry.get("failure"):
                return set()
            for guard in node.entry.get("guards") or ():
                text = str(guard.get("text") or "")
                if "requires_grad=True" in text:
                    return set()
                one = _ONE_TENSOR.match(text) or _ONE_NUMBER.match(text)
                if one is not None:
                    found.add(one.group(1))
    return found


def _with_dynamic(source: str, tree: ast.Module, line: int, called_at: int = 0) -> Optional[str]:
    """dynamic=True in the torch.compile of the function at the line, a decorator or a call; at line
    0, or one that only calls a library's function, in the only torch.compile of the program, or in
    that of what line `called_at` calls.
    """
    found = compiles_of(tree, line) if line else []
    if not found and not (line and is_function(tree, line)):
        names = compilers(tree)
        calls = [node for node in uses.walked(tree) if isinstance(node, ast.Call)]
        calls = [node for node in calls if is_torch_compile(node, names)]
        if len(calls) > 1 and called_at:
            calls = made_for(tree, called_at, calls)
        found = list(calls) if len(calls) == 1 else []
    edits: List[Tuple[int, int, int, str]] = []
    for node in found:
        if not hasattr(node, "end_lineno"):
            return None  # a node has its end from 3.8 on
        last: Any = node
        keywords = node.keywords if isinstance(node, ast.Call) else []
        given = next((one.value for one in keywords if one.arg == "dynamic"), None)
        if not isinstance(node, ast.Call):
            edits.append((last.end_lineno, last.end_col_offset, 0, "(dynamic=True)"))
        elif given is not None:
            if getattr(given, "value", None) is False:  # an ast.Constant of 3.8+
                edits.append((given.lineno, given.col_offset, len("False"), "True"))
        else:
            inner = ", dynamic=True)" if node.args or node.keywords else "dynamic=True)"
            edits.append((last.end_lineno, last.end_col_offset - 1, 1, inner))
    for edit in sorted(edits, reverse=True):
        source = with_text(source, *edit)
    return source if edits else None


def _with_torchs_math(source: str, tree: ast.Module, line: int, wanted: str) -> Optional[str]:
    """`torch.cos` in place of `math.cos` on some lines, and tensors in place of what the calls of
    the compiled function at a line give it; None where a call is not found, or not plain.
    """
    functions, _, tensors = wanted.partition("; ")
    if functions.count(":") != 1:
        return None  # lines of several files
    of_math = re.findall(r"\bmath\.\w+", functions)
    lines = [int(one) for one in re.findall(r"\d+", functions.rpartition(":")[2])]
    edits = [
        (node.lineno, node.func.col_offset, uses.path_of(node.func), "torch." + node.func.attr)
        for node in uses.walked(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.lineno in lines and uses.path_of(node.func) in of_math
    ]
    found = next(
        (one for one in functions_of(tree) if uses.first_line(one[0]) <= line <= one[0].lineno),
        None,
    )
    if found is None or {one[0] for one in edits} != set(lines) or not lines:
        return None
    function, owner = found
    calls = calls_of_compiled(tree, function, owner)
    for call in calls:
        given = uses.given_by(call, function)
        for name, rest in re.findall(r"torch\.as_tensor\((\w+)(.*?)\)(?:; |$)", tensors):
            value = given.get(name)
            text = segment(source, value) if value is not None else None
            if not text or "\n" in text or value is None:
                return None
            edits.append(
                (value.lineno, value.col_offset, text, "torch.as_tensor(%s%s)" % (text, rest))
            )
    if not calls:
        return None
    for at, column, text, made in sorted(edits, reverse=True):
        source = with_text(source, at, column, len(text.encode("utf-8")), made)
    return source


def _same(file: str, other: str) -> bool:
    return bool(file) and paths.real(file) == paths.real(other)


def _with_rate(source: str, tree: ast.Module) -> Optional[str]:
    """`lr=1e-3` as `lr=torch.tensor(1e-3)`, where the program makes one optimizer, and writes no
    other learning rate in the tensor's place.
    """
    if uses.rate_written(tree):
        return None
    found = [
        one.value
        for node in uses.walked(tree)
        if isinstance(node, ast.Call)
        for one in node.keywords
        if one.arg == "lr"
    ]
    written = segment(source, found[0]) if len(found) == 1 else None
    if not written or isinstance(found[0], ast.Call) or found[0].lineno != found[0].end_lineno:
        return None
    length = len(written.encode("utf-8"))
    tensor = "torch.tensor(%s)" % written
    return with_text(source, found[0].lineno, found[0].col_offset, length, tensor)


def sets_already(wanted: str, file: str) -> bool:
    """Whether a program has a setting that a patch would make, at the top of it."""
    parsed = source_of(file) if file and wanted.startswith("torch._dynamo.config.") else None
    name, equal, value = wanted.partition(" = ")
    return bool(equal) and any(
        isinstance(node, ast.Assign)
        and name in [uses.path_of(one) for one in node.targets]
        and str(getattr(node.value, "value", "")) == value
        for node in (parsed[1].body if parsed is not None else ())
    )


def _with_setting(source: str, tree: ast.Module, wanted: str) -> Optional[str]:
    """A setting after the import of torch, and those that follow it, at the top of the program."""
    last, known = None, set()
    for node in tree.body:
        is_import = isinstance(node, (ast.Import, ast.ImportFrom)) and hasattr(node, "end_lineno")
        if is_import and isinstance(node, ast.Import):
            known |= {one.name.split(".")[0] for one in node.names if not one.asname}
        if "torch" in known:
            if not is_import:  # it may be what runs the program
                break
            last = node
    if last is None:
        return None
    lines = list(lines_of(source))
    end = int(getattr(last, "end_lineno"))
    given = re.match(r"\w+", wanted.rpartition("(")[2])  # add(logging.Logger.info)
    name = given.group() if given else ""
    needed = name in ("logging", "warnings") and name not in known
    written = ["import %s\n" % name] * needed + ["\n" + wanted + "\n"]
    return "".join(lines[:end] + written + lines[end:])


def _with_marks(source: str, tree: ast.Module, line: int, wanted: str) -> Optional[str]:
    """Marks before the only call of the function at the line, where what is passed has a name."""
    marks = [re.match(r"^([\w.]+)\((\w+), (\d+)\)$", one) for one in wanted.split(" and ")]
    function = next(
        (
            node
            for node in uses.walked(tree)
            if isinstance(node, ast.FunctionDef) and uses.first_line(node) <= line <= node.lineno
        ),
        None,
    )
    if function is None:
        return None
    calls = []
    for body in bodies(tree):
        for statement in body:
            if isinstance(statement, (ast.Expr, ast.Assign)):
                for node in ast.walk(statement.value):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                        if node.func.id == function.name:
                            calls.append((statement, node))
    if len(calls) != 1:
        return None
    statement, call = calls[0]
    lines = list(lines_of(source))
    before = lines[statement.lineno - 1][: statement.col_offset]
    parameters = [one.arg for one in function.args.args]
    written = []
    for mark in marks:
        if mark is None or mark.group(2) not in parameters or before.strip():
            return None
        position = parameters.index(mark.group(2))
        passed = call.args[position] if position < len(call.args) else None
        if not isinstance(passed, ast.Name):
            return None
        written.append("%s%s(%s, %s)\n" % (before, mark.group(1), passed.id, mark.group(3)))
    return "".join(lines[: statement.lineno - 1] + written + lines[statement.lineno - 1 :])


#: where a hunk of a unified diff begins, and its lines up to the next one
_HUNK = re.compile(r"^@@ .*\n(?:(?!@@ |--- ).*(?:\n|$))+", re.M)
_IN_ANOTHER = "its patch is a part of that of change %d"


def beyond(patch: str, before: Dict[int, str]) -> str:
    """A patch without the hunks that patches before it make, so that each applies after them.

    Args:
        before: of one run, by the numbers of their changes.
    """
    made: Dict[Tuple[str, str], int] = {}
    for number, one in before.items():
        for file, hunk in _hunks(one):
            made.setdefault((file, _without_numbers(hunk)), number)
    hunks = _hunks(patch)
    known = [made.get((file, _without_numbers(hunk))) for file, hunk in hunks]
    if not any(known):
        return patch
    if all(known):
        return _IN_ANOTHER % max(one for one in known if one)
    kept = patch
    for (_, hunk), made_by in zip(hunks, known):
        kept = kept.replace(hunk, "", 1) if made_by else kept
    return kept


def _hunks(patch: str) -> List[Tuple[str, str]]:
    """(heading of the file, text) of each hunk of a unified diff."""
    found = []
    for match in _HUNK.finditer(patch):
        file = patch.rfind("--- ", 0, match.start())
        found.append((patch[file : patch.find("\n", file)], match.group()))
    return found


def _without_numbers(hunk: str) -> str:
    """A hunk with the place where it begins in the file as it is, but not as it will be."""
    return re.sub(r"^(@@ -\S+) .*", r"\1", hunk).rstrip("\n")
