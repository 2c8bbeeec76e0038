"""Mutants of the standard library through the prover: none may be taken for its original that the
judge tells from it.

Runs under any CPython from 3.7 on that can import depyf (PYTHONPATH=python). One change each, in a
definition or statement of a module's top level, the kinds of mutants those of a selftest for
judges: a comparison, `and` for `or`, swapped arms of an `if`, `continue` for `break`, a default, a
dropped statement, an operator, an attribute, and `not not x` for `x`. Each mutant is compiled and
compared with its original by depyf.compare and by tests/judge.py (lenient). What the prover accepts
and the judge rejects fails the run, unless the judge accepts it once what constants decide is
decided and what is never reached is gone (`0 < 1`, `m or m`, code behind `raise`), which the prover
knows and the judge does not; what the judge accepts and the prover rejects is listed.

    python3.X prover_mutants.py [MUTANTS of each kind [SEED [FOLDER]]]
            FOLDER: of .py files, default the standard library
"""

import ast
import copy
import os
import random
import sys
import warnings
from collections import Counter

from depyf import _core

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import judge  # noqa: E402

COMPARISONS = [
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
]
OTHER = {one: other for pair in COMPARISONS for one, other in (pair, pair[::-1])}
KINDS = [
    "comparison",
    "boolean",
    "arms",
    "break",
    "default",
    "drop",
    "operator",
    "attribute",
    "negation",
]
LISTED = 5


def sites(tree):
    """(index of the node in a walk, kind) of each place for a mutant."""
    for i, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Compare):
            yield i, "comparison"
        elif isinstance(node, ast.BoolOp):
            yield i, "boolean"
        elif isinstance(node, ast.If) and node.orelse:
            yield i, "arms"
        elif isinstance(node, ast.Break):
            yield i, "break"
        elif isinstance(node, ast.arguments) and node.defaults:
            yield i, "default"
        elif (
            isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.With, ast.Try))
            and len(node.body) > 1
        ):
            yield i, "drop"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            yield i, "operator"
        elif isinstance(node, ast.Attribute):
            yield i, "attribute"
        if isinstance(node, (ast.Return, ast.Assign, ast.keyword)) and node.value is not None:
            yield i, "negation"


def mutant(tree, index, kind):
    tree = copy.deepcopy(tree)
    node = next(n for i, n in enumerate(ast.walk(tree)) if i == index)
    if kind == "comparison":
        node.ops[0] = OTHER[type(node.ops[0])]()
    elif kind == "boolean":
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif kind == "arms":
        node.body, node.orelse = node.orelse, node.body
    elif kind == "break":
        node.__class__ = ast.Continue
    elif kind == "default":
        node.defaults[-1] = ast.copy_location(ast.Name("mutant", ast.Load()), node.defaults[-1])
    elif kind == "drop":
        del node.body[-1]
    elif kind == "operator":
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif kind == "attribute":
        node.attr += "_m"
    elif kind == "negation":
        inner = ast.copy_location(ast.UnaryOp(ast.Not(), node.value), node.value)
        node.value = ast.copy_location(ast.UnaryOp(ast.Not(), inner), node.value)
    return tree


JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


