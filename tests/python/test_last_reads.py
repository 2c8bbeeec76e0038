"""Locals that are cleared where they are last read, on every way through the code."""

import dis
import importlib
import inspect
import itertools
import sys
import types
import weakref

import pytest

from depyf.frame_contract import argument_names
from depyf.lifetimes import consume, held_longer, starred_as, used_locals

pytestmark = pytest.mark.skipif(sys.version_info < (3, 8), reason="nothing is consumed there")


class Thing:
    pass


def ways(make, seen, n):
    first = make("first")
    second, third = make("second"), make("third")
    if n == 1:
        seen(first is second)
    elif n == 2:
        seen(third)
    for i in range(n):
        fourth = make("fourth %d" % i)
        try:
            if i == 3:
                raise KeyError(fourth)
            seen(fourth)
        except KeyError:
            seen("caught")
        else:
            continue
        seen("behind")
    fifth = make("fifth")
    return seen("end")


def handed_on(make, seen, n):
    first, second = make("first"), make("second")
    seen(second)
    return seen((first, seen("before")))


def watched(function, n):
    """What `function` does and when its things die, in one list."""
    log = []

    def make(name):
        thing = Thing()
        weakref.finalize(thing, log.append, "end of " + name)
        return thing

    function(make, lambda one: log.append(type(one).__name__ if one != "end" else one), n)
    return log


def without_the_constant_none(make, seen, n):
    """None is no constant of this function."""
    first, second = make("first"), make("second")
    if n > 1:
        seen(first)
    seen(second is first)
    return seen("end")


@pytest.mark.parametrize("function", [ways, handed_on])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_local_ends_with_its_last_read(function, n):
    code, names = consume(function.__code__, frozenset(argument_names(function.__code__)))
    assert {"first", "second"} <= set(names)
    log = watched(types.FunctionType(code, globals()), n)
    plain = watched(function, n)
    assert [one for one in log if not one.startswith("end of")] == [
        one for one in plain if not one.startswith("end of")
    ]
    assert sorted(log) == sorted(plain)
    if function is handed_on:
        assert log == ["Thing", "end of second", "str", "tuple", "end of first"]
    else:
        # Nothing reads what is made on the way to here, so all of it is gone.
        assert log[-2:] == ["end of fifth", "end"]
        assert log.index("end of first") < log.index("end of fifth")


@pytest.mark.parametrize("n", [0, 2])
def test_a_local_ends_also_where_the_code_has_no_none(n):
    code, _ = consume(
        without_the_constant_none.__code__,
        frozenset(argument_names(without_the_constant_none.__code__)),
    )
    assert None not in without_the_constant_none.__code__.co_consts
    log = watched(types.FunctionType(code, globals()), n)
    assert log[-1] == "end"


def test_what_is_kept_is_left_alone():
    code, names = consume(handed_on.__code__, frozenset(handed_on.__code__.co_varnames))
    assert code is handed_on.__code__ and names == ()


def on_the_stack(make, log):
    return log(make("a"), make("b"))


def in_a_local(make, log):
    first = make("a")
    return log(first, make("b"))


def beside(make, log):
    first = make("a")
    log(first)
    return log(2)


def beside_on_the_stack(make, log):
    log(make("a"))
    return log(2)


def code_as(one, other):
    """The code of `other` under the names of `one`, which a proof compares."""
    code = other.__code__.replace(co_name=one.__name__)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=one.__qualname__)
    return code


@pytest.mark.parametrize(
    "torch_s, ours", [(on_the_stack, in_a_local), (beside_on_the_stack, beside)]
)
def test_the_prover_counts_how_long_a_value_is_kept(torch_s, ours):
    from depyf import _core

    one, other = torch_s.__code__, code_as(torch_s, ours)
    assert _core.compare(one, other)[0] == "equivalent"
    verdict, detail = _core.compare(one, other, lifetimes=True)
    assert verdict == "unproven"
    assert "'first' keeps a value that nothing reads any more" in detail
    consumed, _ = consume(other, used_locals(one))
    assert _core.compare(one, consumed, lifetimes=True)[0] == "equivalent"


def kept_for_longer(make, log):
    tmp_1 = make("a")
    log(tmp_1)
    return log(2)


