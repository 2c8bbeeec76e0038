"""Speed and memory of the native program, each figure beside a peer's in the same interleaved run.

    python bench/speed.py [--depyf PATH] [--python PATH] [--rounds N] [--only NAME ...]

library    one thread decompiles a standard library; the peer is CPython's own compile() of the same
           files
jobs       the same with two threads, in elapsed time
memory     peak resident memory of the first
start      a .pyc with one function; the peer is /bin/true
linear     functions of 1,000, 10,000 and 100,000 statements and other shapes: time for one
           statement, beside that of the smallest
callgrind  instructions for a fixed workload (needs valgrind); --record keeps them in
           bench/callgrind.json

Processor time (user and system) unless said otherwise: these machines have other work to do.
Medians of the rounds. Files lie in memory (/dev/shm, or --folder): compile() writes none, and on a
disk the kernel's work for each new file is up to a third of the time.
"""

import argparse
import glob
import importlib.util
import json
import marshal
import os
import py_compile
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = os.path.join(ROOT, "bench", "callgrind.json")

COMPILE = """
import sys
for path in sys.stdin.read().split("\\n"):
    with open(path, "rb") as file:
        compile(file.read(), path, "exec", dont_inherit=True)
"""
# Compiles the library that it runs on: prints "source<TAB>pyc" for each file that compiles.
PREPARE = """
import os, py_compile, sys, sysconfig, warnings
warnings.simplefilter("ignore")
library, to = sysconfig.get_paths()["stdlib"], sys.argv[1]
for folder, names, files in os.walk(library):
    names[:] = sorted(n for n in names if n not in ("site-packages", "test", "tests", "idle_test", "lib2to3", "__pycache__"))
    for name in sorted(files):
        if name.endswith(".py"):
            source = os.path.join(folder, name)
            target = os.path.join(to, os.path.relpath(source, library) + "c")
            try:
                py_compile.compile(source, target, doraise=True)
            except (py_compile.PyCompileError, ValueError, OSError):  # a link to nowhere
                continue
            print(source)
"""


class Run:
    """One finished process: `cpu` and `wall` in seconds, `memory` in MB."""

    def __init__(self, command, text=None, check=True):
        with tempfile.TemporaryFile() as given:
            given.write((text or "").encode())
            given.seek(0)
            start = time.monotonic()
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            _, status, used = os.wait4(process.pid, 0)
        self.wall = time.monotonic() - start
        self.cpu = used.ru_utime + used.ru_stime
        self.memory = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        process.returncode = (
            os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        )
        if check and process.returncode not in (0, 1):
            raise SystemExit("%s ended with %d" % (" ".join(command[:3]), process.returncode))


def interleaved(rounds, *commands):
    """`rounds` runs of each command, in turn."""
    runs = [[] for _ in commands]
    for _ in range(rounds):
        for found, (command, text) in zip(runs, commands):
            found.append(Run(command, text))
    return runs


def median(runs, figure):
    return statistics.median(getattr(run, figure) for run in runs)


def spread(runs, figure):
    """How far the runs of one command lie apart, of their median."""
    values = [getattr(run, figure) for run in runs]
    return (max(values) - min(values)) / statistics.median(values)


def library(arguments, folder):
    pycs = os.path.join(folder, "library")
    sources = (
        subprocess.run([arguments.python, "-c", PREPARE, pycs], stdout=subprocess.PIPE, check=True)
        .stdout.decode()
        .strip()
    )
    out = os.path.join(folder, "out")
    one = [arguments.depyf, "decompile", "--no-check", "-j", "1", pycs, "--force", "-o", out]
    two = [arguments.depyf, "decompile", "--no-check", "-j", "2", pycs, "--force", "-o", out]
    compiler = [arguments.python, "-W", "ignore", "-c", COMPILE]
    Run(one)  # warm files
    ours, both, peer, empty = interleaved(
        arguments.rounds,
        (one, None),
        (two, None),
        (compiler, sources),
        ([arguments.python, "-c", ""], None),
    )
    compiling = median(peer, "cpu") - median(empty, "cpu")
    yield (
        "library",
        "%d files: %.2f s, compile() %.2f s: %.1f times as fast (goal 5); noise %.0f %%"
        % (
            sources.count("\n") + 1,
            median(ours, "cpu"),
            compiling,
            compiling / median(ours, "cpu"),
            100 * max(spread(ours, "cpu"), spread(peer, "cpu")),
        ),
    )
    yield (
        "jobs",
        "-j 2: %.2f times as fast as -j 1 in elapsed time (goal 1.7)"
        % (median(ours, "wall") / median(both, "wall")),
    )
    yield "memory", "peak %.0f MB (goal 150)" % max(run.memory for run in ours)


