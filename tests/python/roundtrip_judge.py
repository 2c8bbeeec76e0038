"""Are two trees of code objects of the running interpreter the same program? Written against `dis` alone, so that it knows nothing of depyf.

strict: the same instructions in the same order; operands by value, jumps and exception table by instruction. EXTENDED_ARG and CACHE do not count.
lenient: the two control-flow graphs cannot be told apart by walking them in lockstep from the entry: NOPs and unconditional jumps are invisible,
unreachable code is never seen, superinstructions are split, a test with swapped arms is the same test.
Each code object is judged by itself; a nested one is "child k named n" in its parent. Runs on 3.7 to 3.15.
"""

import dis
import struct
import sys
import types

VERSION = sys.version_info[:2]
NAMES = dis.opname
TAKES_OPERAND = set(getattr(dis, "hasarg", ())) or set(range(dis.HAVE_ARGUMENT, 256))
SPLIT = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
GOES_BACK = {name for name in NAMES if "JUMP_BACKWARD" in name} | ({"END_ASYNC_FOR"} if VERSION >= (3, 14) else set())
JUMPS = {"JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
ENDS = {"RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "BREAK_LOOP"}
TESTS = {
    "POP_JUMP_IF_TRUE": ("TEST", True),
    "POP_JUMP_IF_FALSE": ("TEST", False),
    "POP_JUMP_IF_NONE": ("TEST_NONE", True),
    "POP_JUMP_IF_NOT_NONE": ("TEST_NONE", False),
}
HAS_DOCSTRING = 0x4000000


def constant_key(value):
    """Equal for constants that no program can tell apart."""
    kind = type(value)
    if kind is float:
        return "float", "nan" if value != value else struct.pack(">d", value)
    if kind is complex:
        return "complex", constant_key(value.real), constant_key(value.imag)
    if kind is tuple:
        return ("tuple",) + tuple(constant_key(item) for item in value)
    if kind is frozenset:
        return "frozenset", frozenset(constant_key(item) for item in value)
    if kind is slice:
        return "slice", constant_key(value.start), constant_key(value.stop), constant_key(value.step)
    return kind.__name__, value


class Shape:
    """One code object with every operand resolved."""

    def __init__(self, code):
        self.ops, self.values, self.targets, self.children = [], [], [], []
        self._decode(code)
        flags = code.co_flags
        count = code.co_argcount + code.co_kwonlyargcount + bool(flags & 4) + bool(flags & 8)
        doc = None
        if flags & 3 == 3 and not code.co_name.startswith("<") and code.co_consts and (VERSION < (3, 14) or flags & HAS_DOCSTRING):
            doc = code.co_consts[0] if isinstance(code.co_consts[0], str) else None
        self.header = (
            code.co_name, getattr(code, "co_qualname", None), code.co_argcount, getattr(code, "co_posonlyargcount", 0),
            code.co_kwonlyargcount, flags, code.co_varnames[:count], doc,
        )

    def _decode(self, code):
        raw, operand, start = [], 0, None
        for at in range(0, len(code.co_code), 2):
            op, arg = code.co_code[at], code.co_code[at + 1]
            if NAMES[op] == "CACHE":
                continue
            start = at if start is None else start
            operand = operand << 8 | arg
            if NAMES[op] == "EXTENDED_ARG":
                continue
            raw.append((start, op, operand))
            operand, start = 0, None
        index = {entry[0]: i for i, entry in enumerate(raw)}
        index[len(code.co_code)] = len(raw)
        starts = [entry[0] for entry in raw] + [len(code.co_code)]

        if VERSION >= (3, 11):
            local = cell = code._varname_from_oparg
        else:
            local, cell = code.co_varnames.__getitem__, (code.co_cellvars + code.co_freevars).__getitem__
        numbers = {}
        for i, (_, op, arg) in enumerate(raw):
            name, value, target = NAMES[op], None, None
            if op not in TAKES_OPERAND:
                pass
            elif op in dis.hasjrel or op in dis.hasjabs:
                unit = 2 if VERSION >= (3, 10) else 1
                if op in dis.hasjabs:
                    offset = arg * unit
                else:
                    offset = starts[i + 1] + (-arg if name in GOES_BACK else arg) * unit
                target = index[offset]
            elif op in dis.hasconst:
                value = code.co_consts[arg]
                if isinstance(value, types.CodeType):
                    if arg not in numbers:
                        numbers[arg] = len(self.children)
                        self.children.append(value)
                    value = "code", numbers[arg], value.co_name
                else:
                    value = constant_key(value)
            elif op in dis.hasname:
                shift = 0
                if name == "LOAD_GLOBAL" and VERSION >= (3, 11) or name == "LOAD_ATTR" and VERSION >= (3, 12):
                    shift = 1
                elif name == "LOAD_SUPER_ATTR" or name == "IMPORT_NAME" and VERSION >= (3, 15):
                    shift = 2
                value = code.co_names[arg >> shift], arg & ((1 << shift) - 1)
            elif name in SPLIT:
                value = local(arg >> 4), local(arg & 15)
            elif op in dis.haslocal:
                value = local(arg)
            elif op in dis.hasfree:
                value = cell(arg)
            else:
                value = arg
            if name == "STORE_NAME" and value[0] == "__firstlineno__" and self.ops:
                self.ops[-1], self.values[-1] = "LOAD_CONST", "line"
            if name == "MAKE_FUNCTION" and VERSION < (3, 11) and isinstance(self.values[-1], tuple) and self.values[-1][0] == "str":
                self.values[-1] = "qualname", self.values[-1][1].rpartition(".")[2]
            self.ops.append(name)
            self.values.append(value)
            self.targets.append(target)

        self.handlers = [None] * len(raw)
        entries = iter(getattr(code, "co_exceptiontable", b""))

        def number(byte):
            out = byte & 63
            while byte & 64:
                byte = next(entries)
                out = out << 6 | byte & 63
            return out

        for byte in entries:
            begin = number(byte) * 2
            end = begin + number(next(entries)) * 2
            target = index[number(next(entries)) * 2]
            depth_lasti = number(next(entries))
            for i, at in enumerate(starts[:-1]):
                if begin <= at < end:
                    self.handlers[i] = target, depth_lasti

    def graph(self):
        """(label, operand, successors, handler) by node; label None: invisible."""
        first, parts = [], []
        for i, name in enumerate(self.ops):
            first.append(len(parts))
            value = self.values[i]
            if name in SPLIT:
                parts.extend((op, part, i) for op, part in zip(SPLIT[name], value))
            elif name == "RETURN_CONST":
                parts += [("LOAD_CONST", value, i), ("RETURN_VALUE", None, i)]
            elif name == "LOAD_SMALL_INT":
                parts.append(("LOAD_CONST", ("int", value), i))
            else:
                parts.append((name.replace("_FORWARD_IF", "_IF").replace("_BACKWARD_IF", "_IF").replace("_FAST_BORROW", "_FAST"), value, i))
        first.append(len(parts))
        nodes = []
        for k, (name, value, i) in enumerate(parts):
            target = None if self.targets[i] is None else first[self.targets[i]]
            if name in ("NOP", "NOT_TAKEN"):
                label, successors = None, (k + 1,)
            elif name in JUMPS:
                label, successors = None, (target,)
            elif name in TESTS:
                label, jumps = TESTS[name]
                successors = (target, k + 1) if jumps else (k + 1, target)
            elif name in ENDS:
                label, successors = name, ()
            elif name == "CONTINUE_LOOP":
                label, successors = name, (target,)
            else:
                label, successors = name, (k + 1,) if target is None else (k + 1, target)
            handler = self.handlers[i]
            nodes.append((label, value, successors, handler and (first[handler[0]], handler[1])))
        return nodes


def same_strict(a, b):
    return (a.header, a.ops, a.values, a.targets, a.handlers) == (b.header, b.ops, b.values, b.targets, b.handlers)


def same_lenient(a, b):
    if a.header != b.header:
        return False
    graphs = a.graph(), b.graph()

    def visible(nodes, k):
        passed = set()
        while k < len(nodes) and nodes[k][0] is None:
            if k in passed:
                return "for ever"
            passed.add(k)
            k = nodes[k][2][0]
        return k if k < len(nodes) else "end"

    work, seen = [(0, 0)], set()
    while work:
        pair = tuple(visible(nodes, k) for nodes, k in zip(graphs, work.pop()))
        if pair in seen:
            continue
        seen.add(pair)
        if isinstance(pair[0], str) or isinstance(pair[1], str):
            if pair[0] != pair[1]:
                return False
            continue
        x, y = graphs[0][pair[0]], graphs[1][pair[1]]
        if x[:2] != y[:2] or (x[3] is None) != (y[3] is None) or x[3] and x[3][1] != y[3][1]:
            return False
        if x[3]:
            work.append((x[3][0], y[3][0]))
        work.extend(zip(x[2], y[2]))
    return True


def tree(code):
    """{path: Shape}; a path is names with an occurrence number among siblings."""
    out, work = {}, [(code, code.co_name)]
    while work:
        code, path = work.pop()
        shape = out[path] = Shape(code)
        count = {}
        for child in shape.children:
            n = count[child.co_name] = count.get(child.co_name, -1) + 1
            work.append((child, path + "/" + child.co_name + ("#%d" % n if n else "")))
    return out


def judge(original, other):
    """{path: "strict", "lenient" or "different"} for each code object; "" is there when `other` has more."""
    a, b = tree(original), tree(other)
    out = {} if set(b) <= set(a) else {"": "different"}
    for path, shape in a.items():
        if path not in b:
            out[path] = "different"
        elif same_strict(shape, b[path]):
            out[path] = "strict"
        else:
            out[path] = "lenient" if same_lenient(shape, b[path]) else "different"
    return out


def accepts(original, other):
    """The whole tree is leniently equal. Code that cannot be decoded is equal to nothing."""
    try:
        return "different" not in judge(original, other).values()
    except (IndexError, KeyError, StopIteration, RuntimeError, ValueError):
        return False