def kept_on_one_way(make, log):
    tmp_1 = make("a")
    if log(tmp_1):
        return log(3)
    log(2)
    return tmp_1


@pytest.mark.parametrize("torch_s", [kept_for_longer, kept_on_one_way])
def test_no_value_dies_earlier_than_in_torch_s_code(torch_s):
    from depyf import _core
    from depyf.recompile import recompile

    assert _core.kept_temporaries(torch_s.__code__) == ["tmp_1"]
    if torch_s is kept_for_longer:
        earlier = code_as(torch_s, beside_on_the_stack)
        assert _core.compare(torch_s.__code__, earlier, dynamo=True)[0] == "equivalent"
        verdict, detail = _core.compare(torch_s.__code__, earlier, dynamo=True, lifetimes=True)
        assert verdict == "unproven" and "and the second has dropped it" in detail
    found = recompile(torch_s.__code__, dynamo=True)
    assert found.proven, found.detail
    ours = types.FunctionType(found.code, globals())
    for answer in (None, True):
        logs = []
        for function in (torch_s, ours):
            log = []

            def make(name, log=log):
                thing = Thing()
                weakref.finalize(thing, log.append, "end of " + name)
                return thing

            def note(one, log=log):
                log.append(type(one).__name__)
                return answer

            function(make, note)
            logs.append(log)
        assert logs[0] == logs[1] and "end of a" in logs[0]


def overwritten(make, log):
    tmp_1 = make("a")
    tmp_1 = make("b")  # noqa: F841
    return log(2)


def deleted(make, log):
    tmp_1 = make("a")
    del tmp_1
    make("b")
    return log(2)


def read_in_vain(make, log):
    tmp_1 = make("a")
    tmp_1
    make("b")
    return log(2)


@pytest.mark.parametrize(
    "one, other", list(itertools.permutations((overwritten, deleted, read_in_vain), 2))
)
def test_a_temporary_that_nothing_reads_counts_on_both_sides(one, other):
    from depyf import _core

    a, b = one.__code__, code_as(one, other)
    assert _core.compare(a, b, dynamo=True, lifetimes=True)[0] == "unproven"


def saved_before(make, log):
    tmp_1, make = make, log("b")  # noqa: F841
    log(make)
    return log(2)


def saved_behind(make, log):
    make, tmp_1 = log("b"), make  # noqa: F841
    log(make)
    return log(2)


def saved_twice(make, log):
    tmp_1 = make
    make = log("b")
    tmp_2 = make  # noqa: F841
    log(make)
    return log(2)


def not_saved(make, log):
    make = log("b")
    log(make)
    return log(2)


@pytest.mark.parametrize("saved", [saved_before, saved_behind, saved_twice])
def test_a_copy_of_what_a_parameter_had_before_is_not_kept_by_it(saved):
    from depyf import _core

    a, b = saved.__code__, code_as(saved, not_saved)
    for pair in ((a, b), (b, a)):
        verdict, detail = _core.compare(*pair, dynamo=True, lifetimes=True)
        assert verdict == "unproven" and "keeps a value" in detail, detail


def one_after_the_other(make, log):
    make("a")
    return log(2)


def in_a_list(make, log):
    return [make("a"), log(2)][1]


def in_a_tuple(make, log):
    return (make("a"), log(2))[1]


def in_a_slice(make, log):
    return [make("a"), log(2)][1:][0]


def in_a_list_in_a_list(make, log):
    return [[make("a")], log(2)][1]


def read_for_nothing(make, log):
    kept = make("a")
    log(2)
    kept


def on_the_way_round(make, log):
    while log(2):
        [make("a"), log(3)][1]


def once_on_the_way_round(make, log):
    while log(2):
        make("a")
        log(3)


def in_a_handler(make, log):
    try:
        log(1)
    finally:
        [make("a"), log(2)][1]


def once_in_a_handler(make, log):
    try:
        log(1)
    finally:
        make("a")
        log(2)


def while_tested(make, log):
    return [make("a"), log(3) if log(2) else log(4)][1]


def before_the_test(make, log):
    make("a")
    return log(3) if log(2) else log(4)


LONG = (
    (in_a_list, one_after_the_other),
    (in_a_tuple, one_after_the_other),
    (in_a_slice, one_after_the_other),
    (in_a_list_in_a_list, one_after_the_other),
    (read_for_nothing, one_after_the_other),
    (on_the_way_round, once_on_the_way_round),
    (in_a_handler, once_in_a_handler),
    (while_tested, before_the_test),
)


