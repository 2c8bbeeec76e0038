"""Text that CPython warns of compiles without a warning, to the same, and the filters stay as they
are.
"""

import ast
import random
import re
import sys
import threading
import tokenize
import types
import warnings

import pytest
from depyf import _core, compiling

EXPRESSIONS = """
x is 1 | 1 is x | x is not 'a' | x is () | x is (1, 2) | -1 is x | x is -1 | (1 + 2) is x | 1 < x is 'a' | x is None
1() | 'a'() | (a, b)() | [a]() | {}() | {1}() | {a: b}() | (x for x in y)() | [x for x in y]() | f'{x}'() | (1 + 2)()
...() | None() | None[0] | ...[0] | 1[0] | 1.5[0] | {1}[0] | (lambda: 1)[0] | (x for x in y)[0] | __debug__() | True[0]
'a'['b'] | 'a'[1.0] | [1][x, 1] | (a, b)['c'] | f'{x}'['a'] | [x for x in y]['a'] | ('a' + 'b')['c'] | '%d' % 1 ['a']
[1][None] | (1, 2)[1, 2] | (*a,)() | {**a}() | (not x)() | 'a' 'b' is x | __debug__ is 1 | (yield x) if 1() else 2
x [ # a comment
0] is 1 | (1 # a comment
) () | 1 \\
() | x is \\
1
'\\d' | b'\\d' | '\\400' | b'\\777' | f'\\d{x}' | f'{x:\\d}' | b'\\N' | b'\\u1' | '\\\\\\d' | r'\\d' | '\\N{DIGIT ONE}\\d'
1if x else 2 | [1for x in y] | 1or 2 | 0x1for x in y | 1jand x | 1.if x else 2
...is 1 | ...and (1)() | x is True + 1 | ~True | ~(1 == 1) | ~(not x) | ~__debug__ | ~x
"""
STATEMENTS = [
    "assert (a, b)",
    "assert (1, 2), 'text'",
    "assert (1), x",
    "assert 2 * (1, 2)",
    "assert True * (1, 2), x",
    "assert x * (1, 2)",
    "def f():\n    try:\n        g()\n    finally:\n        return 1\n",
    "def f():\n    try:\n        g()\n    finally:\n        if x:\n            return 1\n        h()\n",
    "def f():\n    try:\n        g()\n    finally:\n        for x in y:\n            break\n        with x:\n            return x\n",
    "def f():\n    try:\n        g()\n    finally:\n        def h():\n            return 1 is x\n",
    "a = 1\r\nb = '\\d'\r\nc = 1if b else 2\r\n",
    "def f(self):\n    '''\\d'''\n    return f'''\n\\d {x!r:>\\d}\n'''\n",
]


def texts():
    found = []
    for line in EXPRESSIONS.strip().split("|"):
        for part in (line,) if "#" in line or "\\\n" in line else line.split("\n"):
            text = part.strip()
            found.append("def f():\n    return (%s)" % text if "yield" in text else text)
    return found + STATEMENTS


def compiled_loudly(text):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code = compile(text, "<text>", "exec", 0, True, 0)
        except SyntaxError:
            code = None
    return code, len(caught)


def operations(code):
    """What a code object does: its instructions without those that do nothing, and constants by
    value.
    """
    import dis

    found = []
    for one in dis.get_instructions(code):
        if one.opname in ("NOP", "RESUME", "EXTENDED_ARG", "CACHE", "NOT_TAKEN"):
            continue
        value = one.argval
        if isinstance(value, types.CodeType):
            value = operations(value)
        elif "JUMP" in one.opname or one.opname.startswith("SETUP"):
            value = "somewhere"
        found.append((one.opname.replace("LOAD_SMALL_INT", "LOAD_CONST"), repr(value)))
    return found


@pytest.mark.parametrize("text", texts())
def test_no_warning_and_the_same_code(text):
    loud, _ = compiled_loudly(text)
    filters = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if loud is None:
            assert not compiling.is_python(text)
            return
        quiet = compiling.compile_text(text, "<text>")
        assert compiling.is_python(text)
    assert warnings.filters == filters
    # older ones leave code behind that is never reached, newer ones leave a `with` in another order
    if sys.version_info >= (3, 10) and "with" not in text:
        assert operations(quiet) == operations(loud)


def test_most_of_these_texts_do_warn():
    loud = [text for text in texts() if compiled_loudly(text)[1]]
    assert len(loud) > (50 if sys.version_info >= (3, 8) else 5)


@pytest.mark.parametrize("word", ["break", "continue"])
def test_what_cannot_be_said_quietly_is_not_said(word):
    text = "while x:\n    try:\n        g()\n    finally:\n        %s\n" % word
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if sys.version_info >= (3, 14):
            with pytest.raises(compiling.Loud, match="'%s' in a 'finally' block" % word):
                compiling.compile_text(text, "<text>")
        if sys.version_info >= (3, 8):
            assert compiling.is_python(text)


