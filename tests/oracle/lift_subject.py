"""Runs small programs twice, by the interpreter itself and by what `depyf dump --stage lift` says
of their bytecode, and compares.

Works under every CPython from 3.7 on; test_lift.py starts it under each.

    lift_subject.py compile FOLDER      writes FOLDER/NNN.pyc, one for each program that this
                                        version can compile
    lift_subject.py run FOLDER          reads FOLDER/NNN.lift, prints JSON {"failures": [...],
                                        "missing": [opcodes in no program], "programs": N, "runs":
                                        N}

Every value that a program touches is a Recorder: each operation on one is written to a log and
yields a new Recorder. The truth values follow a schedule, and one chosen step of the log raises, so
that every handler is entered at every point. The lifted text is evaluated by Evaluator with
Python's own operations. Log, result, exception and final globals must be equal.
"""

import builtins
import collections.abc
import dis
import importlib.util
import json
import marshal
import operator
import os
import re
import sys
import types

VERSION = sys.version_info[:2]
EVALUATED = {}
UNBOUND = object()
NULL = object()


# ------------------------------------------------------------------ recording


class Boom(Exception):
    pass


class Log:
    def __init__(self, truths, raise_at):
        self.lines = []
        self.truths = truths
        self.asked = 0
        self.raise_at = raise_at
        self.made = 0

    def step(self, text):
        if len(self.lines) > 300:
            raise SystemExit("an endless loop of the program")
        self.lines.append(text)
        if len(self.lines) == self.raise_at:
            raise Boom(self.raise_at)

    def truth(self):
        self.asked += 1
        return self.truths[(self.asked - 1) % len(self.truths)]

    def new(self):
        self.made += 1
        return Recorder("r%d" % self.made)


LOG = None


class Recorder(object):
    def __init__(self, name):
        object.__setattr__(self, "name", name)

    def __repr__(self):
        LOG.step("repr %s" % self.name)
        return "<%s>" % self.name

    def __str__(self):
        LOG.step("str %s" % self.name)
        return self.name

    def __format__(self, spec):
        LOG.step("format %s %r" % (self.name, spec))
        return "%s:%s" % (self.name, spec)

    def __bool__(self):
        LOG.step("bool %s" % self.name)
        return LOG.truth()

    def __hash__(self):
        LOG.step("hash %s" % self.name)
        return sum(map(ord, self.name))

    def __contains__(self, x):
        LOG.step("contains %s %s" % (self.name, show(x)))
        return LOG.truth()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        LOG.step("getattr %s %s" % (self.name, name))
        return LOG.new()

    def __setattr__(self, name, value):
        LOG.step("setattr %s %s %s" % (self.name, name, show(value)))

    def __delattr__(self, name):
        LOG.step("delattr %s %s" % (self.name, name))

    def __setitem__(self, key, value):
        LOG.step("setitem %s %s %s" % (self.name, show(key), show(value)))

    def __delitem__(self, key):
        LOG.step("delitem %s %s" % (self.name, show(key)))

    def __call__(self, *args, **kwargs):
        LOG.step("call %s %s %s" % (self.name, show(args), show(kwargs)))
        return LOG.new()

    def __iter__(self):
        LOG.step("iter %s" % self.name)
        return Items(self.name, 2)

    def keys(self):
        LOG.step("keys %s" % self.name)
        return ["k1", "k2"]

    def __enter__(self):
        LOG.step("enter %s" % self.name)
        return LOG.new()

    def __exit__(self, kind, value, traceback):
        LOG.step("exit %s %s %s" % (self.name, kind and kind.__name__, show(value)))
        return LOG.truth()

    def __await__(self):
        LOG.step("await %s" % self.name)
        got = yield LOG.new()
        LOG.step("awaited %s %s" % (self.name, show(got)))
        return LOG.new()

    def __aiter__(self):
        LOG.step("aiter %s" % self.name)
        return AsyncItems(self.name, 2)

    async def __aenter__(self):
        LOG.step("aenter %s" % self.name)
        return LOG.new()

    async def __aexit__(self, kind, value, traceback):
        LOG.step("aexit %s %s %s" % (self.name, kind and kind.__name__, show(value)))
        return LOG.truth()


def _record(name):
    def method(self, *args):
        LOG.step("%s %s %s" % (name, self.name, show(args)))
        return LOG.new()

    return method


for _name in (
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift "
    "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift "
    "neg pos invert eq ne lt le gt ge getitem"
).split():
    setattr(Recorder, "__%s__" % _name, _record(_name))


class Items(object):
    def __init__(self, name, n):
        self.name, self.n = name, n

    def __iter__(self):
        return self  # not logged: list() and `yield from` ask once more than the bytecode does

    def __next__(self):
        LOG.step("next %s" % self.name)
        if not self.n:
            raise StopIteration
        self.n -= 1
        return LOG.new()


class AsyncItems(Items):
    async def __anext__(self):
        LOG.step("anext %s" % self.name)
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        return LOG.new()

    def __aiter__(self):
        return self


def show(x, depth=0):
    """A description that two runs can compare."""
    if depth > 6:
        return "..."
    inner = lambda y: show(y, depth + 1)
    if type(x) is Recorder or type(x) in (Items, AsyncItems):
        return x.name
    if x is NULL or x is UNBOUND:
        return "<unbound>"
    if type(x) in (list, tuple, set, frozenset):
        items = [inner(y) for y in x]
        return "%s(%s)" % (
            type(x).__name__,
            ", ".join(sorted(items) if isinstance(x, (set, frozenset)) else items),
        )
    if isinstance(x, dict):
        return "{%s}" % ", ".join(
            "%s: %s" % (inner(k), inner(v))
            for k, v in x.items()
            if k not in ("__builtins__", "__conditional_annotations__")
        )
    if isinstance(x, slice):
        return "slice(%s, %s, %s)" % (inner(x.start), inner(x.stop), inner(x.step))
    if isinstance(x, BaseException):
        text = type(x).__name__
        if isinstance(x, Boom) or type(x).__name__ in ("ExceptionGroup", "BaseExceptionGroup"):
            text += "(%s)" % ", ".join(inner(y) for y in x.args)
        if x.__cause__ is not None:
            text += " from " + inner(x.__cause__)
        return text
    if isinstance(x, (types.FunctionType, types.BuiltinFunctionType)):
        defaults = getattr(x, "__defaults_of__", getattr(x, "__defaults__", None)) or None
        kwdefaults = getattr(x, "__kwdefaults_of__", getattr(x, "__kwdefaults__", None)) or None
        annotations = getattr(x, "__annotations__", {}) if VERSION < (3, 14) else {}
        return "function %s %s %s %s" % (
            x.__name__,
            inner(defaults),
            inner(kwdefaults),
            sorted(annotations),
        )
    if isinstance(x, types.ModuleType):
        return "module %s" % x.__name__
    if isinstance(x, type):
        return "class %s(%s) {%s}" % (
            x.__name__,
            ", ".join(b.__name__ for b in x.__bases__),
            ", ".join(
                "%s: %s" % (k, inner(v))
                for k, v in sorted(vars(x).items())
                if not k.startswith("__")
                or k in ("__doc__", "__module__", "__qualname__", "__annotations__")
                and VERSION < (3, 14)
            ),
        )
    if isinstance(
        x, (types.CellType if VERSION >= (3, 8) else type((lambda y: lambda: y)(1).__closure__[0]))
    ):
        return "cell"
    if x is None or isinstance(x, (int, float, complex, str, bytes, type(Ellipsis))):
        return repr(x)
    return "a %s" % type(x).__name__