def consumed_as(one, other):
    """The code of `other` under the name of `one`, its own locals cleared where they are last read."""
    code = code_as(one, other)
    return consume(code, used_locals(one.__code__))[0]


def ends(function, code):
    """The log of a call, with the end of what was made."""
    log = []

    def make(name):
        thing = Thing()
        weakref.finalize(thing, log.append, "end of " + name)
        return thing

    def note(one):
        log.append(one)
        return len(log) < 3

    types.FunctionType(code, globals())(make, note)
    return log


@pytest.mark.parametrize("long, short", LONG)
@pytest.mark.parametrize("turned", [False, True])
def test_what_only_the_stack_holds_counts(long, short, turned):
    from depyf import _core

    one, other = (short, long) if turned else (long, short)
    code = consumed_as(one, other)
    assert ends(one, one.__code__) != ends(one, code)
    assert _core.compare(one.__code__, code, dynamo=True, lifetimes=True)[0] == "unproven"


def in_two_lists(make, log):
    return [[make("a"), 5], log(2)][1]


def in_keywords(make, log):
    return take(kept=make("a"), logged=log(2))


def in_locals(make, log):
    function = take
    first = make("a")
    second = log(2)
    return function(kept=first, logged=second)


def take(kept, logged):
    return logged


@pytest.mark.parametrize(
    "one, other",
    list(itertools.permutations((in_a_list, in_a_tuple, in_a_slice, in_two_lists), 2))
    + [(in_keywords, in_locals)],
)
def test_which_list_or_tuple_holds_a_value_counts_for_nothing(one, other):
    from depyf import _core

    code = consumed_as(one, other)
    assert ends(one, one.__code__) == ends(one, code)
    assert _core.compare(one.__code__, code, dynamo=True, lifetimes=True)[0] == "equivalent"


class Taker:
    def lets_go(self, one, log):
        del one
        return log(2)

    def takes(self, first, log, **keywords):
        del first
        log(1)
        order = list(keywords)
        keywords.clear()
        return log(2), order


lets_go = Taker().lets_go


def in_a_plain_call(make, log):
    return lets_go(make("a"), log)


def in_a_starred_call(make, log):
    return lets_go(*[make("a"), log])


def in_a_call_with_keywords(make, log):
    return lets_go(one=make("a"), log=log)


def in_a_dict_of_keywords(make, log):
    return lets_go(*(), **{"one": make("a"), "log": log})


@pytest.mark.parametrize(
    "one, other",
    [
        (in_a_plain_call, in_a_starred_call),
        (in_a_starred_call, in_a_plain_call),
        (in_a_call_with_keywords, in_a_dict_of_keywords),
        (in_a_dict_of_keywords, in_a_call_with_keywords),
    ],
)
def test_a_starred_call_keeps_its_arguments_and_a_plain_one_gives_them_away(one, other):
    from depyf import _core

    code = consumed_as(one, other)
    gives_away = sys.version_info >= (3, 11)
    # Where torch has set a frame evaluation of its own, CPython makes all calls the long way.
    if "torch" not in sys.modules:
        assert (ends(one, one.__code__) != ends(one, code)) == gives_away
    verdict = _core.compare(one.__code__, code, dynamo=True, lifetimes=True)[0]
    assert verdict == ("unproven" if gives_away else "equivalent")


def calls_of(one, other):
    """Offsets of the calls of both that correspond."""
    from depyf import _core

    calls = []
    _core.compare(one, other, dynamo=True, lifetimes=True, calls=calls)
    return calls


