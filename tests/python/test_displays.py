"""Large displays that hash their items at the end, as torch's code does."""

import dis
import sys

import pytest
from depyf.code_edit import replace
from depyf.rewrites import build_at_once, rewritten

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 9), reason="the compiler builds every display at once"
)


def built_at_once(code, original):
    return next(rewritten(code, original, [build_at_once]), code)


class Told:
    """A key that notes when it is hashed."""

    def __init__(self, log, number):
        self.log, self.number = log, number

    def __hash__(self):
        self.log.append("hash %d" % self.number)
        return self.number

    def __eq__(self, other):
        return self.number == other.number


def asking_for(opname):
    """A code object that builds such a display of many items; it is only read."""
    code = compile("def f(a, b): return {a: b}, {a}", "<test>", "exec").co_consts[0]
    bytecode = bytearray(code.co_code)
    at = [i for i in range(0, len(bytecode), 2) if bytecode[i] == dis.opmap[opname]][0]
    bytecode[at + 1] = 200
    return replace(code, co_code=bytes(bytecode))


def compiled(text):
    found = {}
    exec(compile("def f(key, value, names):\n return %s\n" % text, "<test>", "exec"), found)
    return found["f"]


def run(function, log):
    def key(number):
        log.append("key %d" % number)
        return Told(log, number)

    def value(number):
        log.append("value %d" % number)
        return number

    del log[:]
    return function(key, value, [7, 8])


FORMS = {
    "map": ("BUILD_MAP", lambda n: "{%s}" % ", ".join("key(%d): value(%d)" % (i, i) for i in n)),
    "set": ("BUILD_SET", lambda n: "{%s}" % ", ".join("key(%d)" % i for i in n)),
}


@pytest.mark.parametrize("count", [16, 17, 18, 34, 35, 40, 300])
@pytest.mark.parametrize("form", FORMS)
def test_all_items_are_there_before_one_is_hashed(form, count):
    opname, text = FORMS[form]
    function = compiled(text(range(count)))
    log = []
    want = run(function, log)
    made = built_at_once(function.__code__, asking_for(opname))
    function.__code__ = made
    have = run(function, log)
    assert list(have) == list(want) and len(have) == count
    if form == "map":
        assert have == want
    hashed = [
        i for i, one in enumerate(log[: log.index("hash %d" % (count - 1)) + 1]) if "hash" in one
    ]
    assert hashed == list(range(hashed[0], hashed[0] + count))


@pytest.mark.parametrize(
    "text",
    [
        "{%s, **{'more': 1}}"
        % ", ".join("'k%d' + str(value(%d)): value(1)" % (i, i) for i in range(20)),
        "{%s}"
        % ", ".join("(value(%d) if names else key): [n for n in names]" % i for i in range(20)),
        "{%s}"
        % ", ".join(
            "value(%d): {%s}" % (i, ", ".join("str(value(%d)): 1" % j for j in range(18)))
            for i in range(20)
        ),
        "[{%s}, {value(n): n for n in names}]" % ", ".join("value(%d): len" % i for i in range(33)),
        "max(1, len({%s}), *names)" % ", ".join("value(%d)" % i for i in range(70)),
        "{value(1): 2, **{%s}}" % ", ".join("value(%d): len" % i for i in range(19)),
    ],
)
def test_what_stands_in_or_around_a_display_stays(text):
    function = compiled(text)
    want = run(function, [])
    for opname in ("BUILD_MAP", "BUILD_SET"):
        function.__code__ = built_at_once(function.__code__, asking_for(opname))
        assert run(function, []) == want


def test_code_without_such_a_display_is_the_same_object():
    code = compiled("{value(1): 2}").__code__
    assert built_at_once(code, asking_for("BUILD_MAP")) is code
    large = compiled(FORMS["map"][1](range(20))).__code__
    assert built_at_once(large, code) is large