# ------------------------------------------------------------------ the lifted text


class Block(object):
    def __init__(self):
        self.params, self.body, self.term, self.handler, self.handler_args = [], [], None, None, []


class Unit(object):
    """One code object's lifted form."""

    HEAD = re.compile(
        r"^b(\d+)(?:\(([^)]*)\))?:(?:  stack \[[^\]]*\])?(?:  protected by b(\d+) at depth \d+(?: \(([^)]*)\))?)?$"
    )
    OPERATION = re.compile(r"^  (v\d+) = (\w+)(.*)$")
    EDGE = r"b(\d+)(?:\(([^)]*)\))?"
    BRANCH = re.compile(r"^  branch (\S+) \? " + EDGE + " : " + EDGE + "$")
    LOOP = re.compile(r"^  (?:for|send) (\S+)(?: in (\S+))? \? " + EDGE + " : " + EDGE + "$")
    JUMP = re.compile("^  jump " + EDGE + "$")

    def __init__(self, text):
        self.blocks = {}
        split = lambda s: s.split(", ") if s else []
        block = None
        for line in text.splitlines():
            head = self.HEAD.match(line)
            if head:
                block = self.blocks[int(head.group(1))] = Block()
                block.params = split(head.group(2))
                if head.group(3):
                    block.handler = int(head.group(3))
                    block.handler_args = split(head.group(4))
                continue
            operation = self.OPERATION.match(line)
            if operation:
                block.body.append(self.operation(*operation.groups()))
                continue
            for kind, pattern in (
                ("branch", self.BRANCH),
                ("loop", self.LOOP),
                ("jump", self.JUMP),
            ):
                found = pattern.match(line)
                if found:
                    edges = found.groups()[{"branch": 1, "loop": 2, "jump": 0}[kind] :]
                    edges = [(int(edges[i]), split(edges[i + 1])) for i in range(0, len(edges), 2)]
                    block.term = (
                        "send" if line.startswith("  send") else kind,
                        found.groups()[: {"branch": 1, "loop": 2, "jump": 0}[kind]],
                        edges,
                    )
                    break
            else:
                words = line.strip().split(" ", 1)
                if words[0] not in ("return", "raise", "reraise", "unreachable"):
                    raise ValueError("cannot read the lifted line %r" % line)
                block.term = (words[0], split(words[1]) if len(words) > 1 else [], [])

    @staticmethod
    def operation(name, op, rest):
        if op == "LOAD_CONST":
            return name, op, rest.strip(), 0, False, []
        operands = []
        found = re.match(r"^(.*?) \(([^()]*)\)$", rest)
        if found:
            rest, operands = found.group(1), found.group(2).split(", ")
        aux = 0
        found = re.match(r"^(.*) aux (\d+)$", rest)
        if found:
            rest, aux = found.group(1), int(found.group(2))
        in_place = rest.endswith(" in-place")
        if in_place:
            rest = rest[: -len(" in-place")]
        return name, op, rest.strip(), aux, in_place, operands


BINARY = [
    "add",
    "and_",
    "floordiv",
    "lshift",
    "matmul",
    "mul",
    "mod",
    "or_",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
]
INPLACE = [
    "iadd",
    "iand",
    "ifloordiv",
    "ilshift",
    "imatmul",
    "imul",
    "imod",
    "ior",
    "ipow",
    "irshift",
    "isub",
    "itruediv",
    "ixor",
]
COMPARE = ["lt", "le", "eq", "ne", "gt", "ge"]


class Wrapped(object):
    """What an asynchronous generator yields to its consumer, as opposed to what its awaits yield to
    the loop.
    """

    def __init__(self, value):
        self.value = value


def make_cell(value=UNBOUND):
    if value is UNBOUND:

        def outer():
            if False:
                x = None
            return lambda: x
    else:

        def outer():
            x = value
            return lambda: x

    return outer().__closure__[0]


class Frame(object):
    def __init__(self, world, code, globals_, names, closure):
        self.world, self.code, self.globals, self.names = world, code, globals_, names
        self.fast, self.cells = {}, dict(zip(code.co_freevars, closure))
        for name in code.co_cellvars:
            self.cells[name] = make_cell()

    def builtin(self, name):
        held = self.globals["__builtins__"]
        held = held if isinstance(held, dict) else vars(held)
        if name not in held:
            raise NameError(name)
        return held[name]

    def load_global(self, name):
        return self.globals[name] if name in self.globals else self.builtin(name)

    def load_deref(self, name):
        try:
            return self.cells[name].cell_contents
        except ValueError:
            raise NameError(name)