def test_a_plain_call_is_starred_where_the_original_is():
    from depyf import _core

    one, code = in_a_starred_call, consumed_as(in_a_starred_call, in_a_plain_call)
    starred = starred_as(code, one.__code__, calls_of(one.__code__, code))
    assert ends(one, starred) == ends(one, one.__code__)
    assert _core.compare(one.__code__, starred, dynamo=True, lifetimes=True)[0] == "equivalent"
    plain = in_a_plain_call.__code__
    assert starred_as(code, plain, calls_of(plain, code)) is code


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a plain call keeps its arguments, too")
@pytest.mark.parametrize("one", [in_a_starred_call, in_a_dict_of_keywords])
def test_a_call_that_would_give_its_arguments_away_is_starred_before_the_first_proof(
    monkeypatch, one
):
    from depyf.recompiling import proving

    compare, calls = proving._core.compare, []

    def counted(*arguments, **options):
        calls.append(arguments)
        return compare(*arguments, **options)

    monkeypatch.setattr(proving._core, "compare", counted)
    other = in_a_plain_call if one is in_a_starred_call else in_a_call_with_keywords
    code = other.__code__.replace(
        co_name=one.__name__,
        co_qualname=one.__code__.co_qualname,  # which a proof compares
    )
    made, _, verdict, _ = proving.with_lifetimes(code, one.__code__, proving.Own())
    assert verdict == "equivalent" and len(calls) == 1
    assert ends(one, made) == ends(one, one.__code__)


def on_the_second_way(make, log):
    if make is None:
        return log(make("z"), 1)
    return lets_go(make("a"), log)


def on_the_first_way_and_starred(make, log):
    if make is not None:
        return lets_go(*[make("a"), log])
    return log(make("z"), 1)


def test_a_call_is_starred_as_the_proof_found_it_where_the_numbers_of_calls_mislead():
    from depyf.recompiling import proving

    one, other = on_the_first_way_and_starred, on_the_second_way
    code = code_as(one, other)
    made, _, verdict, _ = proving.with_lifetimes(code, one.__code__, proving.Own())
    assert verdict in proving.PROVEN
    assert ends(one, made) == ends(one, one.__code__)


class Callee:
    def method(self, one, log):
        return lets_go(one, log)

    def __call__(self, one, log):
        raise AssertionError("not the object")


CALLEE = Callee()


def of_a_method(make, log):
    return CALLEE.method(make("a"), log)


def of_a_method_with_keywords(make, log):
    return CALLEE.method(make("a"), log=log)


def of_a_method_starred(make, log):
    return CALLEE.method(*(make("a"), log))


def of_a_method_with_a_dict(make, log):
    return CALLEE.method(*(make("a"),), **{"log": log})


def several_keywords_beside_positional_ones(make, log):
    return lets_go.__self__.takes(make("a"), log, three=make("b"), two=2, one=make("c"))


def several_keywords_in_a_dict(make, log):
    return lets_go.__self__.takes(
        *(make("a"), log), **{"three": make("b"), "two": 2, "one": make("c")}
    )


def starred_second(make, log):
    make("x")
    with Manager():
        found = lets_go(*[make("a"), log])
    return [found, log(4)]


def plain_second(make, log):
    make("x")
    with Manager():
        found = lets_go(make("a"), log)
    return [found, log(4)]


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


@pytest.mark.skipif(sys.version_info < (3, 11), reason="calls are the same there")
@pytest.mark.parametrize(
    "one, other",
    [
        (of_a_method_starred, of_a_method),
        (of_a_method_with_a_dict, of_a_method_with_keywords),
        (in_a_dict_of_keywords, in_a_call_with_keywords),
        (several_keywords_in_a_dict, several_keywords_beside_positional_ones),
        (starred_second, plain_second),
    ],
)
def test_a_call_of_a_method_or_with_keywords_is_starred_where_the_original_is(one, other):
    from depyf import _core

    code = consumed_as(one, other)
    starred = starred_as(code, one.__code__, calls_of(one.__code__, code))
    assert starred is not code
    assert ends(one, starred) == ends(one, one.__code__)
    verdict = _core.compare(one.__code__, starred, dynamo=True, lifetimes=True)[0]
    assert verdict in ("equivalent", "exact", "identical")


def takes_many(first, log, *others):
    del first
    return log(len(others))


THE_REST = None  # written out by written_out()


def thirty_arguments(make, log):
    return takes_many(make("a"), log, THE_REST)


def thirty_one_arguments(make, log):
    return takes_many(make("a"), log, THE_REST, 28)


def written_out(function, count):
    """`function` with `count` times the same argument in place of THE_REST."""
    text = inspect.getsource(function).replace("THE_REST", ", ".join(["log"] * count))
    scope = {"takes_many": takes_many}
    exec(compile(text, "<%s>" % function.__name__, "exec"), scope)
    return scope[function.__name__]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="calls are the same there")
