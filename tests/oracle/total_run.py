"""Decompiles code that no compiler writes, compiles the result, runs both, and compares what they
did.

Runs under any CPython from 3.7 on. Three kinds of functions:
  graph   random control-flow graphs, put together from instructions: irreducible, with jumps into
  loops and (3.11+) into
          protected code, overlapping rows of the exception table, values left on the stack across
          branches, EXTENDED_ARG 0
  source  random source (flow_run.py), compiled, decompiled from the first rung of the ladder that
          is asked for
  junk    plain statements with what simple obfuscators put between them: jumps to and fro, NOPs,
          blocks split, values pushed and popped,
          branches on constants whose other way leads into the middle of things; most must have
          plain structure
  obfuscated  random source as modules, classes and functions, with handlers, comprehensions and
  (3.10+) patterns, whose code obfuscate.py
          has put junk into
  kept    the functions of the folder `functions`, which once came out wrong or without structure:
  they must have plain structure,
          unless they say `Ladder`
The events that calls record (with the exception being handled), the result and the type of an
exception must be equal.

    python3.X total_run.py DEPYF graph|source|junk|obfuscated|kept [FUNCTIONS [SEED [LADDER]]]
            DEPYF is the native command
"""

import dis
import glob
import importlib.util
import marshal
import opcode
import os
import random
import re
import subprocess
import sys
import tempfile
import types
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import flow_run  # noqa: E402
import obfuscate  # noqa: E402

MINOR = sys.version_info[1]
OPS = opcode.opmap
CALLS = 24
EVENTS = 60
RUNS = 8
SHOWN = int(os.environ.get("SHOWN", "2"))


class Stop(BaseException):
    pass


class Script(flow_run.Script):
    """As in flow_run, but it ends every function: no graph here goes round without a call."""

    def event(self, *what):
        super().event(*what)
        if len(self.events) > EVENTS:
            raise Stop
        return True

    def ev(self, k=None):
        self.event("ev", k)
        return self.maybe_raise(0.06) < 0.6

    def names(self):
        return dict(super().names(), ev=self.ev)


# ---------------------------------------------------------------- assembler


def snippets():
    """The template function, and the bytes of its lines."""
    text = "def f():\n x = 7\n ev(x)\n" + "".join(" ev(%d)\n" % k for k in range(CALLS))
    namespace = {}
    exec(compile(text, "total", "exec"), namespace)
    code = namespace["f"].__code__
    starts = {}
    for offset, line in dis.findlinestarts(code):
        if line is not None:
            starts.setdefault(line, offset)
    raw = code.co_code
    ends = [starts[line + 1] for line in range(2, 3 + CALLS)]
    lines = [raw[starts[line] : end] for line, end in zip(range(2, 3 + CALLS), ends)]
    return code, lines


TEMPLATE, LINES = snippets()
PUSH_CONST, STORE = LINES[0][:-2], LINES[0][-2:]
EV_X = LINES[1][:-2]
EV = [line[:-2] for line in LINES[2:]]
POP = bytes([OPS["POP_TOP"], 0])
DUP = bytes([OPS["COPY"], 1]) if "COPY" in OPS else bytes([OPS["DUP_TOP"], 0])
SWAP = bytes([OPS["SWAP"], 2]) if "SWAP" in OPS else bytes([OPS["ROT_TWO"], 0])
RETURN = bytes([OPS["RETURN_VALUE"], 0])


def caches(name):
    if MINOR < 11:
        return b""
    entries = opcode._inline_cache_entries
    if isinstance(entries, list):
        count = entries[OPS[name]]
    else:  # by name, in 3.15 without the entries of opcodes that have none
        count = dict(entries).get(name, 0)
    return bytes(2 * count)


PROLOGUE = bytes([OPS["RESUME"], 0]) + caches("RESUME") if "RESUME" in OPS else b""