def start(arguments, folder):
    source = os.path.join(folder, "one.py")
    with open(source, "w") as file:
        file.write("def f(a):\n    return a\n")
    py_compile.compile(source, source + "c", doraise=True)
    ours, peer = interleaved(
        20 * arguments.rounds,
        ([arguments.depyf, "decompile", "--no-check", source + "c"], None),
        (["/bin/true"], None),
    )
    yield (
        "start",
        "%.1f ms, /bin/true %.1f ms: %.1f ms more (goal 5), elapsed"
        % (
            1000 * median(ours, "wall"),
            1000 * median(peer, "wall"),
            1000 * (median(ours, "wall") - median(peer, "wall")),
        ),
    )


SHAPES = {
    "straight line": (
        lambda n: ["def f(a, b):"] + ["    a = a + b * %d" % (i % 200) for i in range(n)],
        (1000, 10000, 100000),
    ),
    "if statements": (
        lambda n: ["def f(a, b):"] + ["    if a > %d:\n        b(a)" % (i % 200) for i in range(n)],
        (1000, 10000, 50000),
    ),
    "elif chain": (
        lambda n: ["def f(a):", "    if a == 0:\n        a()"]
        + ["    elif a == %d:\n        a(%d)" % (i, i) for i in range(1, n)],
        (100, 1000),
    ),
    "handlers": (
        lambda n: ["def f(a):"]
        + ["    try:\n        a()\n    except ValueError:\n        a(1)" for _ in range(n)],
        (1000, 10000),
    ),
    "with": (
        lambda n: ["def f(a):"] + ["    with a:\n        a()" for _ in range(n)],
        (1000, 10000),
    ),
    "finally": (
        lambda n: ["def f(a):"]
        + ["    try:\n        a()\n    finally:\n        a(1)" for _ in range(n)],
        (1000, 10000),
    ),
    "while": (
        lambda n: ["def f(a):"] + ["    while a:\n        a(1)" for _ in range(n)],
        (1000, 10000),
    ),
    "loops": (
        lambda n: ["def f(a):"]
        + ["    for b in a:\n        if b:\n            break\n        a(b)" for _ in range(n)],
        (1000, 10000),
    ),
    "comprehensions": (
        lambda n: ["def f(a):"] + ["    b = [c.d for c in a if c]" for _ in range(n)],
        (1000, 10000),
    ),
    "boolean operators": (
        lambda n: ["def f(a, b):"] + ["    a = a and b or not a" for _ in range(n)],
        (1000, 10000),
    ),
    "conditional expressions": (
        lambda n: ["def f(a, b):"] + ["    a = b if a else a" for _ in range(n)],
        (1000, 10000),
    ),
    "functions": (lambda n: ["def f%d(a):\n    return a" % i for i in range(n)], (1000, 10000)),
    "class bodies": (
        lambda n: ["class C:"] + ["    def f%d(self): pass" % i for i in range(n)],
        (1000, 10000),
    ),
    "raises": (
        lambda n: ["def f(a):"] + ["    if a:\n        raise a" for _ in range(n)],
        (1000, 10000),
    ),
    "returns": (
        lambda n: ["def f(a):"] + ["    if a:\n        return a" for _ in range(n)],
        (1000, 10000),
    ),
    "loops with continue": (
        lambda n: ["def f(a):", "    for b in a:"]
        + ["        if b:\n            continue" for _ in range(n)]
        + ["        a(b)"],
        (1000, 10000),
    ),
    "asserts": (lambda n: ["def f(a):"] + ["    assert a" for _ in range(n)], (1000, 10000)),
    "imports": (lambda n: ["from a import b%d" % i for i in range(n)], (1000, 10000)),
    "assignments to attributes": (
        lambda n: ["def f(a):"] + ["    a.b += 1" for _ in range(n)],
        (1000, 10000),
    ),
    "unpackings": (lambda n: ["def f(a):"] + ["    b, c = a" for _ in range(n)], (1000, 10000)),
    "formatted strings": (
        lambda n: ["def f(a):"] + ["    a = f'{a}b{a!r:>{a}}'" for _ in range(n)],
        (1000, 10000),
    ),
    "match": (
        lambda n: ["def f(a):", "    match a:"]
        + ["        case %d:\n            a(%d)" % (i, i) for i in range(n)],
        (500, 5000),
    ),
    "list": (
        lambda n: [
            "def f(a):",
            "    return [" + ", ".join("a + %d" % (i % 100) for i in range(n)) + "]",
        ],
        (1000, 100000),
    ),
    "calls in calls": (lambda n: ["def f(a):", "    return " + "a(" * n + "0" + ")" * n], (20, 90)),
}