class World(object):
    """The code objects of one module and their lifted forms."""

    def __init__(self, root, texts):
        self.codes = []
        self.collect(root)
        self.units = [Unit(text) for text in texts]
        assert len(self.codes) == len(self.units), "the dump has %d code objects, the module %d" % (
            len(self.units),
            len(self.codes),
        )
        self.number = {id(code): i for i, code in enumerate(self.codes)}

    def collect(self, code):
        """Children first, as the decoder numbers them."""
        if any(code is seen for seen in self.codes):
            return
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                self.collect(const)
        self.codes.append(code)

    def function(
        self, code, globals_, defaults=None, kwdefaults=None, closure=(), annotations=None
    ):
        def call(*args, **kwargs):
            frame = Frame(self, code, globals_, None, closure)
            self.bind(frame, code, args, kwargs, call.__defaults_of__, call.__kwdefaults_of__)
            return self.start(frame)

        call.__name__ = code.co_name
        call.__defaults_of__, call.__kwdefaults_of__, call.__code_of__, call.__closure_of__ = (
            defaults or (),
            kwdefaults or {},
            code,
            closure,
        )
        if annotations is not None:
            call.__annotations__ = annotations
        return call

    @staticmethod
    def bind(frame, code, args, kwargs, defaults, kwdefaults):
        n, k = code.co_argcount, code.co_kwonlyargcount
        names = code.co_varnames
        values = dict(zip(names[:n], args))
        rest = args[n:]
        extra = {}
        for key, value in kwargs.items():
            if key in names[getattr(code, "co_posonlyargcount", 0) : n + k] and key not in values:
                values[key] = value
            else:
                extra[key] = value
        for name, value in zip(names[n - len(defaults) : n], defaults):
            values.setdefault(name, value)
        for name in names[n : n + k]:
            if name in kwdefaults:
                values.setdefault(name, kwdefaults[name])
        at = n + k
        if code.co_flags & 4:
            values[names[at]] = tuple(rest)
            at += 1
        elif rest:
            raise TypeError("too many arguments")
        if code.co_flags & 8:
            values[names[at]] = extra
        elif extra:
            raise TypeError("unexpected keywords")
        for name in names[: n + k]:
            if name not in values:
                raise TypeError("missing " + name)
        for name, value in values.items():
            if name in code.co_cellvars:
                frame.cells[name].cell_contents = value
            if name not in code.co_cellvars or VERSION < (3, 11):
                frame.fast[name] = value

    def start(self, frame):
        if id(frame.code) not in EVALUATED:
            EVALUATED[id(frame.code)] = frame.code
        flags = frame.code.co_flags
        evaluation = Evaluator(frame).run()
        if flags & 0x20:  # generator
            return evaluation
        if flags & 0x80:
            return types.coroutine(lambda: (yield from evaluation))()
        if flags & 0x200:
            return async_generator(evaluation)
        try:
            yielded = next(evaluation)
        except StopIteration as stop:
            return stop.value
        raise AssertionError("a function yielded %s" % show(yielded))


class Suspend(object):
    def __init__(self, value):
        self.value = value

    def __await__(self):
        return (yield self.value)


def async_generator(evaluation):
    scope = {"Wrapped": Wrapped, "Suspend": Suspend}
    exec(
        """
async def run(evaluation):
    action, given = evaluation.send, None
    while True:
        try:
            got = action(given)
        except StopIteration:
            return
        action = evaluation.send
        try:
            if type(got) is Wrapped:
                given = yield got.value
            else:
                given = await Suspend(got)
        except BaseException as error:
            action, given = evaluation.throw, error
""",
        scope,
    )
    return scope["run"](evaluation)


class Alias(object):
    """A type alias, whose value is a function that runs when it is asked for."""

    def __init__(self, function):
        self.function = function

    @property
    def __value__(self):
        return self.function(*([1] if VERSION >= (3, 14) else []))


