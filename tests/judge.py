"""Is decompiled source the same program? The project's own judge: it knows nothing of the
decompiler.

Runs under the CPython whose bytecode is judged (3.7 and later), without packages. Two code objects
are equal

* strictly, when they hold the same instructions in the same order, operands compared as values;
* leniently, when their control-flow graphs cannot be told apart by walking both from the entry in
  lockstep
  (bisimulation of deterministic graphs), with the same operands and the same exception handler at
  every step.

Lenient ignores what depends on layout only: NOPs, unconditional jumps, unreachable code, the order
of blocks, duplicated tails, which arm of a condition jumps, super-instructions. Both also compare
the header: name, qualified name, kinds and names of arguments, flags, docstring. A nested code
object appears in its parent only by its name and its number among its namesakes, and is judged by
itself.

    python3.X judge.py [-O LEVEL] < LIST     lines "original.pyc<TAB>output.py"; writes one JSON
                                             object a line
"""

import argparse
import json
import marshal
import opcode
import sys
from collections import deque
from types import CodeType

VERSION = sys.version_info[:2]
OPNAME = opcode.opname
CONST = frozenset(opcode.hasconst)
NAME = frozenset(opcode.hasname)
LOCAL = frozenset(opcode.haslocal)
FREE = frozenset(opcode.hasfree)
JREL = frozenset(opcode.hasjrel)
JABS = frozenset(opcode.hasjabs)
EXTENDED_ARG = opcode.EXTENDED_ARG
HAVE_ARGUMENT = opcode.HAVE_ARGUMENT
UNIT = 2 if VERSION >= (3, 10) else 1  # jumps count code units since 3.10, bytes before


def _caches():
    """Inline cache entries after each opcode (3.11+)."""
    entries = getattr(opcode, "_inline_cache_entries", None)
    if entries is None:
        return [0] * 256
    if hasattr(entries, "get"):
        return [entries.get(name, 0) for name in OPNAME]
    return list(entries) + [0] * (256 - len(entries))


