"""Writes pairs of .pyc files, an original and a mutant of it; runs under each CPython 3.7 to 3.15.

    python mutants.py mutate FOLDER SEED PER_FILE FILE...
            mutants of the source and of the bytecode
    python mutants.py unparse FOLDER 0 0 FILE...
            the original and what compiles from ast.unparse of it (3.9+)

One JSON line for each pair: {"kind", "a", "b", "where", "judge": what tests/judge.py says}.
"""

import ast
import copy
import importlib.util
import json
import marshal
import os
import random
import sys
import types
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import dis

import judge

VERSION = sys.version_info[:2]
TAKES_OPERAND = set(getattr(dis, "hasarg", ())) or set(range(dis.HAVE_ARGUMENT, 256))
COMPARE = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
BODIES = ("body", "orelse", "finalbody")
CONSTANTS = (
    (ast.Constant,) if VERSION >= (3, 8) else (ast.Num, ast.Str, ast.Bytes, ast.NameConstant)
)
NAMED = getattr(ast, "NamedExpr", ())
MATCH_CASE = getattr(ast, "match_case", ())


def constant_of(node):
    for field in ("value", "n", "s"):
        if hasattr(node, field):
            return field, getattr(node, field)
    return None, None


# ---------------------------------------------------------------- mutants of the source
def sites(tree):
    """(node, kind) for each place where a mutation is possible."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield node, "comparison"
            if len(node.ops) == 1:
                yield node, "compared operands swapped"
        elif isinstance(node, ast.BoolOp):
            yield node, "and/or"
            yield node, "and/or operands swapped"
        elif isinstance(node, ast.If):
            if node.orelse:
                yield node, "arms swapped"
            yield node, "condition negated"
        elif isinstance(node, ast.IfExp):
            yield node, "arms swapped"
        elif isinstance(node, ast.Break):
            yield node, "break becomes continue"
        elif isinstance(node, ast.Continue):
            yield node, "continue becomes break"
        elif isinstance(node, ast.arguments):
            if node.defaults:
                yield node, "default"
            if len(node.defaults) > 1:
                yield node, "defaults swapped"
            if node.args:
                yield node, "argument renamed"
            if len(node.args) > 1:
                yield node, "argument order"
            if node.kw_defaults and node.kw_defaults[-1] is not None:
                yield node, "keyword default"
            if node.kwonlyargs:
                yield node, "keyword-only becomes positional"
        elif isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
                yield node, "operator"
            yield node, "operands swapped"
        elif isinstance(node, ast.UnaryOp):
            yield node, "unary operator dropped"
        elif isinstance(node, ast.Attribute):
            yield node, "attribute renamed"
        elif isinstance(node, ast.Name):
            yield node, "name renamed"
        elif isinstance(node, CONSTANTS):
            yield node, "constant"
            yield node, "constant's type"
        elif isinstance(node, ast.Call):
            if len(node.args) > 1:
                yield node, "arguments swapped"
            if any(isinstance(a, ast.Starred) for a in node.args):
                yield node, "star dropped"
            if node.keywords:
                yield node, "keyword renamed"
            if len(node.keywords) > 1:
                yield node, "keyword order"
            if node.args:
                yield node, "argument dropped"
        elif isinstance(node, ast.Subscript):
            yield node, "subscript swapped"
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            if len(node.elts) > 1:
                yield node, "items swapped"
            yield node, "container"
        elif isinstance(node, ast.Dict) and len(node.keys) > 1:
            yield node, "items swapped"
        elif isinstance(node, ast.comprehension):
            if node.ifs:
                yield node, "condition dropped"
        elif isinstance(node, ast.GeneratorExp):
            yield node, "generator becomes list"
        elif isinstance(node, ast.ListComp):
            yield node, "list becomes set"
        elif isinstance(node, ast.FormattedValue):
            yield node, "conversion"
        elif isinstance(node, ast.Yield):
            yield node, "yield dropped"
        elif isinstance(node, ast.Await):
            yield node, "await dropped"
        elif isinstance(node, ast.YieldFrom):
            yield node, "yield from becomes yield"
        elif NAMED and isinstance(node, NAMED):
            yield node, "walrus dropped"
        elif isinstance(node, ast.AugAssign):
            yield node, "augmented operator"
            yield node, "augmented becomes plain"
        elif isinstance(node, ast.Return):
            yield node, "returned value"
        elif isinstance(node, ast.Raise):
            if node.cause is not None:
                yield node, "cause dropped"
            if node.exc is not None:
                yield node, "raise again"
        elif isinstance(node, ast.ExceptHandler):
            if node.type is not None:
                yield node, "exception type"
            if node.name:
                yield node, "exception name"
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield node, "declaration dropped"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, "import renamed"
            if isinstance(node, ast.ImportFrom):
                yield node, "import level"
        elif isinstance(node, ast.Delete):
            yield node, "del dropped"
        elif MATCH_CASE and isinstance(node, MATCH_CASE):
            if node.guard is not None:
                yield node, "condition dropped"
        if isinstance(node, ast.Try):
            if len(node.handlers) > 1:
                yield node, "handlers swapped"
            if node.finalbody:
                yield node, "finally dropped"
            if len(node.body) > 1:
                yield node, "statement moved out of try"
        if isinstance(node, (ast.With, ast.AsyncWith)):
            yield node, "with dropped"
            if len(node.items) > 1:
                yield node, "items swapped"
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.decorator_list:
                yield node, "decorator dropped"
            yield node, "docstring"
            yield node, "definition renamed"
        if isinstance(node, ast.FunctionDef):
            yield node, "becomes async"
        if isinstance(node, ast.ClassDef) and len(node.bases) > 1:
            yield node, "bases swapped"
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            yield node, "else dropped"
        for field in BODIES:
            body = getattr(node, field, None)
            if isinstance(body, list) and len(body) > 1 and isinstance(body[0], ast.stmt):
                yield node, "statement dropped " + field
                yield node, "statements swapped " + field
                yield node, "statement repeated " + field


def mutate(node, kind, rnd):
    """Changes `node` in place; True when there was something to change."""

    def swap(items):
        i = rnd.randrange(len(items) - 1)
        items[i], items[i + 1] = items[i + 1], items[i]

    def name():
        return ast.copy_location(ast.Name("mutant", ast.Load()), node)

    def become(other):
        node.__class__ = other.__class__
        node.__dict__ = dict(ast.copy_location(other, node).__dict__)

    field = kind.rpartition(" ")[2]
    if kind == "comparison":
        node.ops[0] = COMPARE[type(node.ops[0])]()
    elif kind == "compared operands swapped":
        node.left, node.comparators[0] = node.comparators[0], node.left
    elif kind == "and/or":
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif kind == "and/or operands swapped":
        swap(node.values)
    elif kind == "arms swapped":
        node.body, node.orelse = node.orelse, node.body
    elif kind == "condition negated":
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    elif kind == "break becomes continue":
        node.__class__ = ast.Continue
    elif kind == "continue becomes break":
        node.__class__ = ast.Break
    elif kind == "default":
        node.defaults[-1] = ast.copy_location(ast.Name("mutant", ast.Load()), node.defaults[-1])
    elif kind == "defaults swapped":
        swap(node.defaults)
    elif kind == "argument renamed":
        rnd.choice(node.args).arg += "_m"
    elif kind == "argument order":
        swap(node.args)
    elif kind == "keyword default":
        node.kw_defaults[-1] = None
    elif kind == "keyword-only becomes positional":
        if node.vararg or len(node.defaults) and node.kw_defaults[0] is None:
            return False
        node.args.append(node.kwonlyargs.pop(0))
        default = node.kw_defaults.pop(0)
        if default is not None:
            node.defaults.append(default)
    elif kind == "operator":
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif kind == "operands swapped":
        node.left, node.right = node.right, node.left
    elif kind == "unary operator dropped":
        become(node.operand)
    elif kind == "attribute renamed":
        node.attr += "_m"
    elif kind == "name renamed":
        node.id += "_m"
    elif kind == "constant":
        field, value = constant_of(node)
        if isinstance(value, bool) or value is None:
            changed = {True: False, False: True, None: True}[value]
        elif isinstance(value, (int, complex)):
            changed = value + 1
        elif isinstance(value, float):
            changed = -0.0 if value == 0 else value * 2
        elif isinstance(value, str):
            changed = value + "m"
        elif isinstance(value, bytes):
            changed = value + b"m"
        else:
            changed = 0
        setattr(node, field, changed)
    elif kind == "constant's type":
        field, value = constant_of(node)
        if VERSION < (3, 8):
            return False
        if isinstance(value, bool):
            node.value = int(value)
        elif isinstance(value, int):
            node.value = (
                bool(value) if value in (0, 1) else float(value) if value < 2**50 else value + 1
            )
        elif isinstance(value, float):
            node.value = (
                int(value)
                if value == value and abs(value) < 1e15 and value == int(value)
                else complex(value)
            )
        elif isinstance(value, str) and value.isascii() if hasattr(str, "isascii") else False:
            node.value = value.encode()
        elif isinstance(value, bytes):
            node.value = value.decode("latin-1")
        else:
            return False
    elif kind in ("arguments swapped",):
        swap(node.args)
    elif kind == "star dropped":
        for i, item in enumerate(node.args):
            if isinstance(item, ast.Starred):
                node.args[i] = item.value
                break
    elif kind == "keyword renamed":
        keyword = rnd.choice(node.keywords)
        if keyword.arg is None:
            return False
        keyword.arg += "_m"
    elif kind == "keyword order":
        swap(node.keywords)
    elif kind == "argument dropped":
        del node.args[rnd.randrange(len(node.args))]
    elif kind == "subscript swapped":
        if not isinstance(node.ctx, ast.Load) or isinstance(
            node.slice, (getattr(ast, "ExtSlice", ()), ast.Slice)
        ):
            return False
        inner = (
            node.slice.value
            if VERSION < (3, 9) and isinstance(node.slice, ast.Index)
            else node.slice
        )
        if not isinstance(inner, ast.expr):
            return False
        outer, node.value = node.value, inner
        node.slice = ast.Index(outer) if VERSION < (3, 9) else outer
    elif kind == "items swapped":
        items = getattr(node, "elts", None) or getattr(node, "items", None)
        if items is None:
            i = rnd.randrange(len(node.keys) - 1)
            node.keys[i], node.keys[i + 1] = node.keys[i + 1], node.keys[i]
        else:
            swap(items)
    elif kind == "container":
        node.__class__ = {ast.Tuple: ast.List, ast.List: ast.Tuple, ast.Set: ast.List}[type(node)]
        node.ctx = ast.Load()
    elif kind == "condition dropped":
        if hasattr(node, "ifs"):
            node.ifs.pop()
        else:
            node.guard = None
    elif kind == "generator becomes list":
        node.__class__ = ast.ListComp
    elif kind == "list becomes set":
        node.__class__ = ast.SetComp
    elif kind == "conversion":
        node.conversion = 114 if node.conversion != 114 else -1
    elif kind in ("yield dropped", "await dropped"):
        become(node.value or name())
    elif kind == "yield from becomes yield":
        node.__class__ = ast.Yield
    elif kind == "walrus dropped":
        become(node.value)
    elif kind == "augmented operator":
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif kind == "augmented becomes plain":
        target = copy.deepcopy(node.target)
        for part in ast.walk(target):
            if isinstance(getattr(part, "ctx", None), ast.Store):
                part.ctx = ast.Load()
        become(
            ast.Assign(
                [node.target],
                ast.copy_location(ast.BinOp(target, node.op, node.value), node),
                lineno=1,
            )
        )
    elif kind == "returned value":
        node.value = name()
    elif kind == "cause dropped":
        node.cause = None
    elif kind == "raise again":
        node.exc = node.cause = None
    elif kind == "exception type":
        node.type = name()
    elif kind == "exception name":
        node.name += "_m"
    elif kind in ("declaration dropped", "del dropped"):
        become(ast.Pass())
    elif kind == "import renamed":
        alias = rnd.choice(node.names)
        if alias.name == "*":
            return False
        alias.name += "_m"
    elif kind == "import level":
        node.level = (node.level or 0) + 1
    elif kind == "handlers swapped":
        swap(node.handlers)
    elif kind == "finally dropped":
        if not node.handlers:
            return False
        node.finalbody = []
    elif kind == "statement moved out of try":
        if not node.handlers:
            return False
        node.orelse.insert(0, node.body.pop())
    elif kind == "with dropped":
        become(ast.If(node.items[0].context_expr, node.body, []))
    elif kind == "decorator dropped":
        node.decorator_list.pop()
    elif kind == "docstring":
        text = ast.Str("mutant") if VERSION < (3, 8) else ast.Constant("mutant")
        if ast.get_docstring(node, clean=False) is not None:
            node.body[0].value = ast.copy_location(text, node.body[0])
        else:
            node.body.insert(
                0, ast.copy_location(ast.Expr(ast.copy_location(text, node.body[0])), node.body[0])
            )
    elif kind == "definition renamed":
        node.name += "_m"
    elif kind == "becomes async":
        node.__class__ = ast.AsyncFunctionDef
    elif kind == "bases swapped":
        swap(node.bases)
    elif kind == "else dropped":
        node.orelse = []
    elif kind.startswith("statement dropped"):
        body = getattr(node, field)
        del body[rnd.randrange(len(body))]
    elif kind.startswith("statements swapped"):
        swap(getattr(node, field))
    elif kind.startswith("statement repeated"):
        body = getattr(node, field)
        i = rnd.randrange(len(body))
        body.insert(i, body[i])
    else:
        raise AssertionError(kind)
    return True


def source_mutants(source, path, count, rnd):
    tree = ast.parse(source)
    found = list(sites(tree))
    by_kind = {}
    for i, (_, kind) in enumerate(found):
        by_kind.setdefault(kind, []).append(i)
    kinds = sorted(by_kind)
    for _ in range(count if kinds else 0):
        # By kind, so that rare ones get their share.
        i = rnd.choice(by_kind[rnd.choice(kinds)])
        mutant = copy.deepcopy(tree)
        node, kind = list(sites(mutant))[i]
        line = getattr(node, "lineno", 0)
        try:
            if not mutate(node, kind, rnd):
                continue
            yield (
                "source: " + kind,
                line,
                compile(ast.fix_missing_locations(mutant), path, "exec", dont_inherit=True),
            )
        except (SyntaxError, ValueError, TypeError, RecursionError, AttributeError, KeyError):
            continue


# ---------------------------------------------------------------- mutants of the bytecode
def replace(code, **changes):
    if hasattr(code, "replace"):
        return code.replace(**changes)
    fields = [
        "argcount",
        "kwonlyargcount",
        "nlocals",
        "stacksize",
        "flags",
        "code",
        "consts",
        "names",
        "varnames",
        "filename",
        "name",
        "firstlineno",
        "lnotab",
        "freevars",
        "cellvars",
    ]
    return types.CodeType(
        *[changes.get("co_" + field, getattr(code, "co_" + field)) for field in fields]
    )


def codes(code):
    """Paths of constants' numbers to each code object."""
    work = [(code, ())]
    while work:
        code, path = work.pop()
        yield code, path
        for i, constant in enumerate(code.co_consts):
            if isinstance(constant, types.CodeType):
                work.append((constant, path + (i,)))