class Evaluator(object):
    def __init__(self, frame):
        self.frame, self.world, self.env = frame, frame.world, {}
        self.unit = frame.world.units[frame.world.number[id(frame.code)]]
        self.handled = []

    def value(self, name):
        if name == "NULL":
            return NULL
        if "." in name and name.startswith("v"):
            base, index = name.split(".")
            return self.env[base][int(index)]
        return self.env[name]

    def const(self, text):
        found = re.match(r"^<code (\d+)>$", text)
        if found:
            return self.world.codes[int(found.group(1))]
        return eval(text, {"slice": slice, "frozenset": frozenset, "StopIteration": StopIteration})

    def go(self, edge):
        number, args = edge
        target = self.unit.blocks[number]
        values = [self.value(a) if a != "_" else UNBOUND for a in args]
        self.env.update(zip(target.params, values))
        return number

    def run(self):
        at = 0
        while True:
            block = self.unit.blocks[at]
            level = len(self.handled)
            try:
                for operation in block.body:
                    name, op, arg, aux, in_place, operands = operation
                    if op == "YIELD_VALUE":
                        got = self.value(operands[0])
                        if self.frame.code.co_flags & 0x200 and VERSION < (3, 11):
                            got = Wrapped(got)
                        self.env[name] = yield got
                    elif op == "YIELD_FROM":
                        source = self.value(operands[0])
                        if hasattr(source, "__next__") and not hasattr(source, "cr_frame"):
                            self.env[name] = yield from source
                        else:
                            self.env[name] = yield from source.__await__()
                    else:
                        self.env[name] = self.operate(
                            op, arg, aux, in_place, [self.value(o) for o in operands], operands
                        )
                kind, words, edges = block.term
                if kind == "jump":
                    at = self.go(edges[0])
                elif kind == "branch":
                    at = self.go(edges[0] if self.value(words[0]) else edges[1])
                elif kind == "loop":
                    iterator = self.value(words[1])
                    try:
                        item = type(iterator).__next__(iterator)
                    except StopIteration:
                        at = self.go(edges[1])
                    else:
                        self.env[words[0]] = item
                        at = self.go(edges[0])
                elif kind == "return":
                    return self.value(words[0])
                elif kind == "raise":
                    self.do_raise([self.value(w) for w in words])
                elif kind == "reraise":
                    raise self.value(words[0])
                else:
                    raise AssertionError("control reached %r" % (block.term,))
            except BaseException as error:
                if isinstance(error, AssertionError) or block.handler is None:
                    raise
                del self.handled[min(level, len(self.handled)) :]
                self.handled.append(error)
                handler = block.handler
                self.env["exception@b%d" % handler] = error
                self.env["type@b%d" % handler] = type(error)
                at = self.go((handler, block.handler_args))

    def do_raise(self, operands):
        if not operands:
            if not self.handled:
                raise RuntimeError("no active exception")
            raise self.handled[-1]
        if len(operands) == 1:
            raise operands[0]
        raise operands[0] from operands[1]

    # -------------------------------------------------------------- operations

    def operate(self, op, arg, aux, in_place, args, names):
        frame = self.frame
        method = getattr(self, "op_" + op, None)
        if method is not None:
            return method(arg, aux, in_place, args)
        if op == "LOAD_FAST":
            if (
                frame.fast.get(arg, UNBOUND) in (UNBOUND, NULL)
                if not isinstance(frame.fast.get(arg, UNBOUND), Recorder)
                else False
            ):
                raise UnboundLocalError(arg)
            return frame.fast[arg]
        if op == "LOAD_FAST_AND_CLEAR":
            return frame.fast.pop(arg, NULL)
        if op == "STORE_FAST":
            frame.fast[arg] = args[0]
            return None
        if op == "DELETE_FAST":
            if frame.fast.get(arg, NULL) is NULL:
                raise UnboundLocalError(arg)
            del frame.fast[arg]
            return None
        raise AssertionError("the evaluator does not know %s" % op)

    def op_RAISE(self, arg, aux, in_place, args):  # with code behind it that nothing reaches
        self.do_raise(args)

    def op_LOAD_CONST(self, arg, aux, in_place, args):
        raise AssertionError

    def op_LOAD_COMMON(self, arg, aux, in_place, args):
        return [AssertionError, NotImplementedError, tuple, all, any, list, set, frozenset][
            int(arg or 0)
        ]

    def op_LOAD_BUILD_CLASS(self, arg, aux, in_place, args):
        real = self.frame.builtin("__build_class__")

        def build_class(function, name, *bases, **keywords):
            if not hasattr(function, "__code_of__"):
                return real(function, name, *bases, **keywords)
            cell = []

            def body(namespace):
                frame = Frame(
                    self.world,
                    function.__code_of__,
                    self.frame.globals,
                    namespace,
                    function.__closure_of__,
                )
                cell.append(self.world.start(frame))

            made = types.new_class(name, bases, keywords, body)
            return made

        return build_class

    def op_LOAD_DEREF(self, arg, aux, in_place, args):
        return self.frame.load_deref(arg)

    def op_STORE_DEREF(self, arg, aux, in_place, args):
        self.frame.cells[arg].cell_contents = args[0]

    def op_DELETE_DEREF(self, arg, aux, in_place, args):
        self.frame.load_deref(arg)
        del self.frame.cells[arg].cell_contents

    def op_LOAD_CLASSDEREF(self, arg, aux, in_place, args):
        names = args[0] if aux == 1 else self.frame.names
        return names[arg] if arg in names else self.frame.load_deref(arg)

    def op_LOAD_CLOSURE(self, arg, aux, in_place, args):
        return self.frame.cells[arg]

    def op_LOAD_GLOBAL(self, arg, aux, in_place, args):
        return self.frame.load_global(arg)

    def op_STORE_GLOBAL(self, arg, aux, in_place, args):
        self.frame.globals[arg] = args[0]

    def op_DELETE_GLOBAL(self, arg, aux, in_place, args):
        if arg not in self.frame.globals:
            raise NameError(arg)
        del self.frame.globals[arg]

    def op_LOAD_NAME(self, arg, aux, in_place, args):
        return self.frame.names[arg] if arg in self.frame.names else self.frame.load_global(arg)

    def op_STORE_NAME(self, arg, aux, in_place, args):
        self.frame.names[arg] = args[0]

    def op_DELETE_NAME(self, arg, aux, in_place, args):
        if arg not in self.frame.names:
            raise NameError(arg)
        del self.frame.names[arg]

    def op_LOAD_LOCALS(self, arg, aux, in_place, args):
        return self.frame.names

    def op_LOAD_FROM_DICT_OR_GLOBALS(self, arg, aux, in_place, args):
        return args[0][arg] if arg in args[0] else self.frame.load_global(arg)

    def op_LOAD_ATTR(self, arg, aux, in_place, args):
        return getattr(args[0], arg)

    op_LOAD_METHOD = op_LOAD_ATTR

    def op_LOAD_SUPER_ATTR(self, arg, aux, in_place, args):
        return getattr(args[0](args[1], args[2]), arg)

    def op_STORE_ATTR(self, arg, aux, in_place, args):
        setattr(args[1], arg, args[0])

    def op_DELETE_ATTR(self, arg, aux, in_place, args):
        delattr(args[0], arg)

    def op_LOAD_SUBSCR(self, arg, aux, in_place, args):
        return args[0][args[1]]

    def op_STORE_SUBSCR(self, arg, aux, in_place, args):
        args[1][args[2]] = args[0]

    def op_DELETE_SUBSCR(self, arg, aux, in_place, args):
        del args[0][args[1]]

    def op_LOAD_SLICE(self, arg, aux, in_place, args):
        return args[0][args[1] : args[2]]

    def op_STORE_SLICE(self, arg, aux, in_place, args):
        args[1][args[2] : args[3]] = args[0]

    def op_UNARY(self, arg, aux, in_place, args):
        return [operator.invert, operator.not_, operator.pos, operator.neg][int(arg or 0)](args[0])

    def op_BINARY(self, arg, aux, in_place, args):
        return getattr(operator, BINARY[int(arg or 0)])(*args)

    def op_INPLACE(self, arg, aux, in_place, args):
        return getattr(operator, INPLACE[int(arg or 0)])(*args)

    def op_COMPARE(self, arg, aux, in_place, args):
        got = getattr(operator, COMPARE[int(arg or 0)])(*args)
        return bool(got) if aux else got

    def op_IS(self, arg, aux, in_place, args):
        return (args[0] is args[1]) != bool(int(arg or 0))

    def op_CONTAINS(self, arg, aux, in_place, args):
        return (args[0] in args[1]) != bool(int(arg or 0))

    def op_TO_BOOL(self, arg, aux, in_place, args):
        return bool(args[0])

    def op_BUILD_TUPLE(self, arg, aux, in_place, args):
        return tuple(args)

    def op_BUILD_LIST(self, arg, aux, in_place, args):
        return list(args)

    def op_BUILD_SET(self, arg, aux, in_place, args):
        made = set()
        for x in args:
            made.add(x)
        return made

    def op_BUILD_MAP(self, arg, aux, in_place, args):
        made = {}
        for i in range(0, len(args), 2):
            made[args[i]] = args[i + 1]
        return made

    def op_BUILD_CONST_KEY_MAP(self, arg, aux, in_place, args):
        return dict(zip(args[-1], args[:-1]))

    def op_BUILD_STRING(self, arg, aux, in_place, args):
        return "".join(args)

    def op_BUILD_SLICE(self, arg, aux, in_place, args):
        return slice(*args)

    def op_BUILD_LIST_UNPACK(self, arg, aux, in_place, args):
        made = []
        for x in args:
            made.extend(x)
        return made

    def op_BUILD_TUPLE_UNPACK(self, arg, aux, in_place, args):
        return tuple(self.op_BUILD_LIST_UNPACK(arg, aux, in_place, args))

    def op_BUILD_SET_UNPACK(self, arg, aux, in_place, args):
        made = set()
        for x in args:
            made.update(x)
        return made

    def op_BUILD_MAP_UNPACK(self, arg, aux, in_place, args):
        made = {}
        for x in args:
            made.update(x)
        return made

    def grown(self, collection, in_place):
        return None if in_place else collection

    def op_LIST_APPEND(self, arg, aux, in_place, args):
        args[0].append(args[1])
        return self.grown(args[0], in_place)

    def op_SET_ADD(self, arg, aux, in_place, args):
        args[0].add(args[1])
        return self.grown(args[0], in_place)

    def op_MAP_ADD(self, arg, aux, in_place, args):
        # 3.7 evaluates the value first: aux 1
        key, value = (args[2], args[1]) if aux & 1 else (args[1], args[2])
        args[0][key] = value
        return self.grown(args[0], in_place)

    def op_LIST_EXTEND(self, arg, aux, in_place, args):
        args[0].extend(args[1])
        return self.grown(args[0], in_place)

    def op_SET_UPDATE(self, arg, aux, in_place, args):
        args[0].update(args[1])
        return self.grown(args[0], in_place)

    op_DICT_UPDATE = op_SET_UPDATE

    def op_DICT_MERGE(self, arg, aux, in_place, args):
        for key in args[1].keys():
            if key in args[0]:
                raise TypeError("multiple values for %s" % key)
            args[0][key] = args[1][key]
        return self.grown(args[0], in_place)

    def op_LIST_TO_TUPLE(self, arg, aux, in_place, args):
        return tuple(args[0])

    def op_FORMAT(self, arg, aux, in_place, args):
        value = args[0]
        if int(arg or 0):
            value = [None, str, repr, ascii][int(arg)](value)
        return format(value, args[1] if aux == 1 else "")

    def op_CONVERT(self, arg, aux, in_place, args):
        return [None, str, repr, ascii][int(arg)](args[0])

    def op_BUILD_INTERPOLATION(self, arg, aux, in_place, args):
        from string.templatelib import Interpolation

        return Interpolation(
            args[0], args[1], [None, "s", "r", "a"][int(arg or 0)], args[2] if aux == 1 else ""
        )

    def op_BUILD_TEMPLATE(self, arg, aux, in_place, args):
        from string.templatelib import Template

        mixed = [args[0][0]]
        for text, part in zip(args[0][1:], args[1]):
            mixed += [part, text]
        return Template(*mixed)

    def call(self, function, args, kwargs):
        if function is super and not args:
            first = self.frame.code.co_varnames[0]
            instance = (
                self.frame.fast[first] if first in self.frame.fast else self.frame.load_deref(first)
            )
            args = [self.frame.load_deref("__class__"), instance]
        return function(*args, **kwargs)

    def op_CALL(self, arg, aux, in_place, args):
        assert len(args) == int(arg or 0) + 1 and NULL not in [
            a for a in args if not isinstance(a, Recorder)
        ]
        return self.call(args[0], args[1:], {})

    def op_CALL_KW(self, arg, aux, in_place, args):
        names = args[-1]
        values = args[1:-1]
        n = len(values) - len(names)
        return self.call(args[0], values[:n], dict(zip(names, values[n:])))

    def op_CALL_EX(self, arg, aux, in_place, args):
        assert len(args) == 2 + int(arg or 0)
        return args[0](*args[1], **(args[2] if len(args) > 2 else {}))

    def op_MAKE_FUNCTION(self, arg, aux, in_place, args):
        flags, args = int(arg or 0), list(args)
        if aux == 1:
            args.pop()
        code = args.pop()
        parts = {}
        for bit in (16, 8, 4, 2, 1):
            if flags & bit:
                parts[bit] = args.pop()
        assert not args
        annotations = parts.get(4)
        if isinstance(annotations, tuple):
            annotations = dict(zip(annotations[::2], annotations[1::2]))
        made = self.world.function(
            code, self.frame.globals, parts.get(1), parts.get(2), parts.get(8, ()), annotations
        )
        return made

    def op_SET_FUNCTION_ATTRIBUTE(self, arg, aux, in_place, args):
        flag, function = int(arg), args[1]
        if flag == 1:
            function.__defaults_of__ = args[0]
        elif flag == 2:
            function.__kwdefaults_of__ = args[0]
        elif flag == 8:
            function.__closure_of__ = args[0]
        return function

    def op_INTRINSIC_1(self, arg, aux, in_place, args):
        import typing

        which = int(arg or 0)
        x = args[0]
        if which == 0:
            return sys.displayhook(x)
        if which == 1:
            return self.op_IMPORT_STAR(arg, aux, in_place, args)
        if which == 2:  # what leaves a generator
            if isinstance(x, StopIteration):
                error = RuntimeError("generator raised StopIteration")
                error.__cause__ = x
                return error
            if isinstance(x, StopAsyncIteration) and self.frame.code.co_flags & 0x200:
                error = RuntimeError("async generator raised StopAsyncIteration")
                error.__cause__ = x
                return error
            return x
        if which == 3:
            return Wrapped(x)
        if which == 6:
            return typing.TypeVar(x)
        if which == 7:
            return typing.ParamSpec(x)
        if which == 8:
            return typing.TypeVarTuple(x)
        if which == 9:
            return typing.Generic[x]
        if which == 10:
            return Alias(x[2])
        raise AssertionError("INTRINSIC_1 %s" % arg)

    def op_INTRINSIC_2(self, arg, aux, in_place, args):
        import typing

        which = int(arg or 0)
        if which in (1, 2):
            return typing.TypeVar(args[0])
        if which == 3:
            return args[0]
        if which == 4:
            return args[0]
        raise AssertionError("INTRINSIC_2 %s" % arg)

    def op_GET_ITER(self, arg, aux, in_place, args):
        return iter(args[0])

    def op_GET_YIELD_FROM_ITER(self, arg, aux, in_place, args):
        return (
            args[0]
            if isinstance(args[0], (types.GeneratorType, types.CoroutineType))
            else iter(args[0])
        )

    def op_GET_AITER(self, arg, aux, in_place, args):
        return type(args[0]).__aiter__(args[0])

    def op_GET_ANEXT(self, arg, aux, in_place, args):
        return self.op_GET_AWAITABLE(arg, aux, in_place, [type(args[0]).__anext__(args[0])])

    def op_GET_AWAITABLE(self, arg, aux, in_place, args):
        return (
            args[0]
            if isinstance(args[0], (types.CoroutineType, types.GeneratorType))
            else args[0].__await__()
        )

    def op_END_ASYNC_FOR(self, arg, aux, in_place, args):
        if not isinstance(args[1], StopAsyncIteration):
            raise args[1]
        self.handled.pop()

    def op_UNPACK_SEQUENCE(self, arg, aux, in_place, args):
        n, got = int(arg or 0), []
        iterator = iter(args[0])
        for _ in range(n):
            try:
                got.append(next(iterator))
            except StopIteration:
                raise ValueError("not enough values")
        try:
            next(iterator)
        except StopIteration:
            return got[::-1]
        raise ValueError("too many values")

    def op_UNPACK_EX(self, arg, aux, in_place, args):
        before, after = int(arg or 0), aux
        got = list(args[0])
        if len(got) < before + after:
            raise ValueError("not enough values")
        middle = got[before : len(got) - after]
        return (got[:before] + [middle] + (got[len(got) - after :] if after else []))[::-1]

    def op_IMPORT_NAME(self, arg, aux, in_place, args):
        return self.frame.builtin("__import__")(
            arg, self.frame.globals, self.frame.names, args[1], args[0]
        )

    def op_IMPORT_FROM(self, arg, aux, in_place, args):
        try:
            return getattr(args[0], arg)
        except AttributeError:
            raise ImportError(arg)

    def op_IMPORT_STAR(self, arg, aux, in_place, args):
        for name, value in vars(args[0]).items():
            if not name.startswith("_"):
                self.frame.names[name] = value

    def op_WITH_ENTER(self, arg, aux, in_place, args):
        kind = type(args[0])
        if not hasattr(kind, "__enter__") or not hasattr(kind, "__exit__"):
            raise (AttributeError if VERSION < (3, 11) else TypeError)("context manager")
        leave = kind.__exit__.__get__(args[0])
        return [leave, kind.__enter__(args[0])]

    def op_ASYNC_WITH_ENTER(self, arg, aux, in_place, args):
        kind = type(args[0])
        return [kind.__aexit__.__get__(args[0]), kind.__aenter__(args[0])]

    def op_WITH_EXCEPT_START(self, arg, aux, in_place, args):
        return args[0](type(args[1]), args[1], None)

    def op_POP_TOP(self, arg, aux, in_place, args):
        return None

    def op_POP_EXCEPT(self, arg, aux, in_place, args):
        if self.handled:
            self.handled.pop()

    def op_EXC_MATCH(self, arg, aux, in_place, args):
        kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
        for kind in kinds:
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError(
                    "catching classes that do not inherit from BaseException is not allowed"
                )
        return isinstance(args[0], args[1])

    def op_CHECK_EG_MATCH(self, arg, aux, in_place, args):
        exception, kind = args
        if isinstance(exception, kind):
            match = (
                exception
                if isinstance(exception, BaseExceptionGroup)
                else ExceptionGroup("", [exception])
            )
            return [None, match]
        if isinstance(exception, BaseExceptionGroup):
            match, rest = exception.split(kind)
            return [rest, match] if match is not None else [exception, None]
        return [exception, None]

    def op_PREP_RERAISE_STAR(self, arg, aux, in_place, args):
        left = [e for e in args[1] if e is not None]
        if not left:
            return None
        if not isinstance(args[0], BaseExceptionGroup):
            return left[0]
        raised = [
            e for e in left if not isinstance(e, BaseExceptionGroup) or e.message != args[0].message
        ]
        unhandled = [e for e in left if e not in raised]
        if not raised:
            return unhandled[0] if len(unhandled) == 1 else args[0]
        together = raised + unhandled
        return together[0] if len(together) == 1 else ExceptionGroup("", together)

    def op_SETUP_ANNOTATIONS(self, arg, aux, in_place, args):
        self.frame.names.setdefault("__annotations__", {})

    def op_PRINT_EXPR(self, arg, aux, in_place, args):
        sys.displayhook(args[0])

    def op_MATCH_MAPPING(self, arg, aux, in_place, args):
        return isinstance(args[0], collections.abc.Mapping)

    def op_MATCH_SEQUENCE(self, arg, aux, in_place, args):
        return isinstance(args[0], collections.abc.Sequence) and not isinstance(
            args[0], (str, bytes, bytearray)
        )

    def op_MATCH_KEYS(self, arg, aux, in_place, args):
        found = tuple(args[0][k] for k in args[1]) if all(k in args[0] for k in args[1]) else None
        return [found, found is not None] if aux == 1 else found

    def op_MATCH_CLASS(self, arg, aux, in_place, args):
        subject, kind, names = args
        got = None
        if isinstance(subject, kind):
            n = int(arg or 0)
            wanted = (
                ()
                if kind in (int, str, dict, list) and n == 1
                else kind.__match_args__[:n]
                if n
                else ()
            ) + names
            got = (subject,) if kind in (int, str, dict, list) and n == 1 else ()
            for name in wanted:
                if not hasattr(subject, name):
                    got = None
                    break
                got += (getattr(subject, name),)
        return [got if got is not None else subject, got is not None] if aux == 1 else got

    def op_GET_LEN(self, arg, aux, in_place, args):
        return len(args[0])

    def op_COPY_DICT_WITHOUT_KEYS(self, arg, aux, in_place, args):
        return {k: v for k, v in args[0].items() if k not in args[1]}


