"""Code objects of CPython 3.11 from what `dis` printed, so that Dynamo's bytecode can be kept as
text.

    python3.11 listing.py LISTING OUTPUT.pyc     the listing as a code object
    python3.11 listing.py SOURCE.py OUTPUT.pyc   the first function of the source

A listing starts with a line `name argcount=… flags=… varnames=(…) names=(…) consts=(…)
stacksize=…`, then the instructions with their offsets, then rows `start to end -> target [depth]
lasti` of the exception table (`end` is exclusive).
"""

import ast
import dis
import importlib.util
import marshal
import re
import sys
import types

FIELD = re.compile(r"(argcount|kwonly|flags|stacksize)=(\d+)")
INSTRUCTION = re.compile(r"^(?:\s*\d+)?\s+(?:>>)?\s*(\d+) ([A-Z][A-Z_0-9]*)(?:\s+(\d+))?")
ROW = re.compile(r"^\s*(\d+) to (\d+) -> (\d+) \[(\d+)\]( lasti)?")


def number(value, first):
    """A number of the exception table, six bits a byte; `first` marks the beginning of a row."""
    out = [value & 63]
    while value > 63:
        value >>= 6
        out.insert(0, value & 63)
    return [
        (128 if first and i == 0 else 0) | (64 if i + 1 < len(out) else 0) | bits
        for i, bits in enumerate(out)
    ]


def assemble(text):
    head, _, body = text.partition("\n")
    values = {name: int(value) for name, value in FIELD.findall(head)}
    tuples = {
        name: ast.literal_eval(re.search(r"\b" + name + r"=(\(.*?\))(?= [a-z]+=|$)", head).group(1))
        for name in ("varnames", "names", "consts")
    }
    raw, table = bytearray(), []
    for line in body.splitlines():
        row = ROW.match(line)
        if row:
            start, end, target, depth = [int(n) for n in row.groups()[:4]]
            table += (
                number(start // 2, True)
                + number((end - start) // 2, False)
                + number(target // 2, False)
            )
            table += number(depth * 2 + (row.group(5) is not None), False)
            continue
        found = INSTRUCTION.match(line)
        if found:
            offset, name, operand = found.groups()
            raw += bytes(int(offset) - len(raw)) + bytes([dis.opmap[name], int(operand or 0)])
    name = head.split()[0]
    return types.CodeType(
        values["argcount"],
        0,
        values.get("kwonly", 0),
        len(tuples["varnames"]),
        values["stacksize"],
        values["flags"],
        bytes(raw),
        tuples["consts"],
        tuples["names"],
        tuples["varnames"],
        "<listing>",
        name,
        name,
        1,
        b"",
        bytes(table),
        (),
        (),
    )


def pyc_of(path):
    """Bytes of a .pyc from the listing or source at `path`."""
    with open(path) as file:
        text = file.read()
    if path.endswith(".py"):
        code = next(
            c for c in compile(text, "<source>", "exec").co_consts if isinstance(c, types.CodeType)
        )
    else:
        code = assemble(text)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def main():
    pyc = pyc_of(sys.argv[1])
    with open(sys.argv[2], "wb") as file:
        file.write(pyc)


if __name__ == "__main__":
    main()
