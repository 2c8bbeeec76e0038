"""The proof that a compiled source does what the original does, and what is changed for it."""

import re
import types
from typing import Iterable, List, NamedTuple, Optional, Set, Tuple

from depyf import _core
from depyf.code_edit import with_consts
from depyf.frame_contract import violation
from depyf.lifetimes import consume, consume_as, held_longer, starred_as, used_locals
from depyf.recompiling.fitting import dressed
from depyf.rewrites import WHERE_UNPROVEN, rewritten

PROVEN = ("identical", "exact", "equivalent")


class Own(NamedTuple):
    """Names of the program itself, whatever they look like."""

    locals: Tuple[str, ...] = ()
    globals: Tuple[str, ...] = ()


NO_NAMES = Own()


def with_lifetimes(
    code: types.CodeType, original: types.CodeType, own: Own
) -> Tuple[types.CodeType, Tuple[str, ...], str, str]:
    """`code` with values that end where those of torch's `original` do, the locals that are cleared
    for it, and the verdict about it with its detail.

    Modules are imported and values converted by the operation, containers filled in place, large
    displays built at once, and calls starred, as torch's only where the proof fails without; for
    calls, it says which correspond. Calls that give away what those of torch's keep are starred at
    once: without, there is no proof.
    """
    kept = used_locals(original)
    candidate, consumed, is_starred = consume_as(code, original, kept)
    candidate, verdict, detail, calls = _prove(candidate, original, own)
    if is_starred and verdict not in PROVEN:
        candidate, consumed = consume(code, kept)
        candidate, verdict, detail, calls = _prove(candidate, original, own)
    if verdict not in PROVEN:
        for changed in rewritten(code, original, WHERE_UNPROVEN):
            candidate, consumed = consume(changed, kept)
            candidate, verdict, detail, calls = _prove(candidate, original, own)
            if verdict in PROVEN:
                break
    if verdict not in PROVEN:
        starred = starred_as(candidate, original, calls)
        if starred is not candidate:
            candidate, verdict, detail, _ = _prove(starred, original, own)
    candidate, verdict, detail = _held_as_torchs(candidate, verdict, detail, original, own)
    return candidate, consumed, verdict, detail


#: proofs that are tried to find which values torch's stack holds for longer
_MOST_HELD = 100
_DROPPED = re.compile(
    r"at offset (\d+) / (\d+): .*the first holds (a|\d+) values? that the second has dropped"
)


def _held_as_torchs(
    code: types.CodeType,
    verdict: str,
    detail: str,
    original: types.CodeType,
    own: Own,
) -> Tuple[types.CodeType, str, str]:
    """`code` whose values live as long as torch's stack holds them, the verdict and its detail; all
    as given if that is not found.

    The proof ends at the first operation during which only torch's code holds some values. So each
    step lets one value live until that operation has run, or two of them, and counts if the proof
    then ends elsewhere, or for fewer values. More that live longer never let it end earlier.
    """
    found, reason = code, detail
    left = _MOST_HELD
    passed: Set[int] = set()
    while True:
        place = _missing(reason)
        if place is None:
            return code, verdict, detail
        passed.add(place.before)
        waiting = [(found, place.offset, 1)]
        further = None
        while waiting and further is None:
            base, offset, values = waiting.pop(0)
            for held in held_longer(base, offset):
                left -= 1
                if left < 0:
                    return code, verdict, detail
                candidate, verdict_of_it, told, _ = _prove(held, original, own)
                if verdict_of_it in PROVEN:
                    return candidate, verdict_of_it, told
                now = _missing(told)
                if now is None:
                    continue
                is_there = now.before == place.before
                if now.values < place.values if is_there else now.before not in passed:
                    further, reason = held, told
                    break
                if is_there and values == 1:
                    waiting.append((held, now.offset, 2))
        if further is None:
            return code, verdict, detail
        found = further


class _Missing(NamedTuple):
    """Where a proof ended for values that only torch's code holds, and how many these are."""

    before: int
    offset: int
    values: int


def _missing(detail: str) -> Optional[_Missing]:
    """What a proof says that ended for such values, else None."""
    said = _DROPPED.match(detail)
    if said is None:
        return None
    values = said.group(3)
    return _Missing(int(said.group(1)), int(said.group(2)), 1 if values == "a" else int(values))


def _prove(
    candidate: types.CodeType, original: types.CodeType, own: Own
) -> Tuple[types.CodeType, str, str, List[Tuple[int, int]]]:
    """What may stand in for torch's `original`, or `candidate`; the verdict about it, its detail,
    and the offsets of calls of both that correspond."""
    verdict = detail = ""
    calls: List[Tuple[int, int]] = []
    for one in _with_own_functions(candidate, original):
        candidate, calls = one, []
        verdict, detail = _core.compare(
            original,
            dressed(candidate, original),
            dynamo=True,
            lifetimes=True,
            own_locals=own.locals,
            own_globals=own.globals,
            calls=calls,
        )
        if verdict in PROVEN:
            break
    return candidate, verdict, detail, calls


def _with_own_functions(code: types.CodeType, original: types.CodeType) -> Iterable[types.CodeType]:
    """`code` with the code objects of `original` for its functions; then `code` itself.

    Torch compiles such a function for each code object that it has: with others, a program would
    compile more often and a function would say another file. Each is proven to be the same first.
    """
    unused = [one for one in original.co_consts if type(one) is types.CodeType]

    def own(made: types.CodeType) -> types.CodeType:
        for i, one in enumerate(unused):
            if (
                one.co_name == made.co_name
                and one.co_freevars == made.co_freevars
                and violation(one, made) is None
                and _core.compare(one, dressed(made, one))[0] in PROVEN
            ):
                return unused.pop(i)
        return made

    if unused:
        consts = tuple(own(one) if type(one) is types.CodeType else one for one in code.co_consts)
        if any(one is not other for one, other in zip(consts, code.co_consts)):
            yield with_consts(code, consts)
    yield code