def _load_const(self, op, arg, aux, in_place, args, names, general=Evaluator.operate):
    return (
        self.const(arg)
        if op == "LOAD_CONST"
        else general(self, op, arg, aux, in_place, args, names)
    )


Evaluator.operate = _load_const


# ------------------------------------------------------------------ programs

# (kind, source). function: f(a, b, c) is called; exec: the module is executed. Programs that a
# version cannot compile are left out there.
PROGRAMS = []


def program(source, kind="function"):
    PROGRAMS.append((kind, source))


for _line in r"""
return a + b - c
return a * b / c // a
return a % b ** c @ a
return a & b | c ^ a
return a << b >> c
a += b; a -= c; a *= b; a /= c; a //= b; a %= c; a **= b; a @= c; return a
a &= b; a |= c; a ^= b; a <<= c; a >>= b; return a
return -a, +b, ~c, not a
return a < b, a <= b, a == b, a != b, a > b, a >= b
return a is b, a is not b, a in b, a not in b
return a < b < c
return a < b < c < a if c else b
return a and b or c
return a if b else c
return (a if b else c)(b, c if a else b)
return not (a and b)
x = a or b; y = a and b; return x, y
return a[b], a[b:c], a[b:c:a], a[1:2]
a[b] = c; a[b:c] = a; del a[b]; del a[b:c]; a[b] += c; a[1:2] = b; return a
a.x = b; del a.y; a.z += b; return a.x.y.z
return a(b, c), a(), a(b, *c), a(**{'k': b}), a(b, k=c), a(*b, *c), a(*b, k=c, **a)
return a.m(b), a.m(), a.m(b, k=c), a.m(*b)
return [a, b], (a, b), {a, b}, {a: b}, {'x': a, 'y': b}
return [*a, b, *c], (*a, b), {*a, b}, {**a, 'k': b, **c}
return [*a, b if c else a], [a, *(b if c else a), c]
return f'{a}{b!r}{c!s:>{a}}{a:x}{b!a}', f'{a}'
return [x + b for x in a if x if c], {x for x in a}, {x: b for x in a}
return [y for x in a for y in x]
return [*a, [x for x in b], c]
return list(x + b for x in a)
return [[y for y in x] for x in a]
return [lambda: x for x in a][0]()
x, y = a; return y, x
x, *y = a; *z, w = b; return x, y, z, w
x, y = y, x = a, b; return x, y
(x, y), z = a, b
x = y = a; return x, y
x = a; del x; return x
x = a; x = b; return x
if a: x = b
if a: x = b\n return x
if a:\n  return b\n elif b:\n  return c\n else:\n  raise a(b)
for x in a: b(x)
for x in a:\n  if x: continue\n  if b: break\n  c(x)\n else: a(c)
for x, y in a(b): c(x, y)
while a: b()
while a:\n  if b: break\n  if c: continue\n  a.m()\n else: b.m()
while True:\n  if a: return b\n  c()\n  if c: break
for x in a:\n  for y in x:\n   if y: break\n  else: continue\n  break
assert a, b
assert a
raise a
raise ValueError(a) from b
try: a()\n except: b()
try: a()\n except ValueError: b()\n except (Exception, KeyError) as e: c(e)\n else: a(b)\n finally: c()
try: a()\n except a: b()
try: a()\n finally: b()
try: return a()\n finally: b()
for x in a:\n  try:\n   if b: continue\n   if c: break\n   a(x)\n  finally: c(x)
for x in a:\n  try:\n   b(x)\n  except Exception:\n   if c: continue\n   break
while a:\n  try:\n   return b()\n  finally:\n   if c: break
try:\n  try: a()\n  except Exception as e: raise b(e)\n  finally: c()\n except Exception: return a
try: a()\n except Exception:\n  try: b()\n  except Exception: raise\n  raise
try: raise ValueError\n except Exception as e:\n  x = e\n return x
try: a()\n except Exception as e: return b\n return c
with a: b()
with a as x: b(x)
with a as x, b as y: return c(x, y)
with a as (x, y): return x
with a:\n  return b()\n c()
for x in a:\n  with b:\n   if x: continue\n   if c: break\n   x()
with a:\n  try: b()\n  finally: c()
try:\n  with a: b()\n except Exception: return c
def g(x, y=b, *z, k=c, **w): return x, y, z, k, w\n return g(a), g(a, b, c, k=a, j=b)
def g(x: a = b) -> c: return x\n return g(a)
def g(): return a, b\n return g()
def g():\n  nonlocal a\n  a = b\n g(); return a
def g(): return a\n del a\n return g()
x = lambda y, *z: (y, z, a); return x(b, c)
class K(object):\n  x = a\n  def m(self): return b\n return K().m(), K.x
class K:\n  def m(self): return super().__init__(), __class__\n return K().m()[1]
class K:\n  def m(self): return super().nothing\n return K().m()
class K:\n  y = b\n  z = a\n  def m(self): return self.z\n return K().m()
class K:\n  a = a\n  if b: c = c\n return K
class K(object, metaclass=type): x: int = 1\n return K
@a\ndef g(): pass
global G\n G = a; x = G; del G; return x
return G1 + a
return undefined_name
import p.q; import p.q as r; from p import s, t as u; return p, r, s, u
from . import p
yield a; x = yield b; return x
x = yield from a; return x
try: yield a\n finally: b()
try: yield a\n except Exception: yield b
with a as x: yield x
for x in a: yield x
return (yield)
return a if (x := b) else x
a[b] += c; a.x.y -= b; return a[b][c]
return (a, b) == (c, a), [a] < [b]
if a is None: return b\n return c
if a is not None: return b\n return c
if None is a: x = b\n return x
while a is not None: a = None
while a is None: b()
a = None\n while a is None:\n  if b: a = c
return a if a is not None else b
x: int = a; return x
x: a
del a, b; return c
return ...
return (1, 2.5, 'x', b'y', None, True, 10**30, -0.0, 1j)
return {1, 2} if a in {1, 2} else a in (1, 'x')
return [1, 2, 3], {'a': 1, 'b': 2}, {1, 2, 3}
return a[b, c], a[...], a[b:, :c]
return print
""".strip().splitlines():
    program("def f(a, b, c):\n " + _line.replace("\\n", "\n"))

