"""Makes models break their graphs: rewrites the source of modelling code while it is imported.

Two forms. `statements`: a graph break after every statement of every `forward`. `operands`: every
call in a `forward` hands its result through a function that breaks the graph, so that Dynamo leaves
the frame with half-evaluated expressions on the stack. Nothing on disk changes.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys

FORMS = ("statements", "operands")
MODELLING = re.compile(r"transformers\.models\..*\.modeling_\w+|timm\.(models|layers)\..*")

_PRELUDE = """
from torch._dynamo import graph_break as _bench_break
def _bench_pass(value):
    _bench_break()
    return value
"""
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_DECLARATIONS = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)


class _Statements(ast.NodeTransformer):
    """`_bench_break()` after each statement of a function's body, at every level of nesting."""

    def visit_body(self, statements):
        found = []
        for statement in statements:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.append(statement)
                continue
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and inner:
                    setattr(statement, name, self.visit_body(inner))
            for handler in getattr(statement, "handlers", ()):
                handler.body = self.visit_body(handler.body)
            found.append(statement)
            docstring = isinstance(statement, ast.Expr) and isinstance(
                statement.value, ast.Constant
            )
            if not docstring and not isinstance(statement, _ENDS + _DECLARATIONS):
                call = ast.parse("_bench_break()").body[0]
                for node in ast.walk(call):
                    ast.copy_location(node, statement)
                found.append(call)
        return found


class _Operands(ast.NodeTransformer):
    """`f(x)` becomes `_bench_pass(f(x))`, but for `super()`."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "locals",
            "isinstance",
            "len",
        ):
            return node
        name = ast.copy_location(ast.Name("_bench_pass", ast.Load()), node)
        return ast.copy_location(ast.Call(name, [node], []), node)

    def visit_FunctionDef(self, node):
        return node

    visit_Lambda = visit_FunctionDef


def broken(text, path, form):
    """The syntax tree of a module's text with breaks in each method `forward`."""
    tree = ast.parse(text, path)
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        for function in owner.body:
            if isinstance(function, ast.FunctionDef) and function.name == "forward":
                if form == "statements":
                    function.body = _Statements().visit_body(function.body)
                else:
                    transformer = _Operands()
                    function.body = [transformer.visit(one) for one in function.body]
    start = 0 if ast.get_docstring(tree, clean=False) is None else 1
    for number, statement in enumerate(tree.body):
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            start = number + 1
    tree.body[start:start] = ast.parse(_PRELUDE).body
    return ast.fix_missing_locations(tree)


class _Loader(importlib.machinery.SourceFileLoader):
    form = "statements"

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        text = importlib.util.decode_source(self.get_data(path))
        return compile(broken(text, path, self.form), path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, form):
        self.form = form

    def find_spec(self, name, path=None, target=None):
        if not MODELLING.fullmatch(name):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return spec
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        spec.loader.form = self.form
        return spec


def put_up(form):
    """Modelling code that is imported from now on breaks its graphs in that form."""
    sys.meta_path.insert(0, _Finder(form))