class Decided(ast.NodeTransformer):
    """The tree without what constants decide and what is never reached."""

    @staticmethod
    def value(node):
        """(the constant,) or ()"""
        try:
            return (ast.literal_eval(node),)
        except (ValueError, SyntaxError, TypeError):
            return ()

    def constant(self, node, value):
        return ast.copy_location(ast.parse(repr(value), mode="eval").body, node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        values = [self.value(part) for part in [node.left] + node.comparators]
        numbers = all(value and type(value[0]) in (int, float) for value in values)
        if numbers and not any(
            isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops
        ):
            return self.constant(node, eval(compile(ast.Expression(node), "constant", "eval")))
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        value = self.value(node.operand)
        return self.constant(node, not value[0]) if value and isinstance(node.op, ast.Not) else node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        ends = isinstance(node.op, ast.Or)
        kept = []
        for i, part in enumerate(node.values):
            value = self.value(part)
            last = i + 1 == len(node.values)
            if value and bool(value[0]) != ends and not last:
                continue
            if not (kept and isinstance(part, ast.Name) and ast.dump(kept[-1]) == ast.dump(part)):
                kept.append(part)
            if value and bool(value[0]) == ends:
                break
        node.values = kept
        return kept[0] if len(kept) == 1 else node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        value = self.value(node.test)
        return (node.body if value[0] else node.orelse) if value else node

    def visit_If(self, node):
        self.generic_visit(node)
        value = self.value(node.test)
        return (
            (node.body if value[0] else node.orelse) or ast.copy_location(ast.Pass(), node)
            if value
            else node
        )

    def visit_Try(self, node):
        self.generic_visit(node)
        if node.finalbody and isinstance(node.finalbody[-1], JUMPS):  # no other jump counts
            for part in [node] + node.handlers:
                if isinstance(part.body[-1], (ast.Break, ast.Continue)):
                    part.body[-1] = ast.copy_location(ast.Pass(), part.body[-1])
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        body = node.body
        while isinstance(body[-1], ast.With):
            body = body[-1].body
        if isinstance(body[-1], ast.Return) and (
            body[-1].value is None or self.value(body[-1].value) == (None,)
        ):
            body[-1] = ast.copy_location(ast.Pass(), body[-1])
        return node

    def generic_visit(self, node):
        ast.NodeTransformer.generic_visit(self, node)
        for field in ("body", "orelse", "finalbody"):
            part = getattr(node, field, None)
            if isinstance(part, list):
                ends = [i for i, statement in enumerate(part) if isinstance(statement, JUMPS)]
                if ends:
                    del part[ends[0] + 1 :]
        return node


def decided_equal(tree, index, kind):
    """Are the tree and its mutant the same to the judge once both are decided?"""
    codes = []
    for one in (copy.deepcopy(tree), mutant(tree, index, kind)):
        codes.append(compile(ast.fix_missing_locations(Decided().visit(one)), "mutant", "exec"))
    return judged_equal(*codes)


def judged_equal(a, b):
    """Are the two trees of code objects the same to the judge?"""
    left, right = judge.code_objects(a), dict(judge.code_objects(b))
    if len(left) != len(right) or any(path not in right for path, _ in left):
        return False
    return all(judge.compare_code(code, right[path])[1] for path, code in left)


def pieces(folder, rng):
    """Statements of modules' top levels, as modules of their own."""
    paths = sorted(
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith(".py")
    )
    paths = [path for path in paths if "lib2to3" not in path and "site-packages" not in path]
    rng.shuffle(paths)
    for path in paths:
        try:
            with open(path, "rb") as file:
                tree = ast.parse(file.read())
        except (SyntaxError, ValueError, OSError):
            continue
        for statement in tree.body:
            if isinstance(
                statement,
                (ast.ClassDef, ast.FunctionDef, ast.If, ast.Try, ast.For, ast.While, ast.With),
            ):
                yield path, ast.Module(body=[statement], type_ignores=[])


def main():
    warnings.simplefilter("ignore")
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    folder = sys.argv[3] if len(sys.argv) > 3 else os.path.dirname(os.__file__)
    made, told, wrong, strict, decided = Counter(), Counter(), [], {kind: [] for kind in KINDS}, []
    for path, tree in pieces(folder, rng):
        if all(made[kind] >= wanted for kind in KINDS):
            break
        places = list(sites(tree))
        rng.shuffle(places)
        taken = Counter()
        try:
            original = compile(tree, "mutant", "exec")
        except (SyntaxError, ValueError, RecursionError):
            continue
        for index, kind in places:
            # a few of each kind in one piece, so that many pieces count
            if made[kind] >= wanted or taken[kind] == 8:
                continue
            changed = mutant(tree, index, kind)
            try:
                code = compile(changed, "mutant", "exec")
            except (SyntaxError, ValueError, RecursionError):
                continue
            made[kind] += 1
            taken[kind] += 1
            proven, where = _core.compare(original, code)[:2]
            equal = judged_equal(original, code)
            place = "%s, line %d" % (os.path.basename(path), tree.body[0].lineno)
            told[kind] += not equal
            if proven not in ("unproven", "different") and not equal:
                (decided if decided_equal(tree, index, kind) else wrong).append(
                    "%s in %s: %s" % (kind, place, proven)
                )
            elif proven in ("unproven", "different") and equal:
                strict[kind].append("%s: %s" % (place, where))
    for kind in KINDS:
        print(
            "3.%d %-10s %5d mutants, the judge tells %5d of them; the prover rejects %d that the judge accepts"
            % (sys.version_info[1], kind, made[kind], told[kind], len(strict[kind]))
        )
        for line in strict[kind][:LISTED]:
            print("    " + line)
    print("accepted by the prover, and by the judge once constants have decided: %d" % len(decided))
    print("accepted by the prover and rejected by the judge: %d" % len(wrong))
    for line in wrong[:50]:
        print("    " + line)
    return 1 if wrong or not made else 0


if __name__ == "__main__":
    sys.exit(main())