def put(root, path, code):
    if not path:
        return code
    consts = list(root.co_consts)
    consts[path[0]] = put(consts[path[0]], path[1:], code)
    return replace(root, co_consts=tuple(consts))


def instructions(code):
    """(offset, name) of each instruction that is no cache and no prefix."""
    for at in range(0, len(code.co_code), 2):
        name = dis.opname[code.co_code[at]]
        if name not in ("CACHE", "EXTENDED_ARG"):
            yield at, name


def patched(code, changes):
    raw = bytearray(code.co_code)
    for offset, byte in changes.items():
        raw[offset] = byte
    return replace(code, co_code=bytes(raw))


def changed_constant(value, rnd):
    if value is None:
        return False
    if value is True:
        return 1
    if value is False:
        return 0
    if type(value) is int:
        return rnd.choice([value + 1, float(value)]) if abs(value) < 2**50 else value + 1
    if type(value) is float:
        return -value if value == 0 else rnd.choice([value * 2, complex(value)])
    if type(value) is str:
        return value + "m"
    if type(value) is bytes:
        return value + b"m"
    if type(value) is tuple:
        if not value:
            return (None,)
        i = rnd.randrange(len(value))
        if isinstance(value[i], types.CodeType):
            return None
        return value[:i] + (changed_constant(value[i], rnd),) + value[i + 1 :]
    if type(value) is frozenset:
        return value | {"mutant"}
    return None


