"""Every kind of expression in every place that the grammar has for one: a file for test_printer.py.

    python3.X expression_places.py FOLDER      writes places_N.py; what that version does not parse
                                               is left out

Each expression stands in parentheses, so that the printer has to find out where those are needed.
"""

import os
import sys

EXPRESSIONS = """
a
1
-1
1.5
1j
"s"
b"s"
f"{a}"
...
a.b
a[b]
a(b)
a, b
a,
()
[a]
{a}
{a: b}
a + b
a ** b
-a
not a
a or b
a and b
a < b
a in b
a if b else c
a := b
lambda: a
lambda a: a
lambda *a: (yield)
[a for a in b]
{a for a in b}
{a: b for a in b}
a for a in b
(a for a in b if c)
a async for a in b
yield
yield a
yield from a
yield a, b
await a
*a, b
*a,
""".strip().split("\n")

PLACES = """
{}
x = {}
x = y = {}
x += {}
x: int = {}
x: {}
x.y: {} = 1
({}).y: int
({}).y = 1
({}).y += 1
({})[0] = 1
x[{}] = 1
x[{}]
x[{}:{}]
x[{}:{}:{}]
x[{}, 1:2]
x[{}, *y]
del ({}).y
del x[{}]
return {}
return {}, x
return *x, {}
yield {}
yield {}, x
yield from {}
await {}
raise {}
raise {} from {}
assert {}
assert {}, {}
x({})
x({}, y)
x(y, {})
x(*{})
x(**{})
x(k={})
x({}, k=1)
x({})(y)
({})(y)
({}).z
({})[z]
-{}
not {}
~{}
{} + x
x + {}
{} - x
x - {}
{} * x
x * {}
{} ** x
x ** {}
{} | x
x | {}
{} << x
x << {}
{} @ x
x @ {}
{} and x
x and {}
{} or x
x or {}
{} < x
x < {}
x < {} < y
x in {}
x is not {}
{} if x else y
x if {} else y
x if y else {}
x = lambda: {}
x = lambda y={}: 1
x = [{}]
x = [{}, y]
x = [*{}]
x = ({}, y)
x = ({},)
x = (*{}, y)
x = {{ {} }}
x = {{ {}, y }}
x = {{*{}, y}}
x = {{ {}: y }}
x = {{ y: {} }}
x = {{**{}}}
x = [{} for y in z]
x = [y for y in {}]
x = [y for y in z if {}]
x = [y for y in z if {} if w]
x = [y for y in z for w in {}]
x = {{ {} for y in z }}
x = {{ {}: w for y in z }}
x = {{ w: {} for y in z }}
x = ({} for y in z)
x = (y for y in {})
x = (y for y in z if {})
x = (y for ({}).w in z)
x = [*{} for y in z]
x = {{**{} for y in z}}
x = f"{{ {} }}"
x = f"{{ {}!r:>{{w}}}}"
x = f"{{x:{{ {} }}}}"
x = t"{{ {} }}"
x = (y := {})
x(y := {})
x[y := {}]
for ({}).x in y: pass
for x in {}: pass
for x in {}, y: pass
for x in *{}, y: pass
while {}: pass
if {}: pass
if x: pass\nelif {}: pass
with {}: pass
with {} as x: pass
with {}, x: pass
with x as y, {} as z: pass
with x as ({}).y: pass
with ({}, x): pass
try: pass\nexcept {}: pass
try: pass\nexcept {} as x: pass
try: pass\nexcept ({}, x): pass
try: pass\nexcept* {}: pass
match {}:\n  case _: pass
match {}, x:\n  case _: pass
match *{}, x:\n  case _: pass
match x:\n  case y if {}: pass
class x({}): pass
class x({}, y): pass
class x(*{}): pass
class x(**{}): pass
class x(k={}): pass
class x({}, k=1): pass
@({})\nclass x: pass
@({}).y\ndef x(): pass
@({})(y)\ndef x(): pass
@y({})\ndef x(): pass
@y.z({}, 1)\ndef x(): pass
@y[{}]\ndef x(): pass
def x(y={}): pass
def x(y: {}): pass
def x(y: {} = 1, *, z: {} = 2): pass
def x(*y: {}): pass
def x(*y: *{}): pass
def x(**y: {}): pass
def x() -> {}: pass
type x = {}
type x[y: {}] = 1
type x[y = {}] = 1
type x[*y = *{}] = 1
def x[y: {}](): pass
async for x in {}: pass
async with {} as x: pass
lazy import x\n{}
""".strip().split("\n")


def sources():
    """Each expression in each place, in a function that is a generator, a coroutine or neither."""
    for place in PLACES:
        place = place.replace("\\n", "\n")
        for expression in EXPRESSIONS:
            body = place.replace("{{", "\0").replace("}}", "\1").replace("{}", "(%s)" % expression)
            body = body.replace("\0", "{").replace("\1", "}")
            yield "async def f():\n" + "".join("    %s\n" % line for line in body.split("\n"))


def parses(text):
    try:
        compile(text, "<place>", "exec", 0x400 | 0x2000)  # ast.PyCF_ONLY_AST, top-level await
    except (SyntaxError, ValueError):
        return False
    return True


def main():
    kept = [text for text in sources() if parses(text)]
    size = 400
    for start in range(0, len(kept), size):
        path = os.path.join(sys.argv[1], "places_%d.py" % (start // size))
        with open(path, "w") as file:
            file.write("".join(kept[start : start + size]))
        print(path)


if __name__ == "__main__":
    main()
