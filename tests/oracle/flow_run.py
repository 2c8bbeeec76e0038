"""Executes random functions and walks their control-flow graphs; both must do the same.

Runs under any CPython from 3.7 on. Each function is made of try, with, loops and jumps out of them
around calls that record an event (with the exception being handled, so that a lost POP_EXCEPT
shows) and that raise or return as a seeded script says. `depyf_flow_oracle` builds the graph from
the compiled function; a small interpreter here walks it by the rules of src/flow/cfg.h, with the
same script. The events and the result must be equal.

    python3.X flow_run.py ORACLE [FUNCTIONS [SEED]]       ORACLE is the program depyf_flow_oracle
"""

import ast
import importlib.util
import marshal
import os
import random
import subprocess
import sys
import tempfile

NULL = object()


class E1(Exception):
    pass


class E2(E1):
    pass


class E3(Exception):
    pass


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Script:
    """What the calls of a function do, and a record of them."""

    def __init__(self, seed, handled):
        self.random = random.Random(seed)
        self.events = []
        self.kept = []  # what statements in place add to
        self.handled = handled

    def event(self, *what):
        self.events.append(what + (len(self.kept), self.handled()))
        return len(self.events) < 300

    def names(self):
        return {
            "ev": self.ev,
            "cm": lambda k: Manager(self, k),
            "it": self.it,
            "val": self.val,
            "E1": E1,
            "E2": E2,
            "E3": E3,
            "Point": Point,
            "kept": self.kept,
        }

    def maybe_raise(self, limit):
        draw = self.random.random()
        if draw < limit:
            raise self.random.choice([E1, E2, E3])()
        return draw

    def ev(self, k):
        if not self.event("ev", k):
            return False
        return self.maybe_raise(0.1) < 0.6

    def val(self, k):
        self.event("val", k)
        return self.random.choice(
            [
                1,
                2,
                "s",
                None,
                (1, 2),
                [2, [1]],
                (1, 2, 3),
                {"k": 1},
                {"k": 2, "j": 3},
                Point(1, 2),
                Point(2, (1, 2)),
            ]
        )

    def it(self, k):
        self.event("it", k)
        return Items(self, k, self.random.randrange(3))


class Items:
    def __init__(self, script, k, count):
        self.script, self.k, self.count = script, k, count

    def __iter__(self):
        return self

    def __next__(self):
        if self.count == 0 or not self.script.event("next", self.k):
            raise StopIteration
        self.count -= 1
        self.script.maybe_raise(0.1)
        return self.count


class Manager:
    def __init__(self, script, k):
        self.script, self.k = script, k

    def __enter__(self):
        if self.script.event("enter", self.k):
            self.script.maybe_raise(0.1)
        return self.k

    def __exit__(self, kind, value, traceback):
        if not self.script.event("exit", self.k, kind and kind.__name__):
            return False
        return self.script.maybe_raise(0.1) < 0.4


PATTERNS = [
    "1",
    "'s'",
    "None",
    "1 | 2",
    "[a, b]",
    "[1, *a]",
    "[_, [a] | a]",
    "{'k': a}",
    "{'k': 1, **a}",
    "Point(a)",
    "Point(x=1, y=a)",
    "Point(1, [a, _]) | [_, a]",
    "int() as a",
]