@pytest.mark.parametrize(
    "text", ["x = (", "'abc", "1if", "'\\x1'", "nonlocal a", "f'{'", "\tx\n  y", "x = '\\d", "\0"]
)
def test_what_is_no_python(text):
    assert not compiling.is_python(text)


def test_the_filters_are_never_touched_for_other_threads():
    seen, stop = set(), threading.Event()
    version = getattr(warnings, "_filters_version", None)

    def watch():
        while not stop.is_set():
            seen.add((id(warnings.filters), len(warnings.filters), id(warnings.showwarning)))

    thread = threading.Thread(target=watch)
    before = (id(warnings.filters), len(warnings.filters), id(warnings.showwarning))
    thread.start()
    try:
        for _ in range(20):
            for text in texts():
                compiling.is_python(text)
    finally:
        stop.set()
        thread.join()
    assert seen == {before} and getattr(warnings, "_filters_version", None) == version


PIECES = """x x y 1 1.5 0xf 1j 'a' b'b' "\\d" '\\n' r'\\d' '''s''' f'{x}' None True ... __debug__ ( ) ( ) [ ] { } , . : = is
is not not in and or if else for lambda await - + * ~ assert finally yield match print return x.None # \\\n \n""".split(
    " "
)


@pytest.mark.parametrize("seed", range(8))
def test_a_text_that_counts_as_quiet_never_warns(seed):
    draw = random.Random(seed)
    quiet = 0
    for _ in range(4000):
        pieces = draw.choices(PIECES, k=draw.randrange(2, 9))
        opened = [")]}"["([{".index(piece)] for piece in pieces if piece in ("(", "[", "{")]
        text = draw.choice(["", " "]).join(pieces)
        for end in (text, text + "".join(reversed(opened))):
            if _core.is_quiet(end):
                code, warned = compiled_loudly(end)
                quiet += code is not None
                assert not warned, end
    assert quiet > 100


@pytest.mark.parametrize(
    "text",
    [
        "'abc",
        "'''abc''",
        "x = '\\",
        "r'\\",
        "x \\",
        "x \\'\\d'",
        "\ud800",
        "f'{x}'",
        "__\uff44ebug__()",
    ]
    + ["(" * 100000, "assert #", "x is", "x is not \\", ")"],
    ids=ascii,
)
def test_what_ends_early_or_is_hard_to_tell_is_not_quiet(text):
    assert not _core.is_quiet(text)


def test_what_depyf_writes_is_quiet():
    text = (
        '"""What torch.compile made of f1, as Python: torch checks the same [1][2]."""\n'
        "# graph_out is torch's assert (1, 2)\n"
        "def guard(L, G=None):\n"
        "    G = __home__ if G is None else G\n"
        "    return bool(True and __check(L['x'], 'Tensor', size=[3])(1)[0] is None)\n"
        'def forward(self, x: "f32[3][1]cpu"):\n'
        '    y: "f32[3][1]cpu" = x + 1;  x = None\n'
        "    return (y, x)\n"
    )
    assert _core.is_quiet(text) and compiling.is_python(text)


@pytest.mark.parametrize(
    "text", [one for one in texts() if not re.search(r"\d\.?j?(if|for|or|and)|yield", one)]
)
def test_names_and_places_without_a_warning(text):
    def places(tree):
        return [
            (
                type(node).__name__,
                getattr(node, "id", None),
                [getattr(node, name, None) for name in ("lineno", "col_offset")],
                [getattr(node, name, None) for name in ("end_lineno", "end_col_offset")],
            )
            for node in ast.walk(tree)
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = places(ast.parse(text))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert places(compiling.places_of(text)) == expected


def test_all_nodes_are_met_in_the_order_of_ast():
    for module in (ast, tokenize, warnings, threading, re):
        with open(module.__file__, "rb") as stream:
            tree = ast.parse(stream.read())
        assert [id(one) for one in compiling.walk(tree)] == [id(one) for one in ast.walk(tree)]


def test_what_others_set_on_nodes_that_all_trees_share_is_not_followed():
    """`executing`, with which IPython prints tracebacks, sets the parent of each node."""
    from depyf.advice.uses import trees

    text = "def f(a, *b):\n    a[0] = a + b[1] - (not a and b or a < b)\n    assert (a, -b)\n    del b\n"
    tree = ast.parse(text)
    expected = [type(one) for one in ast.walk(tree)]
    shared = [one for one in ast.walk(tree) if not one._fields and not hasattr(one, "lineno")]
    assert {type(one) for one in shared} >= {ast.Load, ast.Store, ast.Del, ast.Add, ast.And, ast.Lt}
    for one in shared:
        one.parent = tree
    try:
        assert [type(one) for one in compiling.walk(tree)] == expected
        assert len(trees.nodes_at(tree, 2)) < len(expected)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiling.compile_text(text, "<text>")
    finally:
        for one in shared:
            vars(one).pop("parent", None)
