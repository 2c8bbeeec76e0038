"""How often the decompiled function is the one that was written: the same syntax tree.

    python3.X bench/readability.py [--depyf PATH] [--files N] [--seed N] [--show N] [FOLDER]

Takes files below FOLDER, or of the library of the Python that runs it, compiles and decompiles
them, and compares each function's tree with that of the source. Not counted as a difference: what
bytecode does not have (annotations of local variables, statements that are constants, `pass`),
what the compiler folds before it makes code (constants, `x in [1, 2]`, `for x in [a, b]`,
`while 1`, f-strings without a value), the order of constants in `x in {1, 2}`, and the spelling of
f-strings. Prints the share of equal functions, and the first differences by kind, most frequent
first.
"""

import argparse
import ast
import collections
import copy
import os
import py_compile
import random
import subprocess
import sys
import tempfile

LEFT_OUT = ("test", "tests", "site-packages", "lib2to3", "idlelib", "__pycache__")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IGNORED_FIELDS = ("kind", "type_comment", "type_params", "ctx")


class Normalised(ast.NodeTransformer):
    """Folds what the compiler folds, and drops what leaves no trace."""

    def visit_JoinedStr(self, node):
        if all(isinstance(part, ast.Constant) for part in node.values):  # that is a string
            return ast.Constant("".join(part.value for part in node.values))
        return ast.Constant("an f-string")

    def visit_For(self, node):
        return self.iterated(node)

    def visit_AsyncFor(self, node):
        return self.iterated(node)

    def visit_comprehension(self, node):
        return self.iterated(node)

    def iterated(self, node):
        self.generic_visit(node)
        node.iter = self.made_once(node.iter)
        return node

    def visit_While(self, node):
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant) and node.test.value:
            node.test = ast.Constant(True)
        return node

    def made_once(self, node):
        """A list or a set that is only looked at is a tuple or a frozenset."""
        if isinstance(node, ast.List):
            return ast.Tuple(node.elts, ast.Load())
        if isinstance(node, ast.Set) and all(isinstance(e, ast.Constant) for e in node.elts):
            unique = {repr(element.value): element for element in node.elts}
            return ast.Set([unique[text] for text in sorted(unique)])
        return node

    def visit_BinOp(self, node):
        return self.folded(node)

    def visit_UnaryOp(self, node):
        return self.folded(node)

    def folded(self, node):
        self.generic_visit(node)
        operands = [
            getattr(node, name) for name in ("left", "right", "operand") if hasattr(node, name)
        ]
        if not all(isinstance(operand, ast.Constant) for operand in operands):
            return node
        try:
            return ast.Constant(
                eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), {})
            )
        except Exception:  # 1 / 0 is left to the program
            return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        for i, operator in enumerate(node.ops):
            if isinstance(operator, (ast.In, ast.NotIn)):
                node.comparators[i] = self.made_once(node.comparators[i])
        return node


def normalised(function):
    function = copy.deepcopy(function)
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [s for s in statements if not without_trace(s)])
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        elif isinstance(node, ast.List) and isinstance(node.ctx, ast.Store):
            node.__class__ = ast.Tuple
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [plain_assignment(item) for item in value])
    return Normalised().visit(function)


def without_trace(statement):
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    bare = isinstance(statement, ast.AnnAssign) and statement.value is None
    return constant or bare or isinstance(statement, (ast.Pass,) + DEFINITIONS)


def plain_assignment(node):
    return ast.Assign([node.target], node.value) if isinstance(node, ast.AnnAssign) else node


def functions(tree):
    """{(qualified name, how many of that name came before): function}; other trees than functions
    are not in it.
    """
    found, stack = {}, [(tree, "")]
    while stack:
        node, prefix = stack.pop()
        for child in reversed(list(ast.iter_child_nodes(node))):
            name = prefix
            if isinstance(child, DEFINITIONS):
                name = prefix + "." + child.name
                if not isinstance(child, ast.ClassDef):
                    number = 0
                    while (name, number) in found:
                        number += 1
                    found[name, number] = child
            stack.append((child, name))
    return found


def difference(one, other):
    """None, or how the two trees first part."""
    if type(one) is not type(other):
        return "%s became %s" % (type(one).__name__, type(other).__name__)
    if isinstance(one, list):
        for pair in zip(one, other):
            found = difference(*pair)
            if found:
                return found
        if len(one) != len(other):
            longer, word = (one, "lost") if len(one) > len(other) else (other, "added")
            return "%s %s" % (type(longer[min(len(one), len(other))]).__name__, word)
        return None
    if isinstance(one, ast.AST):
        for field in one._fields:
            if field not in IGNORED_FIELDS:
                found = difference(getattr(one, field, None), getattr(other, field, None))
                if found:
                    return (
                        "%s.%s: %s" % (type(one).__name__, field, found)
                        if ": " not in found
                        else found
                    )
        return None
    return None if one == other else "another %s" % type(one).__name__


def sources(top):
    """Paths of the files with source below `top`, without tests."""
    for folder, names, files in os.walk(top):
        names[:] = sorted(name for name in names if name not in LEFT_OUT)
        for name in sorted(files):
            if name.endswith(".py"):
                yield os.path.join(folder, name)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--depyf", default=os.path.join(root, "build", "depyf"), help="the native command"
    )
    parser.add_argument("--files", type=int, default=120, help="how many files (default: 120)")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument(
        "--show", type=int, default=20, help="how many kinds of differences (default: 20)"
    )
    parser.add_argument("folder", nargs="?", help="where the files are (default: the library)")
    options = parser.parse_args()
    files = sorted(sources(options.folder or os.path.dirname(os.__file__)))
    files = random.Random(options.seed).sample(files, min(options.files, len(files)))
    total, equal, kinds = 0, 0, collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "module.pyc")
        for path in files:
            with open(path, encoding="utf-8", errors="replace") as file:
                source = file.read()
            try:
                py_compile.compile(path, target, doraise=True)
                written = functions(ast.parse(source))
            except (py_compile.PyCompileError, SyntaxError, ValueError):
                continue
            made = subprocess.run(
                [options.depyf, "decompile", "--no-check", target],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                universal_newlines=True,
            )
            restored = functions(ast.parse(made.stdout))
            for key, function in written.items():
                total += 1
                other = restored.get(key)
                kind = (
                    "function lost"
                    if other is None
                    else difference(normalised(function), normalised(other))
                )
                if kind is None:
                    equal += 1
                else:
                    kinds[kind].append(
                        "%s:%d %s" % (os.path.basename(path), function.lineno, key[0].lstrip("."))
                    )
    print(
        "Python %d.%d, %d files (seed %d): %d of %d functions have the tree of their source (%.2f %%)"
        % (
            sys.version_info[0],
            sys.version_info[1],
            len(files),
            options.seed,
            equal,
            total,
            100.0 * equal / max(total, 1),
        )
    )
    for kind, places in sorted(kinds.items(), key=lambda item: -len(item[1]))[: options.show]:
        print("%5d  %s  (%s)" % (len(places), kind, places[0]))


if __name__ == "__main__":
    main()