def linear(arguments, folder):
    for name, (lines, sizes) in SHAPES.items():
        times, paths = [], []
        for size in sizes:
            path = os.path.join(folder, "shape.pyc")
            try:
                code = compile("\n".join(lines(size)) + "\n", "shape.py", "exec", dont_inherit=True)
            except (SyntaxError, RecursionError, MemoryError) as error:
                yield (
                    "linear",
                    "%s, %d: this Python does not compile it (%s)"
                    % (name, size, type(error).__name__),
                )
                break
            path = os.path.join(folder, "shape%d.pyc" % size)
            with open(path, "wb") as file:
                file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
            paths.append((size, path))
        base = median([Run([arguments.depyf, "--help"]) for _ in range(5)], "cpu")
        for size, path in paths:
            runs = [
                Run([arguments.depyf, "decompile", "--no-check", path])
                for _ in range(arguments.rounds)
            ]
            times.append((max(median(runs, "cpu") - base, 1e-4) / size, size))
        if times:
            yield (
                "linear",
                "%s: %s; largest over smallest %.2f (goal 2)"
                % (
                    name,
                    ", ".join("%d: %.2f us" % (size, 1e6 * each) for each, size in times),
                    times[-1][0] / times[0][0],
                ),
            )


def callgrind(arguments, folder):
    if not shutil.which("valgrind"):
        yield "callgrind", "skipped: valgrind is not installed"
        return
    files = sorted(
        glob.glob(os.path.join(ROOT, "tests", "fixtures", "**", "*.pyc"), recursive=True)
    )
    out = os.path.join(folder, "callgrind.out")
    done = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=" + out,
            arguments.depyf,
            "decompile",
            "--no-check",  # the count is the same whether a CPython is found or not
            "-j",
            "1",
            *files,
            "-o",
            os.path.join(folder, "fixtures"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    found = re.search(r"Collected : (\d+)", done.stderr.decode())
    if not found:
        raise SystemExit("valgrind counted nothing:\n" + done.stderr.decode()[-2000:])
    count = int(found.group(1))
    known = {}
    if os.path.exists(RECORD):
        with open(RECORD) as file:
            known = json.load(file)
    line = "%d instructions for %d files" % (count, len(files))
    if known.get("files") == len(files):
        line += ", recorded %d: %.3f" % (known["instructions"], count / known["instructions"])
    yield "callgrind", line
    if arguments.record:
        with open(RECORD, "w") as file:
            json.dump(
                {
                    "instructions": count,
                    "files": len(files),
                    "workload": "decompile -j 1 tests/fixtures/**/*.pyc, Release",
                },
                file,
                indent=1,
            )
            file.write("\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--depyf",
        help="the native program, of a Release build (default: that in build/release or build)",
    )
    parser.add_argument(
        "--python", default=sys.executable, help="whose library and compile(); default: this one"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=["library", "start", "linear", "callgrind"])
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    parser.add_argument(
        "--folder",
        default=in_memory,
        help="where files are written while it runs; default: in memory where the system has such a folder",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the count of instructions in bench/callgrind.json",
    )
    arguments = parser.parse_args()
    built = [
        os.path.join(ROOT, "build", *path)
        for path in (("release", "depyf"), ("python", "depyf"), ("depyf",))
    ]
    arguments.depyf = arguments.depyf or next(
        (path for path in built if os.path.exists(path)), None
    )
    if not arguments.depyf:
        raise SystemExit(
            "no native program: cmake -S . -B build/release -DCMAKE_BUILD_TYPE=Release && cmake --build build/release"
        )
    print(
        "depyf %s, Python %s, %d rounds"
        % (
            arguments.depyf,
            sysconfig.get_python_version()
            if arguments.python == sys.executable
            else arguments.python,
            arguments.rounds,
        )
    )
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for measure in (library, start, linear, callgrind):
            if not arguments.only or measure.__name__ in arguments.only:
                for name, line in measure(arguments, folder):
                    print("%-9s %s" % (name, line), flush=True)


if __name__ == "__main__":
    main()
