#!/usr/bin/env python3
"""Which opcodes are decompiled, and which test file exercises each.

usage: python python_coverage.py [--all | 3.X ...] [--missing]

Without arguments: the opcodes of the running Python. --all: of every version 3.7 to 3.15. --missing: only what is not decompiled or
not exercised. Exit status 1 when there is such an opcode.

Needs neither a build nor other interpreters: opcodes come from src/opcode/tables and src/opcode/semantics.def, and the files are the
.pyc files below tests/golden and tests/fixtures, whose bytecode is read here.
"""

from __future__ import print_function

import os
import re
import struct
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
OPCODES = os.path.join(ROOT, "src", "opcode")
FOLDERS = [os.path.join(ROOT, "tests", "golden"), os.path.join(ROOT, "tests", "fixtures")]
MAGIC = {3394: 7, 3413: 8, 3425: 9, 3439: 10, 3495: 11, 3531: 12, 3571: 13, 3627: 14, 3666: 15}
FIRST, LAST = min(MAGIC.values()), max(MAGIC.values())

# Opcodes that the interpreter uses inside and that no code object's co_code holds.
INTERNAL = {"RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR", "TRACE_RECORD"}
# The optimiser of 3.7 to 3.9 takes every NOP out; only code that no compiler wrote has one.
NEVER_EMITTED = {("NOP", 7), ("NOP", 8), ("NOP", 9)}


class Table(object):
    """One version's opcodes: {number: (name, caches)}, and the names that semantics.def gives a meaning."""

    def __init__(self, minor):
        self.opcodes = {}
        with open(os.path.join(OPCODES, "tables", "py3%d.def" % minor)) as file:
            for number, name, caches in re.findall(
                r"^OPCODE\( *(\d+), (\w+), \w+, \w+, (\d+),", file.read(), re.MULTILINE
            ):
                self.opcodes[int(number)] = (name, int(caches))
        self.known = set()
        with open(os.path.join(OPCODES, "semantics.def")) as file:
            for name, first, last in re.findall(
                r"^ROW\((\w+), +(\d+), +(\w+),", file.read(), re.MULTILINE
            ):
                if int(first) <= minor <= (LAST if last == "kNewest" else int(last)):
                    self.known.add(name)
        self.used = {}  # name -> files


class Codes(object):
    """The co_code of every code object in marshal data of any version (Python/marshal.c)."""

    def __init__(self, data, minor):
        self.data, self.at, self.minor = data, 0, minor
        self.refs, self.found = [], []
        self.value()

    def take(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self):
        return struct.unpack("<i", self.take(4))[0]

    def value(self):
        code = self.take(1)[0]
        kind, place = chr(code & 127), None
        if code & 128 and kind not in "r0":
            place = len(self.refs)
            self.refs.append(None)
        out = self.content(kind)
        if place is not None:
            self.refs[place] = out
        return out

    def content(self, kind):
        if kind in "0NTFS.":
            return kind
        if kind == "r":
            return self.refs[self.number()]
        if kind in "ig":
            return self.take(4 if kind == "i" else 8)
        if kind in "Iy":
            return self.take(8 if kind == "I" else 16)
        if kind == "l":
            return self.take(2 * abs(self.number()))
        if kind in "fx":
            return [self.take(self.take(1)[0]) for _ in range(1 if kind == "f" else 2)]
        if kind in "stuaA":
            return self.take(self.number())
        if kind in "zZ":
            return self.take(self.take(1)[0])
        if kind == ":":
            return [self.value() for _ in range(3)]
        if kind == ")":
            return [self.value() for _ in range(self.take(1)[0])]
        if kind in "([<>":
            return [self.value() for _ in range(self.number())]
        if kind in "{}":
            out = []
            while True:
                key = self.value()
                if key == "0":
                    return out
                out.append((key, self.value()))
        if kind == "c":
            self.take(4 * (5 if self.minor == 7 or self.minor >= 11 else 6))
            self.found.append(self.value())
            for _ in range(7):
                self.value()
            self.take(4)
            for _ in range(2 if self.minor >= 11 else 1):
                self.value()
            return None
        raise ValueError("unknown marshal type %r" % kind)


def scan(tables):
    for folder in FOLDERS:
        for where, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    continue
                path = os.path.join(where, name)
                with open(path, "rb") as file:
                    data = file.read()
                minor = MAGIC.get(struct.unpack("<H", data[:2])[0])
                if minor not in tables:
                    continue
                table = tables[minor]
                for code in Codes(data[16:], minor).found:
                    at = 0
                    while at < len(code):
                        opcode, caches = table.opcodes.get(code[at], ("<%d>" % code[at], 0))
                        table.used.setdefault(opcode, []).append(os.path.relpath(path, ROOT))
                        at += 2 + 2 * caches


def main(arguments):
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    only_missing = "--missing" in arguments
    wanted = [a for a in arguments if not a.startswith("--")]
    if "--all" in arguments:
        minors = list(range(FIRST, LAST + 1))
    elif wanted:
        minors = [int(version.split(".")[1]) for version in wanted]
    else:
        minors = [sys.version_info[1]]
    for minor in minors:
        if not FIRST <= minor <= LAST:
            print(
                "Python 3.%d is not supported; 3.%d to 3.%d are" % (minor, FIRST, LAST),
                file=sys.stderr,
            )
            return 2
    tables = {minor: Table(minor) for minor in minors}
    scan(tables)
    total_missing = 0
    for minor in minors:
        table = tables[minor]
        decompiled = exercised = count = 0
        lines = []
        for number, (name, _) in sorted(table.opcodes.items()):
            if name in INTERNAL:
                if not only_missing:
                    lines.append("%5d  %-36s internal to the interpreter" % (number, name))
                continue
            count += 1
            files = sorted(set(table.used.get(name, ())))
            known = name in table.known
            decompiled += known
            # A CACHE unit belongs to the instruction before it.
            if name == "CACHE":
                files = files or ["(inline caches)"]
            if (name, minor) in NEVER_EMITTED:
                files = files or ["(never emitted; tests/unit/bytecode_test.cpp)"]
            exercised += bool(files)
            if only_missing and known and files:
                continue
            shown = (
                files[0] + (" and %d more" % (len(files) - 1) if len(files) > 1 else "")
                if files
                else "NOT EXERCISED"
            )
            lines.append(
                "%5d  %-36s %-15s %s"
                % (number, name, "decompiled" if known else "NOT DECOMPILED", shown)
            )
        total_missing += 2 * count - decompiled - exercised
        print(
            "Python 3.%d: %d opcodes, %d decompiled, %d exercised"
            % (minor, count, decompiled, exercised)
        )
        for line in lines:
            print(line)
    return 1 if total_missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
