"""What `depyf dump --stage` shows of statements, expressions, patterns and constants."""

import py_compile
import re
import subprocess
import sys

import pytest

#: a statement of a module, and its line in the dump of the stage rewrite
STATEMENTS = [
    ("import os.path as p", "Import os.path p"),
    ("from a import b as c", "ImportFrom a b c"),
    ("x = -a + b @ c", "Assign Binary(Unary.3(a), Binary.4(b, c)) [x]"),
    ("x = c < d <= e", "Assign Compare/0/1(c, d, e) [x]"),
    ("x = a and not b or c", "Assign BoolOp.1(BoolOp(a, Unary.1(b)), c) [x]"),
    ("x = a if k else (w := 1)", "Assign IfExp(k, a, NamedExpr(w, 1)) [x]"),
    ("x.y[1:2] = z", "Assign z [Subscript(Attribute y(x), Slice(1, 2, -))]"),
    ("x = [1, *a], {1: a, **b}", "Assign Tuple(List.1(1, Starred(a)), Dict.1(1, a, -, b)) [x]"),
    ("x = f(a, *b, k=c, **d)", "Assign Call(f, a, Starred(b), Keyword k(c), Keyword(d)) [x]"),
    ("x = f'{a!r:>{b}}z'", "Assign JoinedStr(FormattedValue.2(a, JoinedStr('>', "),
    ("x = [y for y in z if y]", "Assign ListComp(y, Comprehension(y, z, y)) [x]"),
    ("x = lambda a, *b: a", "Assign Lambda "),
    ("a, *b = c", "Assign c [Tuple(a, Starred(b))]"),
    ("a += 1", "AugAssign a 1"),
    ("del a, b.c", "Delete [a]"),
    ("v: int = 1", "AnnAssign v int 1"),
    ("assert a, 'm'", "Assert a 'm'"),
    ("while a: b()", "While a"),
    ("for a in b: c()", "For a b"),
    ("with a as b, c: d()", "With [a, b, c, -]"),
    ("try: a()\nexcept B as b: c()\nelse: d()\nfinally: e()", "Handler.3 b B"),
    ("@deco\ndef f(): global g; g = 1", "FunctionDef f [deco]"),
    ("class C(B, m=M): x = 1", "ClassDef C [B, Keyword m(M)]"),
    ("raise A from b", "Raise A b"),
]
PATTERNS = [
    ("[1, *r]", "Case MatchSequence(MatchValue(1), MatchStar.3 r)"),
    ("{'a': 2, **s}", "Case MatchMapping.3 s('a', MatchValue(2))"),
    ("D(3, e=4) as t", "Case MatchAs.3 t(MatchClass"),
    (
        "-1 | None | m.k",
        "Case MatchOr(MatchValue(-1), MatchSingleton None, MatchValue(Attribute k(m)))",
    ),
]
#: a constant, and how the stage lift spells it
CONSTANTS = [
    ("None", "None"),
    ("...", "..."),
    ("10 ** 30", "0xc9f2c9cd04674edea40000000"),
    ("-(10 ** 30)", "-0xc9f2c9cd04674edea40000000"),
    ("2.0", "2.0"),
    ("1e+300", "1e+300"),
    ("2.5j", "complex(0.0, 2.5)"),
    (r"b'a\x00'", r"b'a\x00'"),
    (r"'a\n\'\\'", r"'a\n\'\\'"),
    ("'x' * 70", "'" + "x" * 60 + "…'"),
    ("(1, 'a')", "(1, 'a')"),
]


def dumped(tmp_path, source, stage):
    (tmp_path / "one.py").write_text(source)
    pyc = py_compile.compile(str(tmp_path / "one.py"), str(tmp_path / "one.pyc"), doraise=True)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "dump", "--stage", stage, pyc],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [re.sub("  @[0-9]+$", "", line).strip() for line in done.stdout.splitlines()]


def missing(rows, lines):
    return [row for row in rows if not any(line.startswith(row[1]) for line in lines)]


def test_a_tree_has_a_line_for_each_statement(tmp_path):
    rows = [row for row in STATEMENTS if sys.version_info >= (3, 8) or ":=" not in row[0]]
    lines = dumped(tmp_path, "\n".join(source for source, _ in rows), "rewrite")
    assert not missing(rows, lines), lines


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match is of 3.10")
def test_a_tree_has_a_line_for_each_pattern(tmp_path):
    cases = "".join("    case %s: f()\n" % pattern for pattern, _ in PATTERNS)
    lines = dumped(tmp_path, "match v:\n" + cases, "rewrite")
    assert "Match v" in lines and not missing(PATTERNS, lines), lines


def test_the_tree_before_rewriting_has_what_it_replaces(tmp_path):
    lines = dumped(tmp_path, "import a.b as c\nclass D: pass\nassert c", "structure")
    assert "Assign ImportedName b(ImportModule a.b(0, None)) [c]" in lines or any(
        line.startswith("Assign ImportModule a.b(0, None)") for line in lines
    )
    assert any("ClassBuilder" in line for line in lines), lines
    assert not any(line.startswith(("Import ", "ClassDef", "Assert")) for line in lines), lines


def test_constants_are_spelled_in_the_values_of_lift(tmp_path):
    source = "".join("x(%s)\n" % constant for constant, _ in CONSTANTS)
    text = "\n".join(dumped(tmp_path, source, "lift"))
    assert [spelled for _, spelled in CONSTANTS if "LOAD_CONST " + spelled not in text] == [], text