for _line in r"""
return await a
async with a as x: return b(x)
async with a:\n  await b
async for x in a: b(x)
async for x in a:\n  if b: break\n  if c: continue\n  await x\n else: c()
return [x async for x in a if b], {x: b async for x in a}
return [await x for x in a]
yield a
x = yield a; await b; yield x
try: yield a\n finally: await b
try: await a\n except Exception: return b
for x in a:\n  async with b: x()
async for x in a:\n  try: await x\n  except Exception: continue
""".strip().splitlines():
    program("async def f(a, b, c):\n " + _line.replace("\\n", "\n"))

for _case in r"""
case []: return b
case [x, y]: return x, y
case [x, *y, z]: return x, y, z
case {'k': x, **r}: return x, r
case {'k': 1 | 2 as x}: return x
case P(x, y=1): return x
case P(x=1, y=z): return z
case int(x) | str(x): return x
case None | True: return b
case 1 | 'x': return c
case -1.5: return c
case x if x: return x
case _: return a
case [x, y, z, w, *v]: return x, y, z, w, v
case [x, [y, z, w, v, u]]: return x, y, z, w, v, u
case [x, y, z, w, v] | [x, y, z, w, [v]]: return x, y, z, w, v
""".strip().splitlines():
    for _subject in (
        "[]",
        "[a, b]",
        "[a, b, c]",
        "{'k': a}",
        "{'k': 1, 'j': b}",
        "P(a, 1)",
        "P(1, b)",
        "1",
        "'x'",
        "None",
        "a",
        "()",
        "(a,)",
        "(a, b, c, 1, 2)",
        "[a, (b, c, 1, 2, a)]",
    ):
        program("def f(a, b, c):\n match %s:\n  %s\n return c" % (_subject, _case))

