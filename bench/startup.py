#!/usr/bin/env python3
"""Start-up of `depyf --version` beside `python -c pass`: processor time, interleaved, of fresh
processes.

    python bench/startup.py --rounds 40

The script that pip 25.1 and later writes for `depyf` is used; that of older pips also imports `re`.
"""

import argparse
import os
import statistics
import subprocess
import sys

SCRIPT = "import sys; from _depyf_command import main; sys.exit(main(['--version']))"
WAYS = {"pass": "pass", "depyf --version": SCRIPT}


def cpu_seconds(program):
    """Processor time of one process that runs `program`."""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%r failed" % program)
    return used.ru_utime + used.ru_stime


def measure(rounds):
    """(ratio of medians, noise: how far the medians of the two halves of `pass` are apart)."""
    cpu_seconds(SCRIPT)
    found = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, program in WAYS.items():
            found[name].append(cpu_seconds(program))
    plain = found["pass"]
    median = statistics.median(plain)
    halves = [statistics.median(part) for part in (plain[::2], plain[1::2])]
    ratio = statistics.median(found["depyf --version"]) / median
    return ratio, abs(halves[0] - halves[1]) / median


def main():
    """Prints the ratio and the noise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    ratio, noise = measure(parser.parse_args().rounds)
    print("depyf --version: %.2f x python -c pass, noise %.1f %%" % (ratio, 100 * noise))


if __name__ == "__main__":
    main()