SWITCHES = [
    ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"),
    ("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE"),
    ("POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE"),
    ("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
    ("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE"),
    ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"),
    ("LOAD_FAST", "LOAD_FAST_CHECK"),
    ("STORE_FAST", "DELETE_FAST"),
    ("STORE_NAME", "STORE_GLOBAL"),
    ("LOAD_NAME", "LOAD_GLOBAL"),
    ("BINARY_ADD", "BINARY_SUBTRACT"),
    ("BINARY_SUBSCR", "BINARY_ADD"),
    ("INPLACE_ADD", "BINARY_ADD"),
    ("BUILD_TUPLE", "BUILD_LIST"),
    ("BUILD_LIST", "BUILD_SET"),
    ("LIST_EXTEND", "LIST_APPEND"),
    ("SET_UPDATE", "SET_ADD"),
    ("DICT_MERGE", "DICT_UPDATE"),
    ("GET_ITER", "UNARY_INVERT"),
    ("UNARY_NEGATIVE", "UNARY_INVERT"),
    ("UNARY_NOT", "UNARY_NEGATIVE"),
    ("YIELD_VALUE", "UNARY_INVERT"),
    ("STORE_GLOBAL", "STORE_NAME"),
    ("LOAD_DEREF", "LOAD_CLASSDEREF"),
    ("END_ASYNC_FOR", "RERAISE"),
    ("POP_EXCEPT", "NOP"),
    ("POP_EXCEPT", "POP_TOP"),
    ("PUSH_EXC_INFO", "NOP"),
    ("DELETE_FAST", "NOP"),
    ("DELETE_NAME", "NOP"),
    ("SETUP_FINALLY", "NOP"),
    ("POP_BLOCK", "NOP"),
    ("SWAP", "NOP"),
    ("ROT_TWO", "NOP"),
    ("GET_AWAITABLE", "NOP"),
    ("GET_YIELD_FROM_ITER", "GET_ITER"),
    ("SETUP_ANNOTATIONS", "NOP"),
    ("RETURN_GENERATOR", "NOP"),
    ("LOAD_METHOD", "LOAD_ATTR"),
    ("END_FINALLY", "POP_TOP"),
    ("BEFORE_WITH", "GET_ITER"),
    ("TO_BOOL", "NOP"),
    ("TO_BOOL", "UNARY_NOT"),
    ("LIST_TO_TUPLE", "NOP"),
    ("COPY_FREE_VARS", "NOP"),
    ("MAKE_CELL", "NOP"),
    ("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE"),
    ("POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_NONE"),
    ("LOAD_FAST_BORROW", "LOAD_FAST"),
    ("CHECK_EXC_MATCH", "IS_OP"),
    ("CLEANUP_THROW", "NOP"),
    ("SEND", "FOR_ITER"),
    ("STORE_SUBSCR", "DELETE_SUBSCR"),
    ("LOAD_FAST_AND_CLEAR", "LOAD_FAST"),
    ("WITH_EXCEPT_START", "GET_LEN"),
    ("NOT_TAKEN", "NOP"),
    ("POP_ITER", "POP_TOP"),
    ("END_FOR", "POP_TOP"),
    ("END_SEND", "POP_TOP"),
    ("POP_TOP", "NOP"),
    ("INTERPRETER_EXIT", "NOP"),
    ("WITH_CLEANUP_START", "NOP"),
    ("BEGIN_FINALLY", "NOP"),
    ("POP_FINALLY", "NOP"),
    ("BREAK_LOOP", "NOP"),
]


def bytecode_mutants(root, count, rnd):
    everything = list(codes(root))
    switches = {}
    for name, other in SWITCHES:
        if name in dis.opmap and other in dis.opmap:
            switches.setdefault(name, []).append(other)
    for _ in range(count):
        code, path = rnd.choice(everything)
        found = list(instructions(code))
        kind, changed = "nothing", None
        choice = rnd.randrange(16)
        at, name = rnd.choice(found)
        op, arg = code.co_code[at], code.co_code[at + 1]
        if choice <= 4:  # another operand
            delta = rnd.choice([1, -1, 2, 1, -1])
            if op in TAKES_OPERAND and 0 <= arg + delta < 256:
                kind, changed = "operand of " + name, patched(code, {at + 1: arg + delta})
        elif choice <= 8:  # another operation
            places = [(at, name) for at, name in found if name in switches]
            if places:
                # By name, so that rare ones get their share.
                name = rnd.choice(sorted({name for _, name in places}))
                at = rnd.choice([at for at, other in places if other == name])
                other = rnd.choice(switches[name])
                kind, changed = (
                    "%s becomes %s" % (name, other),
                    patched(code, {at: dis.opmap[other]}),
                )
        elif choice == 9 and len(code.co_consts) > 0:
            i = rnd.randrange(len(code.co_consts))
            if not isinstance(code.co_consts[i], types.CodeType):
                consts = (
                    code.co_consts[:i]
                    + (changed_constant(code.co_consts[i], rnd),)
                    + code.co_consts[i + 1 :]
                )
                kind, changed = "constant", replace(code, co_consts=consts)
        elif choice == 10:  # a name
            field = rnd.choice(
                ["co_names", "co_varnames", "co_cellvars", "co_freevars", "co_name", "co_qualname"]
            )
            value = getattr(code, field, ())
            if isinstance(value, str):
                kind, changed = field, replace(code, **{field: value + "_m"})
            elif value:
                i = rnd.randrange(len(value))
                kind, changed = (
                    field,
                    replace(code, **{field: value[:i] + (value[i] + "_m",) + value[i + 1 :]}),
                )
        elif choice == 11:  # flags
            bit = rnd.choice([0x4, 0x8, 0x10, 0x20, 0x80, 0x100, 0x200, 0x1000000])
            try:
                kind, changed = "flag %#x" % bit, replace(code, co_flags=code.co_flags ^ bit)
            except ValueError:
                pass
        elif choice == 12 and getattr(code, "co_exceptiontable", b""):
            table = bytearray(code.co_exceptiontable)
            i = rnd.randrange(len(table))
            table[i] = (table[i] & 0xC0) | ((table[i] + rnd.choice([1, -1, 2])) & 0x3F)
            kind, changed = "exception table", replace(code, co_exceptiontable=bytes(table))
        elif choice == 13 and getattr(code, "co_exceptiontable", b""):
            kind, changed = "exception table dropped", replace(code, co_exceptiontable=b"")
        elif choice == 14 and len(found) > 2:  # two neighbours change places
            i = rnd.randrange(len(found) - 1)
            (at, first), (after, second) = found[i], found[i + 1]
            if after == at + 2:
                raw = code.co_code
                kind = "%s and %s change places" % (first, second)
                changed = patched(
                    code,
                    {
                        at: raw[after],
                        at + 1: raw[after + 1],
                        after: raw[at],
                        after + 1: raw[at + 1],
                    },
                )
        elif choice == 15:
            field = rnd.choice(["co_argcount", "co_kwonlyargcount", "co_posonlyargcount"])
            if hasattr(code, field):
                try:
                    kind, changed = (
                        field,
                        replace(
                            code, **{field: max(0, getattr(code, field) + rnd.choice([1, -1]))}
                        ),
                    )
                except (ValueError, SystemError):
                    pass
        if changed is None or changed == code and kind != "constant":
            continue
        try:
            yield "bytecode: " + kind, code.co_name, put(root, path, changed)
        except (ValueError, SystemError):
            continue


# ---------------------------------------------------------------- files
def judged(original, other):
    """{path: "strict", "lenient" or "different"} for each code object; "+" is there when `other`
    has more.
    """
    mine, theirs = dict(judge.code_objects(original)), dict(judge.code_objects(other))
    out = {} if set(theirs) <= set(mine) else {"+": "different"}
    for path, code in mine.items():
        strict, lenient = (
            judge.compare_code(code, theirs[path])[:2] if path in theirs else (False, False)
        )
        out[path] = "strict" if strict else "lenient" if lenient else "different"
    return out


def accepts(original, other):
    """The whole tree is leniently equal. Code that cannot be decoded is equal to nothing."""
    try:
        return "different" not in judged(original, other).values()
    except (IndexError, KeyError, RuntimeError, ValueError):
        return False


def write_pyc(path, code):
    with open(path, "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + b"\0" * 12 + marshal.dumps(code))


def main():
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(5000)
    what, folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    for number, path in enumerate(sys.argv[5:]):
        rnd = random.Random("%d %s" % (seed, os.path.basename(path)))
        with open(path, "rb") as file:
            source = file.read()
        try:
            original = compile(ast.parse(source), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        a = os.path.join(folder, "%d.pyc" % number)
        write_pyc(a, original)
        if what == "unparse":
            try:
                other = compile(ast.unparse(ast.parse(source)), path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                continue
            b = os.path.join(folder, "%d.unparse.pyc" % number)
            write_pyc(b, other)
            print(
                json.dumps(
                    {
                        "kind": "unparse",
                        "a": a,
                        "b": b,
                        "where": path,
                        "judge": judged(original, other),
                    }
                ),
                flush=True,
            )
            continue
        n = 0
        half = count // 2
        for mutants in (
            source_mutants(source, path, half, rnd),
            bytecode_mutants(original, count - half, rnd),
        ):
            for kind, where, mutant in mutants:
                b = os.path.join(folder, "%d.%d.pyc" % (number, n))
                n += 1
                try:
                    write_pyc(b, mutant)
                except ValueError:
                    continue
                print(
                    json.dumps(
                        {
                            "kind": kind,
                            "a": a,
                            "b": b,
                            "where": "%s:%s" % (path, where),
                            "judge": accepts(original, mutant),
                        }
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