CACHES = _caches()
INVISIBLE = frozenset(["NOP", "NOT_TAKEN", "CACHE", "EXTENDED_ARG"])
JUMPS = frozenset(["JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"])
ENDS = frozenset(["RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "BREAK_LOOP"])
# name -> (what is tested, does it jump when the test holds)
BRANCHES = {}
for _way in ("", "FORWARD_", "BACKWARD_"):
    BRANCHES["POP_JUMP_%sIF_TRUE" % _way] = ("TRUE", True)
    BRANCHES["POP_JUMP_%sIF_FALSE" % _way] = ("TRUE", False)
    BRANCHES["POP_JUMP_%sIF_NONE" % _way] = ("NONE", True)
    BRANCHES["POP_JUMP_%sIF_NOT_NONE" % _way] = ("NONE", False)
BACKWARD = frozenset(op for op in JREL if "BACKWARD" in OPNAME[op])
# The low bits of these operands are flags beside the index of the name.
NAME_SHIFT = {}
if VERSION >= (3, 11):
    NAME_SHIFT["LOAD_GLOBAL"] = 1
if VERSION >= (3, 12):
    NAME_SHIFT["LOAD_ATTR"] = 1
    NAME_SHIFT["LOAD_SUPER_ATTR"] = 2
if VERSION >= (3, 15):
    NAME_SHIFT["IMPORT_NAME"] = 2
PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
SMALL_INT = "LOAD_SMALL_INT"
MAKE_FUNCTION = opcode.opmap["MAKE_FUNCTION"]


def constant_key(value):
    """A hashable form that tells 1, True and 1.0 apart, and 0.0 and -0.0; every nan is one."""
    kind = type(value)
    if kind is tuple:
        return ("tuple",) + tuple([constant_key(v) for v in value])
    if kind is frozenset:
        return ("frozenset", frozenset([constant_key(v) for v in value]))
    if kind is float:
        return ("float", "nan" if value != value else value.hex())
    if kind is complex:
        return ("complex", constant_key(value.real), constant_key(value.imag))
    if kind is slice:
        return (
            "slice",
            constant_key(value.start),
            constant_key(value.stop),
            constant_key(value.step),
        )
    return (kind.__name__, value)


def child_keys(code):
    """co_consts index -> (name, number among namesakes) of nested code objects."""
    counts, keys = {}, {}
    for index, value in enumerate(code.co_consts):
        if isinstance(value, CodeType):
            number = counts.get(value.co_name, 0)
            counts[value.co_name] = number + 1
            keys[index] = (value.co_name, number)
    return keys


def exception_rows(table):
    """Rows (start, end, target, depth, lasti) in bytes; the encoding is described in
    Objects/exception_handling_notes.txt.
    """
    rows, at = [], 0

    def number():
        nonlocal at
        byte = table[at]
        at += 1
        value = byte & 63
        while byte & 64:
            byte = table[at]
            at += 1
            value = value << 6 | byte & 63
        return value

    while at < len(table):
        start = number() * 2
        end = start + number() * 2
        target = number() * 2
        bits = number()
        rows.append((start, end, target, bits >> 1, bits & 1))
    return rows


def variable_names(code):
    """What LOAD_FAST's and LOAD_DEREF's operands number."""
    if VERSION >= (3, 11):
        cells = [n for n in code.co_cellvars if n not in code.co_varnames]
        names = list(code.co_varnames) + cells + list(code.co_freevars)
        return names, names
    return list(code.co_varnames), list(code.co_cellvars) + list(code.co_freevars)


class Graph:
    """The visible instructions of one code object: label, successors and handler of each."""

    def __init__(self, code):
        self.code = code
        self.names = []  # opcode names, for messages
        self.labels = []
        self.jumps = []  # byte offset of the jump target, or None
        self.kinds = []  # 0 plain, 1 unconditional jump, 2 ends, 3 and 5 condition that jumps when true or false,
        # 4 invisible, 6 goes on or jumps, 7 jumps only
        self.offsets = []
        self._decode()
        self._resolve()

    def _add(self, name, label, offset, kind=0, jump=None):
        self.names.append(name)
        self.labels.append(label)
        self.offsets.append(offset)
        self.kinds.append(kind)
        self.jumps.append(jump)

    def _decode(self):
        code = self.code
        raw, consts, names = code.co_code, code.co_consts, code.co_names
        local, deref = variable_names(code)
        children = child_keys(code)
        first = self.first = {}
        add = self._add
        at, extended, start = 0, 0, 0
        size = len(raw)
        while at < size:
            op, arg = raw[at], raw[at + 1] | extended
            if not extended:
                start = at
            at += 2
            if op == EXTENDED_ARG:
                extended = arg << 8
                first.setdefault(start, len(self.names))
                continue
            extended = 0
            at += 2 * CACHES[op]
            name = OPNAME[op]
            first[start] = first[at - 2 - 2 * CACHES[op]] = len(self.names)
            if name in INVISIBLE:
                add(name, None, start, 4)
                continue
            if name in JUMPS:
                target = (
                    arg * UNIT
                    if op in JABS
                    else at - arg * UNIT
                    if op in BACKWARD
                    else at + arg * UNIT
                )
                add(name, None, start, 1, target)
                continue
            if name in PAIRS:
                one, two = PAIRS[name]
                add(one, (one, local[arg >> 4]), start)
                add(two, (two, local[arg & 15]), start)
                continue
            if name == "RETURN_CONST":
                add("LOAD_CONST", ("LOAD_CONST", self._constant(arg, consts, children)), start)
                add("RETURN_VALUE", ("RETURN_VALUE", 0), start, 2)
                continue
            if name in BRANCHES:
                target = (
                    arg * UNIT
                    if op in JABS
                    else at - arg * UNIT
                    if op in BACKWARD
                    else at + arg * UNIT
                )
                test, when = BRANCHES[name]
                add(name, ("BRANCH", test), start, 3 if when else 5, target)
                continue
            if name == "LOAD_FAST_BORROW":
                name = "LOAD_FAST"
            if name == SMALL_INT:
                add("LOAD_CONST", ("LOAD_CONST", ("int", arg)), start)
            elif op in JREL or op in JABS:
                target = (
                    arg * UNIT
                    if op in JABS
                    else at - arg * UNIT
                    if op in BACKWARD
                    else at + arg * UNIT
                )
                add(name, (name, 0), start, 7 if name == "CONTINUE_LOOP" else 6, target)
            elif op in CONST:
                add(name, (name, self._constant(arg, consts, children)), start)
            elif op in NAME:
                shift = NAME_SHIFT.get(name, 0)
                add(name, (name, names[arg >> shift], arg & ((1 << shift) - 1)), start)
            elif op in LOCAL:
                add(name, (name, local[arg]), start)
            elif op in FREE:
                add(name, (name, deref[arg]), start)
            else:
                add(
                    name,
                    (name, arg if op >= HAVE_ARGUMENT or VERSION >= (3, 13) else 0),
                    start,
                    2 if name in ENDS else 0,
                )
        self._blank()

    def _constant(self, index, consts, children):
        if index in children:
            return ("code",) + children[index]
        return constant_key(consts[index])

    def _blank(self):
        """Operands that follow from where things stand, not from what they are."""
        names, labels = self.names, self.labels
        for i in range(len(names) - 1):
            if names[i] != "LOAD_CONST":
                continue
            qualified_name = VERSION < (3, 11) and names[i + 1] == "MAKE_FUNCTION"
            line_number = names[i + 1] == "STORE_NAME" and labels[i + 1][1] == "__firstlineno__"
            if qualified_name or line_number:
                labels[i] = ("LOAD_CONST", "blanked")

    def _visible(self, index):
        """The first visible instruction from here on: an index, -1 for an empty endless loop, -2
        for the end of the code.
        """
        seen = set()
        kinds, jumps, first = self.kinds, self.jumps, self.first
        while True:
            if index >= len(kinds):
                return -2
            kind = kinds[index]
            if kind == 1:
                if index in seen:
                    return -1
                seen.add(index)
                index = first.get(jumps[index], len(kinds))
            elif kind == 4:
                index += 1
            else:
                return index

    def _resolve(self):
        count = len(self.names)
        handler = [None] * count
        if VERSION >= (3, 11):
            rows = exception_rows(self.code.co_exceptiontable)
            row = 0
            for i, offset in enumerate(self.offsets):
                while row < len(rows) and rows[row][1] <= offset:
                    row += 1
                if row < len(rows) and rows[row][0] <= offset:
                    _, _, target, depth, lasti = rows[row]
                    handler[i] = (self.first[target], depth, lasti)
        self.handlers = handler
        self.cache = {}

    def successors(self, i):
        """Nodes after node i, in an order that its label gives meaning to."""
        found = self.cache.get(i)
        if found is not None:
            return found
        kind = self.kinds[i]
        out = []
        if kind != 2:
            out.append(self._visible(i + 1))
            if kind >= 3:
                target = self._visible(self.first.get(self.jumps[i], len(self.names)))
                # a condition: [when it holds, when not]
                out = [target] if kind == 7 else [target, out[0]] if kind == 3 else [out[0], target]
        handler = self.handlers[i]
        if handler is not None:
            out.append(self._visible(handler[0]))
        self.cache[i] = out
        return out

    def step(self, i):
        """What is compared at one node, successors apart."""
        handler = self.handlers[i]
        return self.labels[i], handler[1:] if handler is not None else None

    def entry(self):
        return self._visible(0)

    def line(self, i):
        offset = self.offsets[i]
        found = self.code.co_firstlineno
        if hasattr(self.code, "co_lines"):
            for start, end, line in self.code.co_lines():
                if start <= offset < end and line is not None:
                    return line
            return found
        import dis

        for start, line in dis.findlinestarts(self.code):
            if start <= offset:
                found = line
        return found


def graph_difference(a, b):
    """None when the graphs are bisimilar, else (reason, detail) for the nearest place where they
    part.
    """
    start = (a.entry(), b.entry())
    seen, queue = {start}, deque([start])
    while queue:
        i, j = queue.popleft()
        if i < 0 or j < 0:
            if i == j:
                continue
            words = {-1: "an endless loop", -2: "the end of the code"}
            left, right = (words.get(x) or g.names[x] for x, g in ((i, a), (j, b)))
            return "%s became %s" % (left, right), ""
        x, y = a.step(i), b.step(j)
        if x != y:
            where = " (line %d)" % a.line(i)
            if x[0] == y[0]:
                return "another handler at %s" % a.names[i], "%r became %r%s" % (x[1], y[1], where)
            if x[0][0] == y[0][0]:
                return "another operand of %s" % x[0][0], "%r became %r%s" % (
                    x[0][1:],
                    y[0][1:],
                    where,
                )
            return "%s became %s" % (x[0][0], y[0][0]), "%r became %r%s" % (x[0], y[0], where)
        for pair in zip(a.successors(i), b.successors(j)):
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
    return None


def header_difference(a, b):
    """None when what a caller sees of two code objects is the same, else (reason, detail)."""
    fields = [
        "co_name",
        "co_qualname",
        "co_argcount",
        "co_posonlyargcount",
        "co_kwonlyargcount",
        "co_flags",
    ]
    # CPython reads CO_NESTED of functions alone, and from 3.13 on of class bodies.
    module = a.co_name == b.co_name == "<module>"
    functions = (a.co_flags | b.co_flags) & 1
    unread = 0x10 if not functions and (module or VERSION < (3, 13)) else 0
    for field in fields:
        x, y = getattr(a, field, None), getattr(b, field, None)
        if field == "co_flags":
            x, y = x & ~unread, y & ~unread
        if x != y:
            return "another " + field, "%r became %r" % (x, y)
    arguments = a.co_argcount + a.co_kwonlyargcount + bool(a.co_flags & 4) + bool(a.co_flags & 8)
    x, y = a.co_varnames[:arguments], b.co_varnames[:arguments]
    if x != y:
        return "other argument names", "%r became %r" % (x, y)
    x, y = docstring(a), docstring(b)
    if x != y:
        return "another docstring", "%.60r became %.60r" % (x, y)
    return None


def docstring(code):
    if (
        not code.co_flags & 2
    ):  # CO_NEWLOCALS: a function; a class or module stores its docstring by instructions
        return None
    if VERSION >= (3, 14) and not code.co_flags & 0x4000000:
        return None
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) and not code.co_name.startswith("<") else None


def strictly_equal(a, b):
    """The same visible and invisible instructions in the same order, jumps by the index of their
    target.
    """
    if len(a.names) != len(b.names) or a.names != b.names or a.labels != b.labels:
        return False
    for g, h in zip(a.jumps, b.jumps):
        if (g is None) != (h is None) or (g is not None and a.first.get(g) != b.first.get(h)):
            return False
    return a.handlers == b.handlers


def code_objects(root):
    """(path, code) of every code object of the tree, the root first; paths number namesakes."""
    out, pending = [], [("", root)]
    while pending:
        path, code = pending.pop()
        out.append((path, code))
        keys = child_keys(code)
        for index in sorted(keys, reverse=True):
            name, number = keys[index]
            pending.append(
                (
                    "%s/%s%s" % (path, name, "#%d" % (number + 1) if number else ""),
                    code.co_consts[index],
                )
            )
    return out


def compare_code(a, b):
    """(strict, lenient, reason, detail) for two code objects, nested ones apart."""
    marker = failure_marker(b)
    if marker:
        return False, False, marker, ""
    different = header_difference(a, b)
    if different:
        return False, False, different[0], different[1]
    ga, gb = Graph(a), Graph(b)
    if strictly_equal(ga, gb):
        return True, True, "", ""
    different = graph_difference(ga, gb)
    if different:
        return False, False, different[0], different[1]
    return False, True, "", ""


def failure_marker(code):
    for value in code.co_consts:
        if isinstance(value, str) and value.startswith("depyf could not decompile this code: "):
            return "not decompiled: " + value[len("depyf could not decompile this code: ") :]
    return None


def read_pyc(path):
    with open(path, "rb") as f:
        data = f.read()
    return marshal.loads(data[16:])


def compare_files(pyc, output, optimize=-1):
    """One row: did the output compile, and how does each code object compare."""
    original = read_pyc(pyc)
    row = {"pyc": pyc, "output": output, "codes": [], "compiles": False}
    theirs = {}
    try:
        with open(output, "rb") as f:
            source = f.read()
        theirs = dict(
            code_objects(compile(source, output, "exec", dont_inherit=True, optimize=optimize))
        )
        row["compiles"] = True
    except OSError:
        row["error"] = "no output"
    except SyntaxError as error:
        row["error"] = "%s: %s" % (type(error).__name__, error.msg)
        row["error_line"] = error.lineno
        lines = source.split(b"\n")
        if error.lineno and 0 < error.lineno <= len(lines):
            row["error_text"] = lines[error.lineno - 1].decode("utf-8", "replace").strip()[:200]
    except (ValueError, MemoryError, RecursionError, OverflowError, SystemError) as error:
        row["error"] = "%s: %s" % (type(error).__name__, error)
    equal_strict = equal_lenient = row["compiles"]
    wrong = set()
    for path, code in code_objects(original):
        other = theirs.pop(path, None)
        if not row["compiles"]:
            result = (False, False, "the file does not compile", "")
        elif other is None:
            wrong_parent = path.rpartition("/")[0] in wrong
            result = (
                False,
                False,
                "missing below a wrong parent" if wrong_parent else "missing",
                "",
            )
        else:
            result = compare_code(code, other)
        strict, lenient, reason, detail = result
        if not lenient:
            wrong.add(path)
        equal_strict = equal_strict and strict
        equal_lenient = equal_lenient and lenient
        row["codes"].append(
            [
                getattr(code, "co_qualname", path.strip("/").replace("/", ".") or "<module>"),
                code.co_firstlineno,
                strict,
                lenient,
                reason,
                detail,
            ]
        )
    row["extra"] = sorted(theirs)
    row["strict"] = equal_strict and not theirs
    row["lenient"] = equal_lenient and not theirs
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-O", dest="optimize", type=int, default=-1)
    options = parser.parse_args()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
    for line in sys.stdin:
        pyc, output = line.rstrip("\n").split("\t")
        print(json.dumps(compare_files(pyc, output, options.optimize)), flush=True)


if __name__ == "__main__":
    main()
