"""The rows of advice, which code elsewhere asks for by their keys."""

import ast
from pathlib import Path

import depyf
from depyf import advice
from depyf.advice import breaks, recompiles

PACKAGE = Path(depyf.__file__).parent
KEYS = {*breaks.BY_KEY, *recompiles.BY_KEY}
#: of what has no row, and of the row for what a library does, which has no reason of torch's
NO_ROW = {"", "limit", breaks.LIBRARY.key}


def is_row(node):
    """Whether an expression is the row of something: `said["row"]`, `change.row`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "row"
    return isinstance(node, ast.Attribute) and node.attr == "row"


def texts_of(node):
    """The texts with which a row is compared."""
    every = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return [one.value for one in every if isinstance(one, ast.Constant)]


def compared():
    """(place, key) of each comparison of a row with a text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                if any(map(is_row, sides)):
                    for side in sides:
                        for text in texts_of(side):
                            if isinstance(text, str):
                                yield "%s:%d" % (path.relative_to(PACKAGE), node.lineno), text


def test_a_key_with_which_a_row_is_compared_is_that_of_a_row():
    found = list(compared())
    assert len(found) > 50
    assert not [one for one in found if one[1] not in KEYS | NO_ROW]


def test_the_lists_of_rows_have_keys_of_rows():
    lists = [getattr(advice, name) for name in ("NORMAL", "WITHOUT_HINTS", "NO_ACTION", "OF_A_FEW")]
    lists += [
        getattr(breaks, name) for name in ("DECIDE", "REPEAT", "COMPILE_AROUND", "BECOME_TENSORS")
    ]
    assert all(lists) and not {key for one in lists for key in one} - KEYS - NO_ROW
