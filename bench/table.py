#!/usr/bin/env python3
"""All goals of what depyf costs, in one table: figure, noise, goal, and whether it is met.

    python bench/table.py [--rounds 5] [--only capture files start decompiler]
    python bench/table.py --short
    python bench/table.py --pythons 3.8=/usr/bin/python3.8 3.12=/usr/bin/python3.12

Calls the other programs of this folder. The figure is the median of the rounds, the noise their
half range. Ratios are of processor time, so other work on the machine changes them little; a goal
that is nearer than the noise counts as open.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

#: (workload, way) -> goal, of the ratio of a block to the block without depyf's own functions
CAPTURE = {
    ("many", "capture"): 1.08,
    ("many", "prepare_debug"): 1.08,
    ("toy", "capture"): 1.03,
    ("toy", "prepare_debug"): 1.05,
    ("recompiles", "capture"): 1.04,
    ("recompiles", "prepare_debug"): 1.06,
}
SMALL_COMPILES = """\
import os, sys, depyf
sys.path.insert(0, sys.argv[2])
import own_time
with depyf.prepare_debug(sys.argv[1]):
    own_time.many(int(sys.argv[3]))
"""


def said(*command):
    """What a program printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("%s failed:\n%s" % (" ".join(command), done.stderr[-2000:]))
    return done.stdout


def figures(values):
    """(median, half range) of the rounds; one round tells no noise."""
    noise = (max(values) - min(values)) / 2 if len(values) > 1 else math.inf
    return statistics.median(values), noise


def capture(options):
    """Blocks of many small compiles, a toy, and recompiles."""
    found = {key: [] for key in CAPTURE}
    for _ in range(options.rounds):
        for workload, way in found:
            text = said(
                sys.executable,
                os.path.join(HERE, "own_time.py"),
                "--workload",
                workload,
                "--way",
                way,
                "--compiles",
                "5" if options.short else "60",
            )
            found[workload, way].append(json.loads(text)["ratio"])
    for (workload, way), values in found.items():
        value, noise = figures(values)
        yield "%s, `%s`, eager" % (workload, way), value, noise, CAPTURE[workload, way], "at most"


def files(options):
    """The dump of 200 small compiles; a third of 9.5 MB, 703 files and a page of 3.2 MB."""
    count = 5 if options.short else 100
    with tempfile.TemporaryDirectory() as folder:
        said(sys.executable, "-c", SMALL_COMPILES, folder, HERE, str(count))
        sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}
    yield "dump of %d compiles, MB" % (2 * count), sum(sizes.values()) / 1e6, 0.0, 3.2, "at most"
    yield "its files", len(sizes), 0.0, 235, "at most"
    yield "its page, MB", sizes.get("index.html", 0) / 1e6, 0.0, 1.1, "at most"


def start(options):
    """`depyf --version` beside `python -c pass`."""
    sys.path.insert(0, HERE)
    import startup

    ratio, noise = startup.measure(max(10, 4 * options.rounds))
    yield "`depyf --version` to `python -c pass`", ratio, noise, 1.3, "at most"


def decompiler(options):
    """Libraries beside compile(), instructions of the fixtures, `depyf.decompile` beside the
    original.
    """
    speed = os.path.join(HERE, "speed.py")
    for given in options.pythons or ["%d.%d=%s" % (*sys.version_info[:2], sys.executable)]:
        version, _, python = given.rpartition("=")
        text = said(
            sys.executable,
            speed,
            "--only",
            "library",
            "--rounds",
            str(options.rounds),
            "--python",
            python,
        )
        match = re.search(r": ([\d.]+) times as fast .*noise (\d+) %", text)
        ratio = float(match.group(1))
        noise = int(match.group(2)) / 200 if options.rounds > 1 else math.inf
        yield (
            "library of %s to compile(), times as fast" % version,
            ratio,
            ratio * noise,
            5,
            "at least",
        )
    match = re.search(r"(\d+) instructions", said(sys.executable, speed, "--only", "callgrind"))
    if match:
        with open(os.path.join(HERE, "callgrind.json")) as stream:
            goal = json.load(stream)["instructions"] / 1e6
        count = int(match.group(1)) / 1e6
        yield "instructions for the fixtures, million", count, 0.05, goal, "at most"
    if options.original:
        text = said(sys.executable, os.path.join(HERE, "original.py"), "--functions", "600")
        ways = ("without its proof", "with it")
        for way, figure in zip(ways, re.findall(r"([\d.]+) times as fast", text)):
            what = "`depyf.decompile` %s to the original, times as fast" % way
            yield what, float(figure), 0, 100, "at least"


PARTS = {"capture": capture, "files": files, "start": start, "decompiler": decompiler}


def verdict(value, noise, goal, sense):
    """Whether a goal is met, by more than the noise."""
    if noise == math.inf:
        return "one round"
    over = value - goal if sense == "at most" else goal - value
    return (
        "met"
        if over <= -noise or (noise == 0 and over <= 0)
        else "open"
        if over > 0
        else "within noise"
    )


def main():
    """Prints a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS))
    parser.add_argument(
        "--pythons", nargs="+", metavar="VERSION=PATH", help="whose libraries are decompiled"
    )
    parser.add_argument(
        "--original",
        action="store_true",
        help="also the original depyf, which is fetched from PyPI",
    )
    parser.add_argument(
        "--short", action="store_true", help="one round of little, to see that all of it runs"
    )
    options = parser.parse_args()
    options.rounds = 1 if options.short else options.rounds
    print("| what | now | noise | goal | |\n| --- | --- | --- | --- | --- |", flush=True)
    for name in options.only or PARTS:
        for what, value, noise, goal, sense in PARTS[name](options):
            spread = "unknown" if noise == math.inf else "± %.2g" % noise
            cells = (what, "%.4g" % value, spread, "%s %.4g" % (sense, goal))
            print(
                "| %s | %s |" % (" | ".join(cells), verdict(value, noise, goal, sense)), flush=True
            )


if __name__ == "__main__":
    main()
