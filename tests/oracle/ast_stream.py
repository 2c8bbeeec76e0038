"""Sends the syntax trees of Python files through the C++ printer and compares what comes back.

Runs under any CPython from 3.7 on: the interpreter's own parser is the oracle. Each tree is written
as a stream of numbered strings, constants, expressions and statements that `depyf_print_oracle`
builds an Ast from; the printed text is parsed again and the two trees must be equal.

    python3.X ast_stream.py ORACLE FILES...       ORACLE is the program depyf_print_oracle
"""

import ast
import os
import struct
import subprocess
import sys
import tempfile

BINARY = [
    "Add",
    "BitAnd",
    "FloorDiv",
    "LShift",
    "MatMult",
    "Mult",
    "Mod",
    "BitOr",
    "Pow",
    "RShift",
    "Sub",
    "Div",
    "BitXor",
]
UNARY = ["Invert", "Not", "UAdd", "USub"]
COMPARE = ["Lt", "LtE", "Eq", "NotEq", "Gt", "GtE", "Is", "IsNot", "In", "NotIn"]
CONVERSION = {-1: 0, 115: 1, 114: 2, 97: 3}


class Stream:
    def __init__(self):
        self.lines = []
        self.strings = {}
        self.counts = {"K": 0, "E": 0, "T": 0, "F": 0, "P": 0}

    def emit(self, kind, *fields):
        self.lines.append(kind + " " + " ".join(str(f) for f in fields))
        self.counts[kind] += 1
        return self.counts[kind] - 1

    def string(self, text):
        if text is None:
            return -1
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.lines.append("S " + text.encode("utf-8", "surrogatepass").hex())
        return self.strings[text]

    def constant(self, value):
        kind = type(value)
        if value is None or value is True or value is False:
            return self.emit("K", str(value))
        if value is Ellipsis:
            return self.emit("K", "Ellipsis")
        if kind is int:
            return self.emit("K", "Int", "%x" % value)
        if kind is float:
            return self.emit("K", "Float", struct.pack(">d", value).hex())
        if kind is complex:
            return self.emit(
                "K",
                "Complex",
                struct.pack(">d", value.real).hex(),
                struct.pack(">d", value.imag).hex(),
            )
        if kind is str:
            return self.emit("K", "Str", value.encode("utf-8", "surrogatepass").hex())
        if kind is bytes:
            return self.emit("K", "Bytes", value.hex())
        raise TypeError(kind)

    def node(self, kind, kids=(), a=-1, op=0, extra=()):
        kids, extra = list(kids), list(extra)
        return self.emit("E", kind, op, a, len(kids), *(kids + [len(extra)] + extra))

    def expr(self, e):
        if e is None:
            return -1
        name = type(e).__name__
        method = getattr(self, "expr_" + name, None)
        if method is None:
            raise TypeError("no case for expression " + name)
        return method(e)

    def exprs(self, items):
        return [self.expr(e) for e in items]

    def expr_Constant(self, e):
        return self.node("Constant", a=self.constant(e.value))

    def expr_Num(self, e):
        return self.node("Constant", a=self.constant(e.n))

    def expr_Str(self, e):
        return self.node("Constant", a=self.constant(e.s))

    expr_Bytes = expr_Str
    expr_NameConstant = expr_Constant

    def expr_Ellipsis(self, e):
        return self.node("Constant", a=self.constant(Ellipsis))

    def expr_Name(self, e):
        return self.node("Name", a=self.string(e.id))

    def expr_Attribute(self, e):
        return self.node("Attribute", [self.expr(e.value)], a=self.string(e.attr))

    def expr_Subscript(self, e):
        return self.node("Subscript", [self.expr(e.value), self.expr(e.slice)])

    def expr_Index(self, e):
        return self.expr(e.value)

    def expr_ExtSlice(self, e):
        return self.node("Tuple", self.exprs(e.dims))

    def expr_Slice(self, e):
        return self.node("Slice", [self.expr(e.lower), self.expr(e.upper), self.expr(e.step)])

    def expr_Starred(self, e):
        return self.node("Starred", [self.expr(e.value)])

    def keyword(self, k):
        return self.node("Keyword", [self.expr(k.value)], a=self.string(k.arg))

    def expr_Call(self, e):
        return self.node(
            "Call", [self.expr(e.func)] + self.exprs(e.args) + [self.keyword(k) for k in e.keywords]
        )

    def expr_BinOp(self, e):
        return self.node(
            "Binary", [self.expr(e.left), self.expr(e.right)], op=BINARY.index(type(e.op).__name__)
        )

    def expr_UnaryOp(self, e):
        return self.node("Unary", [self.expr(e.operand)], op=UNARY.index(type(e.op).__name__))

    def expr_BoolOp(self, e):
        return self.node("BoolOp", self.exprs(e.values), op=int(isinstance(e.op, ast.Or)))

    def expr_Compare(self, e):
        return self.node(
            "Compare",
            [self.expr(e.left)] + self.exprs(e.comparators),
            extra=[COMPARE.index(type(o).__name__) for o in e.ops],
        )

    def expr_IfExp(self, e):
        return self.node("IfExp", [self.expr(e.test), self.expr(e.body), self.expr(e.orelse)])

    def expr_NamedExpr(self, e):
        return self.node("NamedExpr", [self.expr(e.target), self.expr(e.value)])

    def expr_Tuple(self, e):
        return self.node("Tuple", self.exprs(e.elts))

    def expr_List(self, e):
        return self.node("List", self.exprs(e.elts))

    def expr_Set(self, e):
        return self.node("Set", self.exprs(e.elts))

    def expr_Dict(self, e):
        kids = []
        for key, value in zip(e.keys, e.values):
            kids += [self.expr(key), self.expr(value)]
        return self.node("Dict", kids)

    def expr_Lambda(self, e):
        function = self.function(e.args)
        return self.node("Lambda", [self.expr(e.body)], a=function)

    def comprehensions(self, e):
        return [
            self.node(
                "Comprehension",
                [self.expr(c.target), self.expr(c.iter)] + self.exprs(c.ifs),
                op=int(c.is_async),
            )
            for c in e.generators
        ]

    def expr_ListComp(self, e):
        return self.node(type(e).__name__, [self.expr(e.elt)] + self.comprehensions(e))

    expr_SetComp = expr_GeneratorExp = expr_ListComp

    def expr_DictComp(self, e):
        if e.value is None:  # {**e for …} of 3.15
            return self.node("DictComp", [-1, self.expr(e.key)] + self.comprehensions(e))
        return self.node(
            "DictComp", [self.expr(e.key), self.expr(e.value)] + self.comprehensions(e)
        )

    def expr_Await(self, e):
        return self.node("Await", [self.expr(e.value)])

    def expr_Yield(self, e):
        return self.node("Yield", [self.expr(e.value)])

    def expr_YieldFrom(self, e):
        return self.node("YieldFrom", [self.expr(e.value)])

    def expr_JoinedStr(self, e):
        return self.node("JoinedStr", self.exprs(e.values))

    def expr_FormattedValue(self, e):
        return self.node(
            "FormattedValue",
            [self.expr(e.value), self.expr(e.format_spec)],
            op=CONVERSION[e.conversion],
        )

    def expr_TemplateStr(self, e):
        return self.node("TemplateStr", self.exprs(e.values))

    def expr_Interpolation(self, e):
        return self.node(
            "Interpolation",
            [self.expr(e.value), self.expr(e.format_spec)],
            a=self.constant(e.str),
            op=CONVERSION[e.conversion],
        )

    # patterns
    def expr_MatchValue(self, e):
        return self.node("MatchValue", [self.expr(e.value)])

    def expr_MatchSingleton(self, e):
        return self.node("MatchSingleton", a=self.constant(e.value))

    def expr_MatchSequence(self, e):
        return self.node("MatchSequence", self.exprs(e.patterns))

    def expr_MatchMapping(self, e):
        kids = []
        for key, pattern in zip(e.keys, e.patterns):
            kids += [self.expr(key), self.expr(pattern)]
        return self.node("MatchMapping", kids, a=self.string(e.rest))

    def expr_MatchClass(self, e):
        names = [self.string(n) for n in e.kwd_attrs]
        return self.node(
            "MatchClass",
            [self.expr(e.cls)] + self.exprs(e.patterns) + self.exprs(e.kwd_patterns),
            extra=names,
        )

    def expr_MatchStar(self, e):
        return self.node("MatchStar", a=self.string(e.name))

    def expr_MatchAs(self, e):
        return self.node("MatchAs", [self.expr(e.pattern)], a=self.string(e.name))

    def expr_MatchOr(self, e):
        return self.node("MatchOr", self.exprs(e.patterns))

    # functions
    def function(self, args, type_params=()):
        posonly = list(getattr(args, "posonlyargs", []))
        positional = posonly + args.args
        defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
        fields = []

        def add(arg, kind, default):
            fields.extend(
                [self.string(arg.arg), kind, self.expr(arg.annotation), self.expr(default)]
            )

        for i, (arg, default) in enumerate(zip(positional, defaults)):
            add(arg, 0 if i < len(posonly) else 1, default)
        if args.vararg:
            add(args.vararg, 2, None)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults):
            add(arg, 3, default)
        if args.kwarg:
            add(args.kwarg, 4, None)
        params = self.type_params(type_params)
        return self.emit("F", params, len(fields) // 4, *fields)

    def type_params(self, params):
        if not params:
            return -1
        fields = []
        for p in params:
            kind = ["TypeVar", "ParamSpec", "TypeVarTuple"].index(type(p).__name__)
            fields += [
                self.string(p.name),
                kind,
                self.expr(getattr(p, "bound", None)),
                self.expr(getattr(p, "default_value", None)),
            ]
        return self.emit("P", len(params), *fields)

    # statements
    def statement(
        self,
        kind,
        flag=0,
        a=-1,
        level=0,
        function=-1,
        e=(),
        list=(),
        extra=(),
        type_params=-1,
        body=(),
        orelse=(),
        final=(),
        arms=(),
    ):
        e = (tuple(e) + (-1, -1, -1))[:3]
        fields = [kind, flag, a, level, function] + [x for x in e] + [type_params]
        for span in (list, extra, body, orelse, final, arms):
            fields.append(len(span))
            fields.extend(span)
        return self.emit("T", *fields)

    def block(self, body):
        return [self.stmt(s) for s in body]

    def stmt(self, s):
        name = type(s).__name__
        e, st = self.expr, self.statement
        if name in ("FunctionDef", "AsyncFunctionDef"):
            function = self.function(s.args, getattr(s, "type_params", ()))
            return st(
                "FunctionDef",
                flag=int(name[0] == "A"),
                a=self.string(s.name),
                function=function,
                e=[e(s.returns)],
                list=self.exprs(s.decorator_list),
                body=self.block(s.body),
            )
        if name == "ClassDef":
            bases = self.exprs(s.bases) + [self.keyword(k) for k in s.keywords]
            return st(
                "ClassDef",
                a=self.string(s.name),
                list=bases,
                extra=self.exprs(s.decorator_list),
                type_params=self.type_params(getattr(s, "type_params", ())),
                body=self.block(s.body),
            )
        if name == "Return":
            return st("Return", e=[e(s.value)])
        if name == "Delete":
            return st("Delete", list=self.exprs(s.targets))
        if name == "Assign":
            return st("Assign", list=self.exprs(s.targets), e=[e(s.value)])
        if name == "AugAssign":
            return st(
                "AugAssign", flag=BINARY.index(type(s.op).__name__), e=[e(s.target), e(s.value)]
            )
        if name == "AnnAssign":
            return st(
                "AnnAssign",
                flag=int(isinstance(s.target, ast.Name) and not s.simple),
                e=[e(s.target), e(s.annotation), e(s.value)],
            )
        if name == "TypeAlias":
            return st(
                "TypeAlias", e=[e(s.name), e(s.value)], type_params=self.type_params(s.type_params)
            )
        if name in ("For", "AsyncFor"):
            return st(
                "For",
                flag=int(name[0] == "A"),
                e=[e(s.target), e(s.iter)],
                body=self.block(s.body),
                orelse=self.block(s.orelse),
            )
        if name == "While" or name == "If":
            return st(name, e=[e(s.test)], body=self.block(s.body), orelse=self.block(s.orelse))
        if name in ("With", "AsyncWith"):
            items = []
            for item in s.items:
                items += [e(item.context_expr), e(item.optional_vars)]
            return st("With", flag=int(name[0] == "A"), list=items, body=self.block(s.body))
        if name == "Match":
            arms = [
                st("Case", e=[e(c.pattern), e(c.guard)], body=self.block(c.body)) for c in s.cases
            ]
            return st("Match", e=[e(s.subject)], arms=arms)
        if name == "Raise":
            return st("Raise", e=[e(s.exc), e(s.cause)])
        if name in ("Try", "TryStar"):
            arms = [
                st("Handler", a=self.string(h.name), e=[e(h.type)], body=self.block(h.body))
                for h in s.handlers
            ]
            return st(
                "Try",
                flag=int(name == "TryStar"),
                body=self.block(s.body),
                orelse=self.block(s.orelse),
                final=self.block(s.finalbody),
                arms=arms,
            )
        if name == "Assert":
            return st("Assert", e=[e(s.test), e(s.msg)])
        if name in ("Import", "ImportFrom"):
            names = []
            for alias in s.names:
                names += [self.string(alias.name), self.string(alias.asname)]
            flag = int(bool(getattr(s, "is_lazy", 0)))
            if name == "Import":
                return st("Import", flag=flag, extra=names)
            return st(
                "ImportFrom", flag=flag, a=self.string(s.module), level=s.level or 0, extra=names
            )
        if name in ("Global", "Nonlocal"):
            return st(name, extra=[self.string(n) for n in s.names])
        if name == "Expr":
            return st("Expr", e=[e(s.value)])
        if name in ("Pass", "Break", "Continue"):
            return st(name)
        raise TypeError("no case for statement " + name)


def clean_docstring(doc):
    """What the compiler of 3.13+ does to docstrings."""
    doc = doc.expandtabs(8)
    lines = doc.split("\n")
    margins = [len(x) - len(x.lstrip(" ")) for x in lines[1:] if x.strip(" ")]
    margin = min(margins) if margins else 0
    out = [lines[0].lstrip(" ")]
    for line in lines[1:]:
        spaces = len(line) - len(line.lstrip(" "))
        out.append(line[min(margin, spaces) :])
    return "\n".join(out)


class Normalise(ast.NodeTransformer):
    def clean(self, node):
        self.generic_visit(node)
        if sys.version_info >= (3, 13) and node.body and isinstance(node.body[0], ast.Expr):
            value = node.body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = clean_docstring(value.value)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Module = clean

    def visit_Constant(self, node):
        if hasattr(node, "kind"):
            node.kind = None
        return node

    def flat(self, node):
        """f'{x!r}' 'y': neighbouring literal parts are one."""
        self.generic_visit(node)
        values = []
        for v in node.values:
            literal = (
                isinstance(v, (getattr(ast, "Constant", ()), getattr(ast, "Str", ())))
                if sys.version_info < (3, 12)
                else isinstance(v, ast.Constant)
            )
            text = getattr(v, "value", getattr(v, "s", None)) if literal else None
            if isinstance(text, str):
                if not text:
                    continue
                if values and isinstance(values[-1], ast.Constant):
                    values[-1] = ast.Constant(value=values[-1].value + text)
                    continue
                v = ast.Constant(value=text)
            values.append(v)
        node.values = values
        return node

    visit_JoinedStr = visit_TemplateStr = flat

    def visit_ImportFrom(self, node):
        node.level = node.level or 0
        return node


def clean_first(tree):
    """The printer gets what the bytecode holds: cleaned docstrings."""
    return Normalise().visit(tree)


def main():
    oracle, files = sys.argv[1], sys.argv[2:]
    sys.setrecursionlimit(20000)
    folder = tempfile.mkdtemp()
    lines, work = [], []
    for number, path in enumerate(files):
        try:
            with open(path, "rb") as f:
                tree = clean_first(ast.parse(f.read()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        stream = Stream()
        body = stream.block(tree.body)
        out = os.path.join(folder, "%05d.py" % number)
        lines += (
            ["D %d %s" % (sys.version_info[1], out)]
            + stream.lines
            + ["M %d %s" % (len(body), " ".join(map(str, body)))]
        )
        work.append((path, tree, out))
    subprocess.run([oracle], input="\n".join(lines) + "\n", universal_newlines=True, check=True)
    failures = 0
    for path, tree, out in work:
        with open(out, "rb") as f:
            printed = f.read()
        try:
            again = clean_first(ast.parse(printed))
        except (SyntaxError, ValueError) as error:
            failures += 1
            print("%s: %s does not parse: %s" % (path, out, error))
            continue
        a, b = ast.dump(tree), ast.dump(again)
        if a != b:
            failures += 1
            at = next(i for i, (x, y) in enumerate(zip(a + "\0", b + "\0")) if x != y)
            print(
                "%s: %s differs: …%s… became …%s…"
                % (path, out, a[max(0, at - 100) : at + 60], b[max(0, at - 30) : at + 60])
            )
            continue
        os.unlink(out)
    print("%d files printed and parsed again, %d differ" % (len(work), failures))
    if not failures:
        os.rmdir(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