for _line in r"""
try: raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\n except* ValueError as e: a(type(e))\n except* KeyError: b()
try: a()\n except* Boom: b()
try: a()\n except* ValueError: b()\n finally: c()
try: raise ExceptionGroup('g', [ValueError(1)])\n except* KeyError: b()
def g[T](x: T): return x\n return g(a)
def g[T: int, *U, **V](x): return x\n return g(a)
class K[T]: x = a\n return K.x
type X = a\n return X.__value__
class K:\n  y = a\n  type X = (y, G1)\n return K.X.__value__
return t'{a}{b!r:x}'.values
def g[T = a](x): return x\n return g(a)
return [*x for x in a], {**x for x in [{1: b}]}
""".strip().splitlines():
    program("def f(a, b, c):\n " + _line.replace("\\n", "\n"))

program(
    "x: int = 1\ny = x + 1\nif y:\n  z: str = 'a'\ndel x\nclass C:\n  v = y\n  def m(self): return y\n",
    "exec",
)
program("from q import *\nimport q.r\nfrom q import s\nw = G1\nG1(w)\n", "exec")
program(
    "for i in G1: G2(i)\nwith G1 as t: G2(t)\ntry: G1()\nexcept Exception as e: G2(e)\n", "exec"
)
program("1 + G1\n", "single")
program("from __future__ import annotations\nx: G1.y = 1\n", "exec")
program(
    "def f(a, b, c):\n  def g(): yield from a; yield b\n  def h(): x = yield from g(); return x\n  return list(h())\n"
)
program(
    "def f(a, b, c):\n  x = 1\n  def g():\n    class K:\n      x = x if a else b\n      y = x\n    return K\n  return g()\n"
)
program("def f(a, b, c):\n  x = a\n  class K:\n    y = x\n    z = [x for _ in b]\n  return K\n")
program("def f(a, b, c):\n  x = a\n  def g(): return x\n  del x\n  return b\n")
program("def f(a, b, c):\n  return a(b, c)[b, c, a]\n")
program(
    "def f(a, b, c):\n  x = [a, b, c]\n  x[0], x[1], x[2] = x[2], x[0], x[1]\n  y, z, w, v = a, b, c, a\n  return x, y, z, w, v\n"
)
program(
    "def f(a, b, c):\n" + "".join("  v%d = a\n" % i for i in range(300)) + "  return v299, v0\n"
)