def test_a_call_of_more_than_thirty_arguments_is_plain_where_the_original_is():
    """CPython's compiler stars such a call, torch does not."""
    from depyf import _core
    from depyf.assembler import Assembly, Instruction

    ours = written_out(thirty_one_arguments, 28)
    original = written_out(thirty_arguments, 28)
    assembly = Assembly(original.__code__)
    last = next(
        one
        for one, following in zip(assembly.instructions, assembly.instructions[1:])
        if following.name in ("PRECALL", "CALL") and following.argument == 30
    )
    for one in assembly.instructions:
        if one.name in ("PRECALL", "CALL") and one.argument == 30:
            one.argument = 31
    consts = original.__code__.co_consts
    more = Instruction(dis.opmap["LOAD_CONST"], len(consts))
    assembly.rewrite(lambda one: [one, more] if one is last else [one])
    code = assembly.assemble(
        co_consts=consts + (28,), co_stacksize=original.__code__.co_stacksize + 1
    )
    code = code.replace(co_name=ours.__name__, co_qualname=ours.__qualname__)
    plain = types.FunctionType(code, original.__globals__, ours.__name__)
    candidate = consumed_as(plain, ours)
    made = starred_as(candidate, code, calls_of(code, candidate))
    assert made is not candidate
    assert _core.compare(code, made, dynamo=True, lifetimes=True)[0] in ("equivalent", "exact")
    assert ends(plain, made) == ends(plain, code)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there is no NULL below what is called")
def test_a_starred_call_of_a_method_and_its_object_is_not_taken_for_one_of_the_method():
    """CPython calls the object then. (No compiler makes that; an edit of bytecode could.)"""
    from depyf import _core

    def damaged(x, y):
        return x.method(*y)

    def right(x, y):
        return x.method(*y)

    raw = bytearray(damaged.__code__.co_code)
    null = dis.opmap["PUSH_NULL"]
    load = dis.opmap["LOAD_FAST"]
    at = next(i for i in range(0, len(raw), 2) if raw[i] == null)
    raw[at], raw[at + 1] = load, 0
    code = damaged.__code__.replace(co_code=bytes(raw), co_name="right")
    if sys.version_info >= (3, 11):
        code = code.replace(co_qualname=right.__code__.co_qualname)
    verdict, detail = _core.compare(right.__code__, code)
    assert verdict == "unproven" and "NULL" in detail


def test_what_torch_installed_stays_anyway():
    from depyf import _core

    def torch_s(x, log):
        tmp_1 = __import_torch.enter  # noqa: F821
        log(tmp_1)
        return log(x)

    assert _core.kept_temporaries(torch_s.__code__) == []


def test_what_is_stored_last_in_a_try_body_is_not_in_its_handler():
    from depyf import _core

    def torch_s(make, log):
        try:
            first = make("a")
        finally:
            log(1)
        return log(first)

    def ours(make, log):
        try:
            value = make("a")
        finally:
            log(1)
        first = value
        return log(first)

    one, other = torch_s.__code__, ours.__code__.replace(co_name="torch_s")
    if hasattr(other, "co_qualname"):
        other = other.replace(co_qualname=one.co_qualname)
    consumed, names = consume(other, used_locals(one))
    assert names == ("value",)
    assert "keeps a value" not in _core.compare(one, consumed, lifetimes=True)[1]


def some_way(c, make, use):
    if c:
        tmp_1 = make()
    return use([1, 2, c and tmp_1])


def waits(c, make, use):
    yield make()
    tmp_1 = make()
    yield tmp_1
    use()


@pytest.mark.parametrize("function", [some_way, waits])
def test_what_clears_a_local_has_room_on_the_stack(function):
    _core = pytest.importorskip("depyf._core")
    code = function.__code__
    shorter, names = consume(code, frozenset(("c", "make", "use")))
    assert names == ("tmp_1",)
    _, detail = _core.compare(code, shorter, dynamo=True)
    assert "leaves its stack" not in detail
    for c in (0, 1):
        made = types.FunctionType(shorter, {})(c, list, lambda *given: given)
        if function is waits:
            assert list(made) == [[], []]
        else:
            assert made == ([1, 2, [] if c else 0],)