class Source:
    """A random function. Rich: with conditions, comprehensions and (`match`) patterns beside what
    the walk below knows.
    """

    def __init__(self, rng, rich=False, match=False):
        self.rng, self.lines, self.calls, self.rich, self.match = rng, [], 0, rich, match

    def call(self):
        self.calls += 1
        return "ev(%d)" % self.calls

    def condition(self):
        if not self.rich or self.rng.random() < 0.6:
            return self.call()
        if self.rng.random() < 0.2:
            return "%s if %s else %s" % (self.call(), self.call(), self.call())
        parts = [
            self.rng.choice(["", "", "not "]) + self.call()
            for _ in range(self.rng.choice([1, 2, 2, 3]))
        ]
        joined = parts[0]
        for part in parts[1:]:
            joined = "%s %s %s" % (joined, self.rng.choice(["and", "or"]), part)
        return joined

    def value(self):
        if not self.rich or self.rng.random() < 0.5:
            return self.call()
        forms = [
            "[ev(i) for i in it(%d) if %s]",
            "{i: ev(i) for i in it(%d) if %s}",
            "%d if %s else ev(0)",
            "(%d, %s)",
            "%d < ev(1) or %s",
            "(%d and %s) and ev(3)",
            "(%d or %s or ev(3)) or ev(4)",
            "%d and (ev(3) if %s else ev(4))",
            # the keywords of a long call are put into a dict one by one
            "dict(a=%d, b=%s or ev(2), " + ", ".join("k%d=0" % i for i in range(15)) + ")",
        ]
        return self.rng.choice(forms) % (self.rng.randrange(9), self.call())

    def body(self, indent, depth, loop, handler):
        behind = False
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            head = len(self.lines)
            self.statement(indent, depth, loop, handler, behind)
            behind = self.lines[head].lstrip().startswith("match ")

    def statement(self, indent, depth, loop, handler, behind_match=False):
        rng, pad = self.rng, "    " * indent
        add = lambda text: self.lines.append(pad + text)  # noqa: E731
        kinds = ["call", "call", "return", "value", "raise", "jump", "pass"]
        if depth > 0:
            kinds += [
                "if",
                "if",
                "while",
                "for",
                "try",
                "try",
                "try",
                "finally",
                "finally",
                "with",
                "with",
            ]
            kinds += ["match"] * 3 * self.match + ["value", "if"] * self.rich
        kind = rng.choice(kinds)
        if behind_match and rng.random() < 0.5:
            add("while %s if %s else %s:" % (self.call(), self.call(), self.call()))
            add("    pass")
            return
        if kind == "if":
            add("if %s:" % self.condition())
            self.body(indent + 1, depth - 1, loop, handler)
            while self.rich and rng.random() < 0.2:
                add("elif %s:" % self.condition())
                self.body(indent + 1, depth - 1, loop, handler)
            if rng.random() < 0.4:
                add("else:")
                self.body(indent + 1, depth - 1, loop, handler)
        elif kind in ("while", "for"):
            endless = self.rich and kind == "while" and rng.random() < 0.3
            add(
                "while True:"
                if endless
                else "while %s:" % self.condition()
                if kind == "while"
                else "for x in it(%d):" % rng.randrange(100)
            )
            head = len(self.lines)
            self.body(indent + 1, depth - 1, True, handler)
            inside = [line.strip() for line in self.lines[head:]]
            first = next((line for line in inside if line not in ("try:", "pass")), "")
            # Each turn is to call something that ends the run, and nothing is to catch that.
            if endless and ("(" not in first or "except:" in inside or "continue" in inside):
                self.lines.insert(head, pad + "    " + self.call())
            if rng.random() < 0.3:
                add("else:")
                self.body(indent + 1, depth - 1, loop, handler)
        elif kind in ("try", "finally"):
            add("try:")
            self.body(indent + 1, depth - 1, loop, handler)
            if kind == "try":
                for name in rng.choice(
                    [["E1"], ["E2 as e"], ["E2", "E1"], ["E3 as e", "(E1, E2)"], ["E1", ""], [""]]
                ):
                    add(("except %s:" % name).replace(" :", ":"))
                    self.body(indent + 1, depth - 1, loop, True)
                if rng.random() < 0.3:
                    add("else:")
                    self.body(indent + 1, depth - 1, loop, handler)
            if kind == "finally" or rng.random() < 0.2:
                add("finally:")
                self.body(indent + 1, depth - 1, loop, handler)
        elif kind == "with":
            add(
                "with cm(%d)%s%s:"
                % (rng.randrange(100), rng.choice(["", " as x"]), rng.choice(["", "", ", cm(7)"]))
            )
            self.body(indent + 1, depth - 1, loop, handler)
        elif kind == "match":
            add("match val(%d):" % rng.randrange(100))
            for _ in range(rng.choice([1, 2, 2, 3])):
                pattern = rng.choice(PATTERNS)
                add("    case %s%s:" % (pattern, rng.choice(["", "", " if " + self.call()])))
                if "a" in pattern.replace("as", "") and rng.random() < 0.5:
                    add("        ev(a)")
                self.body(indent + 2, depth - 1, loop, handler)
            if rng.random() < 0.4:
                add("    case _:")
                self.body(indent + 2, depth - 1, loop, handler)
        elif kind == "return" and rng.random() < 0.6:
            add("return " + self.value())
        elif kind == "value" and self.rich and rng.random() < 0.6:
            if len(self.lines) % 5 == 0:  # no draw, so that the other draws stay as they are
                add("z = kept")
                add("z += [%s]" % self.value())
            else:
                add("y = " + self.value())
        elif kind == "value" and rng.random() < 0.5:
            add("return %d" % rng.randrange(9))
        elif kind == "raise" and rng.random() < 0.6:
            add("raise" if handler and rng.random() < 0.5 else "raise E%d()" % rng.randrange(1, 4))
        elif kind == "jump" and loop:
            add(rng.choice(["break", "continue"]))
        elif kind == "pass":
            add("pass")
        else:
            add(self.call())