# ------------------------------------------------------------------ running


class P(object):
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


def new_globals():
    def importer(name, globals_=None, locals_=None, fromlist=(), level=0):
        if name == "typing":  # the interpreter's own, for type parameters
            return importlib.import_module(name)
        LOG.step("import %s %s %s" % (name, show(fromlist), level))
        if fromlist == ("*",):
            module = types.ModuleType(name)
            module.star1, module.star2 = LOG.new(), LOG.new()
            return module
        return LOG.new()

    held = dict(vars(builtins))
    held["__import__"] = importer
    return {
        "__builtins__": held,
        "__name__": "m",
        "G1": Recorder("G1"),
        "G2": Recorder("G2"),
        "P": P,
        "Boom": Boom,
    }


def drive(made):
    """Runs a generator or coroutine to its end; what it yields goes into the result."""
    out = []
    if hasattr(type(made), "__anext__"):

        async def consume():
            async for x in made:
                out.append("item " + show(x))

        made = consume()
    if type(made) is Recorder or not hasattr(made, "send"):
        return made
    given = None
    for _ in range(200):
        try:
            got = made.send(given)
        except StopIteration as stop:
            return out, stop.value
        out.append(show(got))
        LOG.step("yielded")
        given = LOG.new()
    return out, "endless"


def outcome(action, globals_, truths, raise_at):
    global LOG
    LOG = Log(truths, raise_at)
    display = sys.displayhook
    sys.displayhook = lambda x: LOG.lines.append("display " + show(x))
    try:
        result = "returns " + show(drive(action()))
    except AssertionError as error:
        if (
            error.args
            and isinstance(error.args[0], str)
            and (
                "evaluator" in error.args[0]
                or "control reached" in error.args[0]
                or "INTRINSIC" in error.args[0]
            )
        ):
            raise
        result = "raises " + show(error)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, MemoryError)):
            raise
        result = "raises " + show(error)
    finally:
        sys.displayhook = display
    names = {
        k: v
        for k, v in globals_.items()
        if k not in ("f", "__annotate__", "__conditional_annotations__")
    }
    return LOG.lines, result, show(names)


def real(kind, code, globals_):
    if kind != "function":
        return lambda: exec(code, globals_)
    exec(code, globals_)
    return lambda: globals_["f"](Recorder("a"), Recorder("b"), Recorder("c"))


def lifted(kind, world, code, globals_):
    if kind != "function":
        frame = Frame(world, code, globals_, globals_, ())
        return lambda: world.start(frame)
    function = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == "f")
    return lambda: world.function(function, globals_)(Recorder("a"), Recorder("b"), Recorder("c"))


def programs():
    for number, (kind, source) in enumerate(PROGRAMS):
        try:
            code = compile(
                source,
                "<program %d>" % number,
                "single" if kind == "single" else "exec",
                dont_inherit=True,
            )
        except SyntaxError:
            continue
        yield number, kind, source, code


def main(mode, folder):
    if mode == "compile":
        for number, kind, source, code in programs():
            with open(os.path.join(folder, "%03d.pyc" % number), "wb") as out:
                out.write(importlib.util.MAGIC_NUMBER + b"\0" * 12 + marshal.dumps(code))
        return
    failures, opcodes, runs, number_of_programs = [], set(), 0, 0
    for number, kind, source, code in programs():
        number_of_programs += 1
        with open(os.path.join(folder, "%03d.lift" % number), encoding="utf-8") as text:
            parts = re.split(r"^== .*\n", text.read(), flags=re.M)[1:]
        with open(os.path.join(folder, "%03d.pyc" % number), "rb") as compiled:
            loaded = marshal.loads(compiled.read()[16:])
        try:
            world = World(loaded, [part.rstrip("\n") for part in parts])
        except Exception as error:
            failures.append("%s\n-> cannot read the dump: %r" % (source, error))
            continue
        done = False
        for truths in ([True], [False], [True, False], [False, True, True]):
            raise_at = steps = 0
            while not done:
                first, second = new_globals(), new_globals()
                expected = outcome(real(kind, loaded, first), first, truths, raise_at)
                try:
                    got = outcome(lifted(kind, world, loaded, second), second, truths, raise_at)
                except AssertionError as error:
                    got = ([], str(error), "")
                runs += 1
                if expected != got:
                    at = next(
                        (
                            i
                            for i, pair in enumerate(zip(expected[0], got[0]))
                            if pair[0] != pair[1]
                        ),
                        min(len(expected[0]), len(got[0])),
                    )
                    failures.append(
                        "%s\n-> truths %s, raise at %d: interpreter %s %s %s, lift %s %s %s"
                        % (
                            source,
                            truths,
                            raise_at,
                            expected[0][at : at + 3],
                            expected[1],
                            "" if expected[2] == got[2] else expected[2],
                            got[0][at : at + 3],
                            got[1],
                            "" if expected[2] == got[2] else got[2],
                        )
                    )
                    done = True
                if not raise_at:
                    steps = min(len(expected[0]), 60)
                raise_at += 1
                if raise_at > steps:
                    break
    for code in EVALUATED.values():
        opcodes.update(instruction.opname for instruction in dis.get_instructions(code))
    known = {
        name
        for name, number in dis.opmap.items()
        if number < 256 and not name.startswith("INSTRUMENTED_")
    }
    print(
        json.dumps(
            {
                "failures": failures,
                "missing": sorted(known - opcodes),
                "programs": number_of_programs,
                "runs": runs,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