def made_of(function, code):
    return types.FunctionType(code, function.__globals__, closure=function.__closure__)


@pytest.mark.parametrize("name", ["held_value", "other"])
def test_a_value_that_nothing_reads_lives_until_the_operation_has_run(name):
    source = "def f(make, seen, %s):\n make('kept')\n seen()\n return %s\n" % (name, name)
    found = {}
    exec(source, found)
    function = found["f"]
    calls = [one.offset for one in dis.get_instructions(function) if one.opname.startswith("CALL")]
    alive = []

    def observed(code):
        del alive[:]
        references = []

        def make(_):
            one = Thing()
            references.append(weakref.ref(one))
            return one

        assert (
            made_of(function, code)(make, lambda: alive.append(references[0]() is not None), 5) == 5
        )
        assert references[0]() is None
        return alive[0]

    assert not observed(function.__code__)
    made = list(held_longer(function.__code__, calls[1]))
    assert [observed(code) for code in made] == [True]
    assert made[0].co_varnames[:3] == function.__code__.co_varnames
    assert made[0].co_stacksize > function.__code__.co_stacksize


def holds_over_a_test(make, seen, flag):
    make("dropped")
    if flag:
        return seen("then", 1)
    return seen("else", 2)


def both_ways_meet(make, seen, flag):
    make("dropped")
    if flag:
        seen("then", 1)
    for one in "ab":
        seen(one, 2)


def place_of_test(code):
    """The offset of its first operation that tests a value, or that makes it a bool."""
    return next(
        one.offset
        for one in dis.get_instructions(code)
        if one.opname == "TO_BOOL" or one.opname.startswith("POP_JUMP")
    )


@pytest.mark.parametrize("answer", [False, True])
def test_a_value_that_is_held_over_a_test_ends_on_both_ways(answer):
    """Until both ways, where the interpreter's test is one operation; 3.13 makes a bool first."""

    def observed(code):
        told, references = [], []

        class Flag:
            def __bool__(self):
                told.append(("test", references[0]() is not None))
                return answer

        def make(_):
            one = Thing()
            references.append(weakref.ref(one))
            return one

        def seen(name, _):
            told.append((name, references[0]() is not None))

        made_of(holds_over_a_test, code)(make, seen, Flag())
        assert references[0]() is None
        return told

    code = holds_over_a_test.__code__
    way = "then" if answer else "else"
    assert observed(code) == [("test", False), (way, False)]
    made = list(held_longer(code, place_of_test(code)))
    assert [observed(one) for one in made] == [[("test", True), (way, False)]]
    if sys.version_info >= (3, 13):
        jump = next(
            one.offset for one in dis.get_instructions(made[0]) if one.opname.startswith("POP_JUMP")
        )
        made = list(held_longer(made[0], jump))
        assert [observed(one) for one in made] == [[("test", True), (way, False)]]


def dies_on_both_ways(make, seen, flag):
    value = make("dropped")
    if flag:
        value
        del value
        return seen("then", 1)
    value
    del value
    return seen("else", 2)


def dies_before_the_test(make, seen, flag):
    value = make("dropped")
    value
    del value
    if flag:
        return seen("then", 1)
    return seen("else", 2)


def dies_late_on_one_way(make, seen, flag):
    value = make("dropped")
    if flag:
        value
        del value
        return seen("then", 1)
    result = seen("else", 2)
    value
    del value
    return result


def dies_late_on_the_other_way(make, seen, flag):
    value = make("dropped")
    if flag:
        result = seen("then", 1)
        value
        del value
        return result
    value
    del value
    return seen("else", 2)


DIES = [dies_on_both_ways, dies_before_the_test, dies_late_on_one_way, dies_late_on_the_other_way]


@pytest.mark.parametrize("one", DIES)
@pytest.mark.parametrize("other", DIES)
def test_a_value_dies_at_the_same_place_of_each_way(one, other):
    """A value that a test finds alive on one side only is a difference, as is one that a call on
    one of the ways behind it finds alive."""
    _core = pytest.importorskip("depyf._core")
    codes = [
        function.__code__.replace(
            co_name="f",
            co_varnames=tuple(
                name if local == "value" else local for local in function.__code__.co_varnames
            ),
            **({"co_qualname": "f"} if hasattr(function.__code__, "co_qualname") else {}),
        )
        for function, name in ((one, "tmp_1"), (other, "held_value"))
    ]
    verdict, detail = _core.compare(codes[0], codes[1], dynamo=True, lifetimes=True)
    assert (verdict in ("identical", "exact", "equivalent")) == (one is other), detail