class Assembler:
    def __init__(self):
        self.out = bytearray(PROLOGUE)
        self.labels, self.fixes, self.rows = {}, [], []

    def here(self):
        return len(self.out)

    def label(self, name):
        self.labels[name] = self.here()

    def raw(self, data):
        self.out += data

    def jump(self, label):
        self.fixes.append((self.here(), label))
        self.out += bytes([OPS["EXTENDED_ARG"], 0, 0, 0])
        if MINOR >= 11:  # JUMP_BACKWARD's cache, or nothing that matters behind a JUMP_FORWARD
            self.out += caches("JUMP_BACKWARD")

    def skip_jump_if(self, truth):
        """Branches over the jump that follows when the top of the stack is `truth`."""
        name = "POP_JUMP_%sIF_%s" % (
            "FORWARD_" if MINOR == 11 else "",
            "TRUE" if truth else "FALSE",
        )
        over = 4 + (len(caches("JUMP_BACKWARD")) if MINOR >= 11 else 0)
        if MINOR >= 11:
            argument = over // 2
        else:
            argument = (self.here() + 4 + over) // (2 if MINOR == 10 else 1)
        self.out += bytes([OPS["EXTENDED_ARG"], argument >> 8, OPS[name], argument & 255]) + caches(
            name
        )

    def finish(self):
        for at, label in self.fixes:
            target = self.labels[label]
            if MINOR < 11:
                name, argument = "JUMP_ABSOLUTE", target // (2 if MINOR == 10 else 1)
            elif target > at:
                name, argument = "JUMP_FORWARD", (target - at - 4) // 2
            else:
                name = "JUMP_BACKWARD"
                argument = (at + 4 + len(caches(name)) - target) // 2
            if name == "JUMP_FORWARD" and caches("JUMP_BACKWARD"):
                # what would be the other jump's cache is never reached
                self.out[at + 4 : at + 4 + len(caches("JUMP_BACKWARD"))] = bytes(
                    [OPS["NOP"], 0]
                ) * (len(caches("JUMP_BACKWARD")) // 2)
            self.out[at + 1] = argument >> 8
            self.out[at + 2] = OPS[name]
            self.out[at + 3] = argument & 255
        return bytes(self.out)

    def table(self):
        out = bytearray()

        def number(value, first):
            parts = [value & 63]
            while value > 63:
                value >>= 6
                parts.append(value & 63)
            parts.reverse()
            for i, part in enumerate(parts):
                out.append(
                    part | (64 if i + 1 < len(parts) else 0) | (128 if first and i == 0 else 0)
                )

        for begin, end, label, depth, lasti in sorted(self.rows):
            if begin == end:
                continue
            number(begin // 2, True)
            number((end - begin) // 2, False)
            number(self.labels[label] // 2, False)
            number(depth << 1 | lasti, False)
        return bytes(out)


def code_like(name, data, table):
    c = TEMPLATE
    if hasattr(c, "replace"):
        changes = dict(co_code=data, co_name=name, co_stacksize=24)
        if MINOR >= 11:
            changes.update(co_exceptiontable=table, co_qualname=name)
        return c.replace(**changes)
    return types.CodeType(
        c.co_argcount, c.co_kwonlyargcount, c.co_nlocals, 24, c.co_flags, data, c.co_consts, c.co_names, c.co_varnames,
        c.co_filename, name, c.co_firstlineno, c.co_lnotab,
    )  # fmt: skip


def random_graph(rng):
    """A function of random blocks. Each has a depth of the stack at which it is entered."""
    asm = Assembler()
    count = rng.choice([2, 3, 3, 4, 5, 6, 8, 12])
    depths = [0] + [rng.choice([0, 0, 0, 1, 2]) for _ in range(count - 1)]
    call = lambda: rng.choice(EV)  # noqa: E731
    ranges = []

    def leave(depth):
        """To another block, with the stack that it wants; or back to the caller."""
        if rng.random() < 0.15:
            if depth == 0:
                asm.raw(call())
                depth = 1
            asm.raw(POP * (depth - 1) + RETURN)
            return
        to = rng.randrange(count)
        for _ in range(depth, depths[to]):
            asm.raw(rng.choice([PUSH_CONST, call()]))
        asm.raw(POP * max(0, depth - depths[to]))
        asm.jump(to)

    for b in range(count):
        asm.label(b)
        begin, depth = asm.here(), depths[b]
        for _ in range(rng.choice([0, 1, 1, 2])):
            action = rng.choice(["call", "call", "push", "const", "use", "dup", "swap"])
            if action == "call":
                asm.raw(call() + POP)
            elif action in ("push", "const") and depth < 4:
                asm.raw(call() if action == "push" else PUSH_CONST)
                depth += 1
            elif action == "use" and depth > 0:
                asm.raw(STORE + EV_X + POP)
                depth -= 1
            elif action == "dup" and 0 < depth < 4:
                asm.raw(DUP)
                depth += 1
            elif action == "swap" and depth > 1:
                asm.raw(SWAP)
        asm.raw(call())
        ranges.append((begin, asm.here()))
        if rng.random() < 0.7:
            asm.skip_jump_if(rng.random() < 0.5)
            second = "else%d" % b
            asm.jump(second)
            leave(depth)
            asm.label(second)
        else:
            asm.raw(POP)
        leave(depth)

    if MINOR >= 11 and rng.random() < 0.6:
        free = list(range(count))
        for h in range(rng.choice([1, 1, 2])):
            handler, cleanup = "handler%d" % h, "cleanup%d" % h
            covered = [b for b in free if rng.random() < 0.6]
            free = [b for b in free if b not in covered]
            if not covered:
                continue
            depth = min(depths[b] for b in covered)
            # A handler finds only what protected code leaves alone: nothing of it here.
            depth = 0
            for b in covered:
                asm.rows.append((ranges[b][0], ranges[b][1], handler, depth, 0))
            asm.label(handler)
            asm.raw(bytes([OPS["PUSH_EXC_INFO"], 0]))
            begin = asm.here()
            asm.raw(POP + call())
            kind = rng.choice(["leave", "leave", "branch", "raise"])
            if kind == "branch":
                asm.skip_jump_if(True)
                asm.jump("again%d" % h)
            else:
                asm.raw(POP)
            end = asm.here()
            if kind != "raise":
                asm.raw(bytes([OPS["POP_EXCEPT"], 0]))
                leave(depth)
            if kind != "leave":
                begin2 = asm.here()
                asm.label("again%d" % h)
                # the exception was dropped: another one is raised
                asm.raw(call() + POP + PUSH_CONST + bytes([OPS["RAISE_VARARGS"], 1]))
                asm.rows.append((begin2, asm.here(), cleanup, depth + 1, 1))
            asm.rows.append((begin, end, cleanup, depth + 1, 1))
            asm.label(cleanup)
            asm.raw(bytes([OPS["COPY"], 3, OPS["POP_EXCEPT"], 0, OPS["RERAISE"], 1]))
    return asm.finish(), asm.table() if MINOR >= 11 else b""


def comparison():
    """The bytes of `==` before a branch."""
    code = compile("if a == b:\n c", "total", "exec")
    argument = next(i.arg for i in dis.get_instructions(code) if i.opname == "COMPARE_OP")
    return bytes([OPS["COMPARE_OP"], argument]) + caches("COMPARE_OP")


class Junk:
    """Statements, put together from instructions, with junk between them."""

    def __init__(self, rng):
        self.rng, self.asm, self.labels, self.places = rng, Assembler(), 0, []
        self.equal = comparison()

    def label(self):
        self.labels += 1
        return self.labels

    def junk(self):
        asm, kind = (
            self.asm,
            self.rng.choice(["none", "none", "nop", "pop", "dup", "swap", "jump", "if"]),
        )
        if kind == "nop":
            asm.raw(bytes([OPS["NOP"], 0]) * self.rng.randrange(1, 6))
        elif kind == "pop":
            asm.raw(PUSH_CONST + POP)
        elif kind == "dup":
            asm.raw(PUSH_CONST + DUP + POP + POP)
        elif kind == "swap":
            asm.raw(PUSH_CONST * 2 + SWAP + SWAP + POP * 2)
        elif kind == "jump":
            there, back = self.label(), self.label()
            behind = self.label()
            asm.jump(there)
            asm.label(back)
            asm.jump(behind)
            asm.label(there)
            asm.jump(back)
            asm.label(behind)
        elif kind == "if":
            over = self.label()
            asm.raw(PUSH_CONST * 2 + self.equal)
            asm.skip_jump_if(False)
            asm.jump(over)
            asm.raw(self.rng.choice(EV) + POP)
            asm.jump(self.rng.choice(self.places + [over]))
            asm.label(over)
        place = self.label()
        asm.label(place)
        self.places.append(place)

    def call(self):
        self.asm.raw(self.rng.choice(EV))

    def statement(self, depth):
        asm = self.asm
        self.junk()
        kind = self.rng.choice(["call", "call", "if", "loop"]) if depth else "call"
        self.call()
        if kind == "call":
            asm.raw(POP)
            return
        otherwise, end, begin = self.label(), self.label(), self.places[-1]
        asm.skip_jump_if(True)
        asm.jump(otherwise)
        self.statements(depth - 1)
        asm.jump(end if kind == "if" else begin)
        asm.label(otherwise)
        if kind == "if" and self.rng.random() < 0.5:
            self.statements(depth - 1)
        asm.label(end)

    def statements(self, depth):
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            self.statement(depth)
        self.junk()


def random_junk(rng):
    made = Junk(rng)
    made.statements(2)
    made.asm.raw(PUSH_CONST + RETURN)
    return made.asm.finish(), b""


# ---------------------------------------------------------------- decompile, run, compare


def module_of(codes):
    """The code of a module that defines a function for each code object."""
    text = "".join("def %s(): pass\n" % code.co_name for code in codes)
    module = compile(text, "total", "exec")
    by_name = {code.co_name: code for code in codes}
    consts = tuple(by_name.get(getattr(c, "co_name", None), c) for c in module.co_consts)
    if hasattr(module, "replace"):
        return module.replace(co_consts=consts)
    m = module
    return types.CodeType(
        0, 0, m.co_nlocals, m.co_stacksize, m.co_flags, m.co_code, consts, m.co_names, m.co_varnames, m.co_filename, m.co_name,
        m.co_firstlineno, m.co_lnotab,
    )  # fmt: skip


def decompile(command, code, ladder):
    handle, path = tempfile.mkstemp(".pyc")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        done = subprocess.run(
            [command, "decompile", "--no-check", "--ladder", str(ladder), path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=600,
        )
        if done.returncode < 0:
            raise SystemExit(
                "the command died of signal %d on %s"
                % (-done.returncode, os.environ.setdefault("KEPT", path))
            )
        return done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()
    finally:
        if "KEPT" not in os.environ:
            os.unlink(path)


def execute(function, seed):
    script = Script(seed, lambda: sys.exc_info()[0] and sys.exc_info()[0].__name__)
    function.__globals__.update(script.names())
    try:
        result = "returned", function()
    except (Exception, Stop) as error:  # noqa: BLE001
        context = error.__context__
        result = "raised", type(error).__name__, type(context).__name__
    return result, script.events


def make(kind, seed):
    rng = random.Random(seed)
    name = "f%d" % seed
    if kind == "graph":
        return code_like(name, *random_graph(rng))
    if kind == "junk":
        return code_like(name, *random_junk(rng))
    source = flow_run.Source(rng, rich=True, match=MINOR >= 10)
    source.body(1, 4, False, False)
    try:
        module = compile("def %s():\n%s\n" % (name, "\n".join(source.lines)), "total", "exec")
    except SyntaxError:  # 3.7: `continue` in a `finally`
        return None
    return next(c for c in module.co_consts if isinstance(c, types.CodeType))


def kept():
    """The code of the functions in the folder `functions` that this Python compiles, and the names
    of those that need the ladder.
    """
    codes, unplain = [], set()
    for path in sorted(
        glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions", "*.py"))
    ):
        name = os.path.basename(path)[:-3]
        with open(path) as file:
            text = file.read().replace("def f(", "def %s(" % name)
        try:
            module = compile(text, path, "exec")
        except SyntaxError:  # 3.7: `continue` in a `finally`
            continue
        codes.append(next(c for c in module.co_consts if isinstance(c, types.CodeType)))
        if "Ladder" in text:
            unplain.add(name)
    return codes, unplain


def random_program(rng):
    """The text of a module whose function `f`, if it has one, is called."""
    form = rng.choice(["function", "class", "module"])

    def body(indent):
        source = flow_run.Source(rng, rich=True, match=MINOR >= 10)
        source.body(indent, 3, False, False)
        return "\n".join(source.lines)

    def without_return(text):
        text = re.sub(r"^( *)return (?=\d)", r"\1z = ", text, flags=re.M)
        return re.sub(r"^( *)return ", r"\1z = ", text, flags=re.M)

    if form == "function":
        return "def f():\n%s\n" % body(1)
    if form == "class":
        inner = "class C:\n%s\n    def m(self):\n%s\n" % (without_return(body(1)), body(2))
        if rng.random() < 0.5:
            return inner + "def f():\n    return C().m()\n"
        inner = "\n".join("    " + line for line in inner.splitlines())
        return "def f():\n%s\n    return C().m()\n" % inner
    return without_return(body(0)) + "\n"


def run_program(code, seed):
    script = Script(seed, lambda: sys.exc_info()[0] and sys.exc_info()[0].__name__)
    names = dict(script.names(), __name__="program")
    try:
        exec(code, names)
        result = "returned", names["f"]() if "f" in names else None
    except (Exception, Stop) as error:  # noqa: BLE001
        result = "raised", type(error).__name__, type(error.__context__).__name__
    left = {name: names[name] for name in "axyz" if type(names.get(name)) in (int, bool, str)}
    return result, left, script.events


def run_obfuscated(command, count, first, ladder):
    codes = {}
    for seed in range(first, first + count):
        rng = random.Random(seed)
        try:
            code = compile(random_program(rng), "program", "exec")
        except SyntaxError:  # 3.7: `continue` in a `finally`
            continue
        codes["p%d" % seed] = obfuscate.obfuscated(code, rng, rng.choice([0.05, 0.15, 0.4]))
    with tempfile.TemporaryDirectory() as folder:
        for name, code in codes.items():
            with open(os.path.join(folder, name + ".pyc"), "wb") as file:
                file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        done = subprocess.run(
            [command, "decompile", "--no-check", "--ladder", str(ladder), folder, "-o", folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=600,
        )
        if done.returncode < 0:
            raise SystemExit("the command died of signal %d" % -done.returncode)
        notes, failures, events = done.stderr.decode(), [], 0
        for name, code in codes.items():
            try:
                with open(os.path.join(folder, name + ".py"), encoding="utf-8") as file:
                    text = file.read()
                compiled = compile(text, "decompiled", "exec")
            except (OSError, SyntaxError) as error:
                failures.append("%s: %s" % (name, error))
                continue
            for script in range(RUNS):
                expected, got = run_program(code, script), run_program(compiled, script)
                events += len(expected[2])
                if got != expected:
                    failures.append(
                        "%s, script %d\nexpected: %s\ngot:      %s\n%s"
                        % (name, script, expected, got, text)
                    )
                    break
    print("\n".join(failures[:SHOWN]))
    objects = sum(1 for code in codes.values() for _ in all_codes(code))
    lower = {}
    for where, level in re.findall(r"^(.*): ladder L(\d)", notes, re.M):
        lower[where] = max(level, lower.get(where, ""))
    plain = 1 - len(lower) / objects
    levels = ", ".join("L%s: %d" % item for item in sorted(Counter(lower.values()).items()))
    print(
        "3.%d obfuscated: %d programs from seed %d, %d events, %d failures; %d code objects, plain: %.1f %% (%s)"
        % (MINOR, len(codes), first, events, len(failures), objects, 100 * plain, levels)
    )
    return 1 if failures or not events or not ladder and plain < 0.95 else 0


def all_codes(code):
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from all_codes(one)


def function_text(source, name):
    found = re.search(r"^def %s\(.*?(?=^\S|\Z)" % name, source, re.M | re.S)
    return found.group(0) if found else "(not in the output)"


def main():
    command, kind = sys.argv[1], sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    ladder = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    if kind == "obfuscated":
        return run_obfuscated(command, count, first, ladder)
    runs_each, unplain = RUNS, set()
    if kind == "kept":
        codes, unplain = kept()
        runs_each = 10 * RUNS
    else:
        codes = [
            code
            for code in (make(kind, seed) for seed in range(first, first + count))
            if code is not None
        ]
    source, notes = decompile(command, module_of(codes), ladder)
    if kind == "kept" and ladder == 0:
        lost = set(re.findall(r": (\w+): ladder", notes)) - unplain
        if lost:
            print("without plain structure: %s" % ", ".join(sorted(lost)))
            return 1
    levels = Counter(re.findall(r": (ladder L\d|broken)", notes))
    try:
        compiled = compile(source, "decompiled", "exec")
    except SyntaxError as error:
        lines = source.splitlines()[max(0, error.lineno - 25) : error.lineno]
        print("the output does not compile: %s\n%s" % (error, "\n".join(lines)))
        return 1
    namespace = {}
    exec(compiled, namespace)
    runs = failures = events = 0
    for code in codes:
        original = types.FunctionType(code, {"__builtins__": __builtins__})
        for script in range(runs_each):
            expected = execute(original, script)
            got = execute(namespace[code.co_name], script)
            runs += 1
            events += len(expected[1])
            if got != expected:
                failures += 1
                if failures <= SHOWN:
                    print(
                        "%s, script %d\nexpected: %s\ngot:      %s"
                        % (code.co_name, script, expected, got)
                    )
                    dis.dis(code)
                    print(function_text(source, code.co_name))
                break
    kinds = ", ".join("%s: %d" % item for item in sorted(levels.items())) or "all plain"
    print(
        "3.%d %s: %d functions from seed %d, %d runs, %d events, %d failures (%s)"
        % (MINOR, kind, len(codes), first, runs, events, failures, kinds)
    )
    plain = 1 - levels["ladder L5"] / len(codes)
    if kind == "junk":
        print("plain: %.1f %%" % (100 * plain))
    if kind == "junk" and plain < 0.9:
        return 1
    return 1 if failures or not events or levels.get("broken") else 0


if __name__ == "__main__":
    sys.exit(main())