class Graph:
    def __init__(self, entry):
        self.entry, self.regions, self.blocks = entry, [], []


def graphs(oracle, path):
    found, graph = {}, None
    for line in subprocess.run(
        [oracle, path], stdout=subprocess.PIPE, universal_newlines=True, check=True
    ).stdout.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "error":
            raise AssertionError(rest)
        if kind == "code":
            name, entry = rest.split()
            graph = found[name] = Graph(int(entry))
        elif kind == "region":
            graph.regions.append([int(part) for part in rest.split()])
        elif kind == "block":
            graph.blocks.append(([int(part) for part in rest.split()], []))
        else:
            op, arg, aux, operand = rest.split(" ", 3)
            graph.blocks[-1][1].append((op, int(arg), int(aux), ast.literal_eval(operand)))
    return found


class Walk:
    """Runs one graph."""

    def __init__(self, graph, seed):
        self.graph, self.handled, self.active, self.stack, self.fast = graph, None, [], [], {}
        self.script = Script(seed, lambda: self.handled and type(self.handled).__name__)
        self.names = self.script.names()

    def run(self):
        at = self.graph.entry
        for _ in range(100000):
            (region, next_, target), instrs = self.graph.blocks[at]
            try:
                way = self.block(instrs)
            except Exception as error:  # noqa: BLE001
                if isinstance(error, (AssertionError, IndexError, KeyError)):
                    raise
                error.__traceback__ = None
                if region < 0:
                    return "raised", type(error).__name__
                handler, depth, lasti, six, _ = self.graph.regions[region]
                while self.active and self.active[-1][0] >= depth:
                    self.handled = self.active.pop()[1]
                assert len(self.stack) >= depth, "a stack below the handler's"
                del self.stack[depth:]
                if six:
                    self.active.append((depth, self.handled))
                    self.stack += [
                        None,
                        self.handled,
                        self.handled and type(self.handled),
                        None,
                        error,
                        type(error),
                    ]
                    self.handled = error
                else:
                    self.stack += ["lasti"] * lasti + [error]
                at = handler
                continue
            if isinstance(way, tuple):
                return "returned", way[1]
            at = target if way else next_
        raise AssertionError("no end")

    def call(self, count, layout):
        stack = self.stack
        arguments = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        if layout == 0:
            function = stack.pop()
        else:
            above, below = stack.pop(), stack.pop()
            if layout == 1:
                function, extra = (above, []) if below is NULL else (below, [above])
            else:
                function, extra = below, ([] if above is NULL else [above])
            arguments = extra + arguments
        stack.append(function(*arguments))

    def block(self, instrs):
        stack = self.stack
        for op, arg, aux, operand in instrs:
            if op == "LOAD_CONST":
                stack.append(operand)
            elif op == "LOAD_GLOBAL":
                stack.append(self.names[operand])
            elif op == "LOAD_FAST":
                stack.append(self.fast[operand])
            elif op == "STORE_FAST":
                self.fast[operand] = stack.pop()
            elif op == "DELETE_FAST":
                del self.fast[operand]
            elif op == "POP_TOP":
                stack.pop()
            elif op == "COPY":
                stack.append(stack[-arg])
            elif op == "SWAP":
                stack[-1], stack[-arg] = stack[-arg], stack[-1]
            elif op == "ROT":
                stack.insert(len(stack) - arg, stack.pop())
            elif op == "PUSH_NULL":
                stack.append(NULL)
            elif op == "CALL":
                self.call(arg, aux)
            elif op == "BUILD_TUPLE":
                items = tuple(stack[len(stack) - arg :])
                del stack[len(stack) - arg :]
                stack.append(items)
            elif op == "GET_ITER":
                stack.append(iter(stack.pop()))
            elif op == "FOR_ITER":
                try:
                    stack.append(next(stack[-1]))
                except StopIteration:
                    stack.pop()
                    return True
                return None
            elif op == "TO_BOOL":
                stack.append(bool(stack.pop()))
            elif op == "JUMP":
                return None
            elif op == "BRANCH_FALSE":
                return None if stack.pop() else True
            elif op == "BRANCH_TRUE":
                return True if stack.pop() else None
            elif op == "RETURN_VALUE":
                return "return", stack.pop()
            elif op == "RAISE":
                error = stack.pop() if arg else self.handled
                raise RuntimeError() if error is None else error
            elif op == "RERAISE":
                if arg == 3:
                    stack.pop()
                raise stack.pop()
            elif op == "PUSH_EXC_INFO":
                error = stack.pop()
                self.active.append((len(stack), self.handled))
                stack += [self.handled, error]
                self.handled = error
            elif op == "POP_EXCEPT":
                values = [stack.pop() for _ in range(arg)]
                previous = values[1 if arg == 3 else 0]
                assert previous is self.active.pop()[1], (
                    "another exception state is restored than was saved"
                )
                self.handled = previous
            elif op == "EXC_MATCH":
                kind = stack.pop()
                stack.append(issubclass(stack.pop(), kind))
            elif op == "CHECK_EXC_MATCH":
                kind = stack.pop()
                stack.append(isinstance(stack[-1], kind))
            elif op == "WITH_ENTER":
                manager = stack.pop()
                stack += [manager.__exit__] + [NULL] * (aux == 2)
                stack.append(manager.__enter__())
            elif op == "WITH_EXCEPT_START":
                error = self.handled
                stack.append(stack[-arg](type(error), error, None))
            else:
                raise AssertionError("no rule for " + op)
        return None