def three_held_over_a_test(make, seen, flag):
    tmp_1 = make[1]
    tmp_2 = make[2]
    tmp_3 = make[3]
    if flag:
        tmp_1
        del tmp_1
        tmp_2
        del tmp_2
        seen("then", 0)
        tmp_3
        del tmp_3
        return seen("then", 1)
    tmp_1
    del tmp_1
    tmp_2
    del tmp_2
    tmp_3
    del tmp_3
    return seen("else", 2)


def three_dropped(make, seen, flag):
    make[1]
    make[2]
    make[3]
    if flag:
        seen("then", 0)
        return seen("then", 1)
    return seen("else", 2)


@pytest.mark.parametrize(
    "torchs, ours",
    [(dies_on_both_ways, holds_over_a_test), (three_held_over_a_test, three_dropped)],
)
def test_what_torch_holds_over_a_test_is_found(torchs, ours):
    pytest.importorskip("depyf._core")
    proving = importlib.import_module("depyf.recompiling.proving")
    code = code_as(torchs, ours)
    original = torchs.__code__.replace(
        co_varnames=tuple("tmp_1" if one == "value" else one for one in torchs.__code__.co_varnames)
    )
    made, _, verdict, detail = proving.with_lifetimes(code, original, proving.Own())
    assert verdict in proving.PROVEN, detail
    assert any("held_value" in name for name in made.co_varnames)


def two_values(make, seen):
    return [make[1], [make[2]], seen(1)][2]


def two_dropped(make, seen):
    [make[1], make[2]]
    return seen(1)


def test_the_prover_says_how_many_values_the_other_has_dropped():
    _core = pytest.importorskip("depyf._core")
    one, two = two_values.__code__, code_as(two_values, two_dropped)
    verdict, detail = _core.compare(one, two, dynamo=True, lifetimes=True)
    assert verdict == "unproven"
    assert "the first holds 2 values that the second has dropped" in detail
    verdict, detail = _core.compare(two, one, dynamo=True, lifetimes=True)
    assert verdict == "unproven"
    assert "the second holds 2 values that the first has dropped" in detail


def test_no_value_is_held_over_a_test_whose_ways_meet():
    code = both_ways_meet.__code__
    held = list(held_longer(code, place_of_test(code)))
    if sys.version_info < (3, 13):
        assert held == []
    else:
        (held,) = held
        jump = next(
            one.offset for one in dis.get_instructions(held) if one.opname.startswith("POP_JUMP")
        )
        assert list(held_longer(held, jump)) == []


def test_no_value_is_held_from_before_a_test():
    code = both_ways_meet.__code__
    calls = [one.offset for one in dis.get_instructions(code) if one.opname.startswith("CALL")]
    assert list(held_longer(code, calls[-1])) == []


def one_attribute(o, graph):
    return graph(o.a)[0]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="calls are the same there")
def test_a_call_of_thousands_of_parameters_is_proven():
    """A graph of a model of a thousand layers takes each parameter."""
    from depyf.assembler import Assembly, Instruction
    from depyf.recompile import PROVEN, recompile

    count = 5000
    assembly = Assembly(one_attribute.__code__)
    names = [one.name for one in assembly.instructions]
    at = names.index("LOAD_ATTR")
    attribute = assembly.instructions[at]
    more = []
    for _ in range(count - 1):
        for one in assembly.instructions[at - 1 : at + 1]:
            more.append(Instruction(one.op, one.argument))
            more[-1].caches = one.caches
    if names[at - 1] not in ("LOAD_FAST", "LOAD_FAST_BORROW"):
        pytest.skip("the compiler loads two locals at once")
    for one in assembly.instructions:
        if one.name in ("PRECALL", "CALL"):
            one.argument = count
    assembly.rewrite(lambda one: [one] + more if one is attribute else [one])
    code = assembly.assemble(co_stacksize=count + 4)
    made = recompile(code, dynamo=True)
    assert made.verdict in PROVEN, made.detail
