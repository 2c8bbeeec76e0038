"""The judge itself: it must see every mutant, and must not see layout."""
import ast
import copy
import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import judge  # noqa: E402

SOURCE = '''
import os

class C(object):
    """A class."""
    x = 0.0

    def m(self, a, b=1, *args, k=None, **kw):
        """A method."""
        total = 0
        for i in range(a):
            if i < b and a:
                total += i
            elif i == 3:
                continue
            else:
                break
        try:
            os.stat(total - b)
        except ValueError as error:
            print(error, 1)
        finally:
            print(b, a)
        with open("x") as f:
            f.read()
        return [y for y in args if y], lambda: (total, kw["k"])
'''


def pairs(left, right):
    a = judge.code_objects(compile(left, "a", "exec", dont_inherit=True))
    b = dict(judge.code_objects(compile(right, "b", "exec", dont_inherit=True)))
    return [(code, b.get(path)) for path, code in a], b


def lenient(left, right):
    a, b = pairs(left, right)
    return len(a) == len(b) and all(other is not None and judge.compare_code(code, other)[1] for code, other in a)


def mutants():
    """Each changes one node of SOURCE in one way that changes what the program does."""
    class Mutate(ast.NodeTransformer):
        def __init__(self, wanted):
            self.wanted, self.count, self.name = wanted, 0, None

        def hit(self, name):
            self.count += 1
            if self.count - 1 == self.wanted:
                self.name = name
                return True
            return False

        def generic_visit(self, node):
            super(Mutate, self).generic_visit(node)
            if isinstance(node, ast.Constant) and node.value is not None:
                docstring = isinstance(node.value, str) and "." in node.value
                if self.hit("docstring" if docstring else "constant"):
                    value = {int: 7, float: -0.0, str: "other"}[type(node.value)]
                    return ast.copy_location(ast.Constant(value=value), node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and self.hit("name"):
                return ast.copy_location(ast.Name(id=node.id + "_", ctx=node.ctx), node)
            elif isinstance(node, ast.BinOp) and self.hit("operands"):
                node.left, node.right = node.right, node.left
            elif isinstance(node, ast.Compare) and self.hit("comparison"):
                node.ops = [ast.GtE()]
            elif isinstance(node, ast.BoolOp) and self.hit("and for or"):
                node.op = ast.Or()
            elif isinstance(node, ast.If) and self.hit("branches"):
                node.body, node.orelse = node.orelse, node.body
            elif isinstance(node, ast.Continue) and self.hit("continue"):
                return ast.copy_location(ast.Break(), node)
            elif isinstance(node, ast.Try) and self.hit("finally"):
                node.body, node.finalbody = node.body + node.finalbody, []
            elif isinstance(node, ast.Call) and len(node.args) == 2 and self.hit("arguments"):
                node.args.reverse()
            elif isinstance(node, ast.arg) and node.arg == "k" and self.hit("parameter"):
                node.arg = "q"
            elif isinstance(node, ast.For) and self.hit("iterable"):
                node.iter = ast.copy_location(ast.Name(id="a", ctx=ast.Load()), node)
            elif isinstance(node, ast.Return) and self.hit("return"):
                node.value = None
            return node

    tree, number = ast.parse(SOURCE), 0
    while True:
        mutate = Mutate(number)
        mutant = mutate.visit(copy.deepcopy(tree))
        if mutate.name is None:
            return
        yield "%d %s" % (number, mutate.name), ast.fix_missing_locations(mutant)
        number += 1


@pytest.mark.skipif(sys.version_info < (3, 8), reason="the mutants are written for the ast of 3.8 and later")
def test_every_mutant_is_seen():
    seen = 0
    for name, mutant in mutants():
        assert not lenient(SOURCE, mutant), "mutant %s compares equal" % name
        seen += 1
    assert seen > 40


def test_the_same_source_is_strictly_equal():
    a, _ = pairs(SOURCE, SOURCE)
    assert all(judge.compare_code(code, code)[0] for code, _ in a)


@pytest.mark.parametrize("left, right", [
    ("x = [1,\n 2]\ny = (\n3)\n", "x = [1, 2]; y = 3"),
    ("def f(a):\n    if a:\n        return 1\n    else:\n        return 2\n", "def f(a):\n    if not a:\n        return 2\n    return 1\n"),
    ("def f(a):\n    while a:\n        if a.b:\n            continue\n        a()\n", "def f(a):\n    while a:\n        if not a.b:\n            a()\n"),
    ("def f():\n    return\n    print(1)\n", "def f():\n    pass\n"),
])
def test_layout_is_not_seen(left, right):
    assert lenient(left, right)


@pytest.mark.parametrize("left, right", [
    ("x = 0.0", "x = -0.0"), ("x = 1", "x = True"), ("x = 1", "x = 1.0"), ("x = (0.0,)", "x = (-0.0,)"), ("x = 'a'", "x = b'a'"),
    ("x = 0j", "x = -0j"),
    ("def f(a): pass", "def f(b): pass"), ("def f(): 'a'", "def f(): 'b'"), ("def f(): pass", "def f(): yield"),
    ("def f(): pass", "async def f(): pass"), ("f = lambda: 1", "f = lambda: 2"),
    ("while True: pass", "pass"),
])
def test_small_differences_are_seen(left, right):
    assert not lenient(left, right)