def execute(function, seed):
    script = Script(seed, lambda: sys.exc_info()[0] and sys.exc_info()[0].__name__)
    function.__globals__.update(script.names())
    try:
        result = "returned", function()
    except Exception as error:  # noqa: BLE001
        result = "raised", type(error).__name__
    return result, script.events


def main():
    oracle, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    sources = []
    for seed in range(first, first + count):
        source = Source(random.Random(seed))
        source.body(1, 4, False, False)
        text = "def f%d():\n%s\n" % (seed, "\n".join(source.lines))
        try:
            compile(text, "f", "exec")
        except SyntaxError:  # 3.7: `continue` in a `finally`
            continue
        sources.append((seed, text))
    code = compile("".join(text for _, text in sources), "f", "exec")
    handle, path = tempfile.mkstemp(".pyc")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        found = graphs(oracle, path)
    finally:
        os.unlink(path)
    namespace = {}
    exec(code, namespace)
    runs = failures = events = 0
    for seed, text in sources:
        name = "f%d" % seed
        for script in range(12):
            expected = execute(namespace[name], script)
            walk = Walk(found[name], script)
            try:
                got = walk.run(), walk.script.events
            except AssertionError as error:
                got = str(error), walk.script.events
            runs += 1
            events += len(expected[1])
            if got != expected:
                failures += 1
                if failures <= 3:
                    print(
                        "%s\nscript %d\nexecuted: %s\nwalked:   %s\n"
                        % (text, script, expected, got)
                    )
                break
    print(
        "%d.%d: %d functions, %d runs, %d events, %d failures"
        % (sys.version_info[0], sys.version_info[1], len(sources), runs, events, failures)
    )
    return 1 if failures or not events else 0


if __name__ == "__main__":
    sys.exit(main())
