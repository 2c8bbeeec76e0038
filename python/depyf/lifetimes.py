"""Temporaries that die where they are last read, as values on the stack do.

Dynamo's code moves a value from the stack into a call. The decompiled source binds it to a local,
which would keep it alive until that call returns: a program could tell by weak references, by
`__del__` and by the memory that it needs. Python has no expression that moves a local, so this is
done to the bytecode: `LOAD_FAST x` becomes `LOAD_FAST x; DELETE_FAST x` where nothing reads x any
more. `verify` proves that both sides then keep the same values at each effect.
"""

import dis
import sys
import types
from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Tuple

from depyf.assembler import Assembly, Instruction, named_locals, with_locals
from depyf.frame_contract import argument_names

_OP = dis.opmap
_LOADS = frozenset(
    _OP[name] for name in ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK") if name in _OP
)
_BORROW = _OP.get("LOAD_FAST_BORROW", -1)
_LOAD, _STORE, _DELETE = _OP["LOAD_FAST"], _OP["STORE_FAST"], _OP["DELETE_FAST"]
_STARRED = _OP["CALL_FUNCTION_EX"]
_HAS_LOCAL = frozenset(dis.haslocal)


def _operations_named(*names: str) -> FrozenSet[int]:
    return frozenset(_OP[name] for name in names if name in _OP)


#: before, a plain call keeps its arguments, too
_CAN_STAR = sys.version_info >= (3, 11)
_CALLS = _operations_named("CALL", "CALL_KW", "CALL_FUNCTION_EX")
_ALL_CALLS = _CALLS | _operations_named("CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_METHOD")
_MAKERS = _ALL_CALLS | _operations_named("LOAD_ATTR", "BINARY_SUBSCR", "BINARY_OP")
_LEAVES = _operations_named("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_JUMPS = _operations_named(
    *("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
    "CALL_FINALLY",
)
_SETUPS = frozenset(op for name, op in _OP.items() if name.startswith("SETUP_"))
_END_FINALLY, _CALL_FINALLY = _OP.get("END_FINALLY", -1), _OP.get("CALL_FINALLY", -1)
_LEADS_ELSEWHERE = _LEAVES | _JUMPS | {_END_FINALLY}
# The interpreter takes it that these stand directly after a jump or at the start of a handler.
_STAY_FIRST = _operations_named("END_FOR", "END_SEND", "POP_TOP", "POP_ITER", "PUSH_EXC_INFO")
_PRECALL, _KEYWORDS, _WITH_KEYWORDS = (
    _OP.get(name, -1) for name in ("PRECALL", "KW_NAMES", "CALL_KW")
)


def consume(code: types.CodeType, kept: FrozenSet[str]) -> Tuple[types.CodeType, Tuple[str, ...]]:
    """`code`, each local of which that is not in `kept` cleared at its last read on every way.

    Also the names of these locals. Arguments, cells and what a comprehension saves stay.
    """
    return consume_as(code, None, kept)[:2]


def consume_as(
    code: types.CodeType, original: Optional[types.CodeType], kept: FrozenSet[str]
) -> Tuple[types.CodeType, Tuple[str, ...], bool]:
    """As `consume`, with its calls starred as those of `original`, too, and whether any is.

    Only where both have as many calls, and one gives away a value that `original` keeps. Each call
    is taken for that of the same number, so that the proof of the result may fail.
    """
    if sys.version_info < (3, 8):
        return code, (), False  # blocks are left in ways that no jump tells, and no torch is for it
    assembly = Assembly(code)
    slots = _slots(code, assembly.instructions, kept)
    changes: Dict[str, Any] = {}
    if slots:
        consts, more_stack = _Consumption(assembly, slots).apply()
        changes = {"co_consts": consts, "co_stacksize": code.co_stacksize + more_stack}
    is_starred = False
    if original is not None and _CAN_STAR and _STARRED in original.co_code[::2]:
        listing, torchs = assembly.instructions, Assembly(original).instructions
        ours, theirs = _places_of_calls(listing), _places_of_calls(torchs)
        pairs = list(zip(ours, theirs))
        if len(ours) == len(theirs) and any(_gives_away(listing, torchs, *one) for one in pairs):
            more = _star(assembly, torchs, pairs, changes.get("co_consts", code.co_consts))
            is_starred = more is not None
            if more is not None:
                depth = changes.get("co_stacksize", code.co_stacksize)
                changes = {"co_consts": more[0], "co_stacksize": depth + more[1]}
    names = tuple(code.co_varnames[slot] for slot in slots)
    return (assembly.assemble(**changes) if changes else code), names, is_starred


def starred_as(
    code: types.CodeType, original: types.CodeType, calls: Iterable[Tuple[int, int]]
) -> types.CodeType:
    """`code` with its calls starred, `f(*(a, b))` for `f(a, b)`, where they are so in `original`.

    From 3.11 on a plain call gives its arguments away, and a starred one keeps them until it
    returns; CPython stars a call of more than thirty arguments itself. `calls` are the offsets of
    calls of `original` and `code` that correspond, as the proof met them. The proof of the result
    says whether the two are the same.
    """
    starred = _STARRED in original.co_code[::2] or _STARRED in code.co_code[::2]
    if not (_CAN_STAR and starred):
        return code
    assembly = Assembly(code)
    torchs = Assembly(original).instructions
    theirs, ours = _calls(torchs), _calls(assembly.instructions)
    pairs = sorted(
        {(ours[b // 2], theirs[a // 2]) for a, b in calls if a // 2 in theirs and b // 2 in ours}
    )
    if len({i for i, _ in pairs}) != len(pairs):
        return code  # one call stands for several
    changed = _star(assembly, torchs, pairs, code.co_consts)
    if changed is None:
        return code
    consts, more_stack = changed
    return assembly.assemble(co_stacksize=code.co_stacksize + more_stack, co_consts=consts)


def _star(
    assembly: Assembly,
    torchs: List[Instruction],
    pairs: Iterable[Tuple[int, int]],
    before: Tuple[Any, ...],
) -> Optional[Tuple[Tuple[Any, ...], int]]:
    """Stars calls of an assembly with the constants `before` as those of `torchs` that `pairs` has
    with them; the constants then, and how much deeper the stack may be. None, and no change, where
    all are as they should be."""
    listing = assembly.instructions
    additions: Dict[int, List[Instruction]] = {}
    behind: Optional[List[Instruction]]
    consts = list(before)
    more_stack = 0
    callees = {
        i: _callee(listing, i)
        for i, other in pairs
        if listing[i].op != _STARRED and torchs[other].op == _STARRED
    }
    for i, other in pairs:
        one, call = listing[i], torchs[other]
        if one.op != _STARRED and call.op == _STARRED:
            callee = callees[i]
            if callee is None:
                continue
            if _names_keywords(listing, i):
                behind = _starred_with_keywords(consts, listing, i, call)
            else:
                behind = _starred(listing, i, call)
            more_stack = max(more_stack, 3)
            loads = _by_attribute(listing[callee]) if behind is not None else None
            if loads is not None:
                additions[callee] = loads
        elif one.op == _STARRED and call.name == "CALL" and not one.argument & 1:
            behind = _plain(listing, i, call)
            more_stack = max(more_stack, call.argument)
        else:
            continue
        if behind is not None:
            additions[i] = behind
    if not additions:
        return None
    assembly.put_behind(additions)
    return tuple(consts), more_stack


def _places_of_calls(listing: List[Instruction]) -> List[int]:
    return [i for i, one in enumerate(listing) if one.op in _CALLS]


def _gives_away(listing: List[Instruction], torchs: List[Instruction], i: int, other: int) -> bool:
    """Whether the call at `i` is plain, the other one starred, and a value among the arguments of
    `i` that nothing else holds."""
    if listing[i].op == _STARRED or torchs[other].op != _STARRED:
        return False
    callee = _callee(listing, i)
    inside = listing[callee + 1 : i] if callee is not None else []
    return any(one.op == _DELETE or one.op in _MAKERS for one in inside)


def _names_keywords(listing: List[Instruction], i: int) -> bool:
    """Whether the plain call at `i` has arguments by keyword."""
    at = i - 1 if listing[i - 1].op == _PRECALL else i
    return listing[i].op == _WITH_KEYWORDS or listing[at - 1].op == _KEYWORDS


def _starred(listing: List[Instruction], i: int, call: Instruction) -> List[Instruction]:
    """The plain call at `i` becomes what makes a tuple; the starred call to put after it."""
    one = listing[i]
    if listing[i - 1].name == "PRECALL":
        _become_nothing(listing[i - 1])
    one.op, one.caches = _OP["BUILD_TUPLE"], b""
    starred = Instruction(_STARRED, 0)
    starred.caches = call.caches
    return ([Instruction(_OP["PUSH_NULL"])] if sys.version_info >= (3, 14) else []) + [starred]


def _starred_with_keywords(
    consts: List[Any], listing: List[Instruction], i: int, call: Instruction
) -> Optional[List[Instruction]]:
    """The call at `i` becomes what makes a dict of its keywords; what makes a tuple below it and
    the starred call, to put after it. The keywords are added to `consts`. None, and no change,
    where the names of the keywords are not found."""
    one = listing[i]
    at = i - 1 if listing[i - 1].name == "PRECALL" else i
    names = listing[at - 1]
    if one.name == "CALL_KW" and names.name != "LOAD_CONST":
        return None
    keywords = consts[names.argument]
    positional = one.argument - len(keywords)
    _become_nothing(names)
    if at != i:
        _become_nothing(listing[at])
    one.op, one.argument, one.caches = _OP["BUILD_MAP"], 0, b""
    # the dict goes below the values, which are added to it one by one from the top
    behind = []
    stack = list(keywords) + [None]
    for keyword in keywords:
        depth = len(stack) - stack.index(keyword)
        if stack[0] is not None:
            behind.append(Instruction(_OP["SWAP"], len(stack)))
            stack[0], stack[-1] = stack[-1], stack[0]
            depth = len(stack) - stack.index(keyword)
        if depth > 1:
            behind.append(Instruction(_OP["SWAP"], depth))
            stack[-depth], stack[-1] = stack[-1], stack[-depth]
        behind.append(Instruction(_OP["LOAD_CONST"], len(consts)))
        consts.append(keyword)
        stack.pop()
        behind += [Instruction(_OP["SWAP"], 2), Instruction(_OP["MAP_ADD"], len(stack))]
    # and below the positional ones, and their tuple below the dict
    behind += [Instruction(_OP["SWAP"], depth) for depth in range(positional + 1, 1, -1)]
    behind += [Instruction(_OP["BUILD_TUPLE"], positional), Instruction(_OP["SWAP"], 2)]
    behind.append(Instruction(_STARRED, 1))
    behind[-1].caches = call.caches
    return behind


def _callee(listing: List[Instruction], i: int) -> Optional[int]:
    """The instruction that puts what the call at `i` calls, or its object, below the arguments;
    None where a jump stands between them."""
    one = listing[i]
    above = one.argument + (2 if one.op == _WITH_KEYWORDS else 1)
    at = i - 1 if listing[i - 1].op == _PRECALL else i
    while above > 0:
        at -= 1
        if at < 0 or listing[at].target is not None or listing[at].op in _LEAVES:
            return None
        above -= listing[at].stack_effect(jump=False)
    return at


def _by_attribute(one: Instruction) -> Optional[List[Instruction]]:
    """What is put after `one`, where it loads a method and its object, to load the attribute and a
    NULL, as a starred call takes them; None where it loads something else."""
    if one.name == "LOAD_METHOD":
        one.op, one.caches = _OP["LOAD_ATTR"], bytes(8)
    elif one.name == "LOAD_ATTR" and sys.version_info >= (3, 12) and one.argument & 1:
        one.argument -= 1
    else:
        return None
    null = [Instruction(_OP["PUSH_NULL"])]
    return null if sys.version_info >= (3, 13) else null + [Instruction(_OP["SWAP"], 2)]


def _plain(listing: List[Instruction], i: int, call: Instruction) -> Optional[List[Instruction]]:
    """The call at `i` of a list that was appended to becomes a plain one, and the list nothing;
    what to put after it. None, and no change, for other calls."""
    at = i - 1
    if sys.version_info >= (3, 14):
        at -= 1  # PUSH_NULL, for no keywords
    gone = listing[at:i]
    if gone[0].name not in ("LIST_TO_TUPLE", "CALL_INTRINSIC_1"):
        return None
    count, inner = 0, 0
    while at > 0:
        at -= 1
        one = listing[at]
        if one.name == "LIST_TO_TUPLE" or one.name == "CALL_INTRINSIC_1":
            inner += 1
        elif one.name == "BUILD_LIST" and not one.argument:
            if not inner:
                gone.append(one)
                break
            inner -= 1
        elif one.name == "LIST_APPEND" and not inner:
            gone.append(one)
            count += 1
    if count != call.argument or gone[-1].name != "BUILD_LIST":
        return None
    for one in gone:
        _become_nothing(one)
    one = listing[i]
    plain = Instruction(call.op, count)
    plain.caches = call.caches
    if "PRECALL" not in _OP:
        one.op, one.argument, one.caches = plain.op, plain.argument, plain.caches
        return []
    one.op, one.argument, one.caches = _OP["PRECALL"], count, bytes(2)
    return [plain]


def _become_nothing(one: Instruction) -> None:
    one.op, one.argument, one.caches = _OP["NOP"], 0, b""


def _calls(listing: List[Instruction]) -> Dict[int, int]:
    """The calls by each code unit of theirs, without caches but with PRECALL."""
    found: Dict[int, int] = {}
    for i, one in enumerate(listing):
        if one.op in _CALLS:
            first = listing[i - 1].unit if listing[i - 1].op == _PRECALL else one.unit
            found.update((unit, i) for unit in range(first, one.end - len(one.caches) // 2))
    return found


def used_locals(code: types.CodeType) -> FrozenSet[str]:
    """The arguments of `code` and the locals that its instructions name."""
    names = code.co_varnames
    slots = named_locals(code)
    used = {names[slot] for slot in slots if slot < len(names)}
    return frozenset(used.union(argument_names(code)))


def _slots(
    code: types.CodeType, instructions: List[Instruction], kept: FrozenSet[str]
) -> Dict[int, int]:
    """The slots to consume, each with its bit."""
    usual = _LOADS | {_STORE}  # what the source deletes itself is left to it
    other = {one.argument for one in instructions if one.op in _HAS_LOCAL and one.op not in usual}
    used = {one.argument for one in instructions if one.op in usual}
    names = [
        (slot, name)
        for slot, name in enumerate(code.co_varnames)
        if slot in used and slot not in other and name not in kept and name not in code.co_cellvars
    ]
    return {slot: 1 << i for i, (slot, _) in enumerate(names)}


class _Consumption:
    """What is live and what is bound at each instruction; sets of slots are bits of one integer."""

    def __init__(self, assembly: Assembly, slots: Dict[int, int]) -> None:
        self.assembly = assembly
        self.instructions = assembly.instructions
        self.slots = slots
        self.index = {id(one): i for i, one in enumerate(self.instructions)}
        self.bits = [
            slots.get(one.argument, 0) if one.op in _HAS_LOCAL else 0 for one in self.instructions
        ]
        handlers = assembly.handlers()
        self.handler = [-1] * len(self.instructions)
        if handlers:
            self.handler = [
                self.index[id(handlers[id(one)])] if id(one) in handlers else -1
                for one in self.instructions
            ]
        self.following = [
            [i + 1] if one.target is None and one.op not in _LEADS_ELSEWHERE else self._following(i)
            for i, one in enumerate(self.instructions)
        ]
        if self.following[-1:] == [[len(self.instructions)]]:
            self.following[-1] = []
        self.preceding: List[List[int]] = [[] for _ in self.instructions]
        for i, targets in enumerate(self.following):
            for target in targets:
                self.preceding[target].append(i)
        self.entries = self._entries()
        self.protected: List[List[int]] = [[] for _ in self.instructions]
        for i, target in enumerate(self.handler):
            if target >= 0:
                self.protected[target].append(i)

    def _following(self, i: int) -> List[int]:
        """Where control may go from an instruction that does not raise."""
        one = self.instructions[i]
        op = one.op
        found = []
        if one.target is not None and op not in _SETUPS:
            found.append(self.index[id(one.target)])
        if op == _END_FINALLY:  # 3.8: back to who called
            found += [
                self.index[id(other)] + 1
                for other in self.instructions
                if other.op == _CALL_FINALLY
            ]
        if op not in _LEAVES and op not in _JUMPS and i + 1 < len(self.instructions):
            found.append(i + 1)
        return found

    def _live(self) -> Tuple[List[int], List[int]]:
        """Slots that are read later, before and after each instruction."""
        count = len(self.instructions)
        live_in, live_out = [0] * count, [0] * count
        work, waiting = list(range(count)), [True] * count
        while work:
            i = work.pop()
            waiting[i] = False
            out = 0
            for target in self.following[i]:
                out |= live_in[target]
            bits, bit = out, self.bits[i]
            if bit:
                bits = bits | bit if self.instructions[i].op in _LOADS else bits & ~bit
            if self.handler[i] >= 0:
                bits |= live_in[self.handler[i]]
                out |= live_in[self.handler[i]]
            live_out[i] = out
            if bits != live_in[i]:
                live_in[i] = bits
                for source in self.preceding[i] + self.protected[i]:
                    if not waiting[source]:
                        waiting[source] = True
                        work.append(source)
        return live_in, live_out

    def _bound(
        self, live: Tuple[List[int], List[int]], start: int, join: Callable[[int, int], int]
    ) -> List[int]:
        """Slots that hold a value before each instruction: on all ways or on any, as `join` says.

        The deletions that apply() writes count as made.
        """
        live_in, live_out = live
        entries = set(self.entries)
        count = len(self.instructions)
        bound = [start] * count
        reached = [False] * count
        bound[0], reached[0] = 0, True
        work = [0]
        while work:
            i = work.pop()
            before, bit = bound[i], self.bits[i]
            if i in entries:
                before &= live_in[i]
            bits = before
            if bit:
                bits = before | bit if live_out[i] & bit else before & ~bit
            targets = [(target, bits) for target in self.following[i]]
            if self.handler[i] >= 0:
                targets.append((self.handler[i], join(bits, before)))
            for target, arriving in targets:
                joined = join(bound[target], arriving) if reached[target] else arriving
                if not reached[target] or joined != bound[target]:
                    reached[target] = True
                    bound[target] = joined
                    work.append(target)
        return bound

    def apply(self) -> Tuple[Tuple[Any, ...], int]:
        """Write the deletions into the assembly; the constants that it has then, and how much
        deeper its stack may be."""
        live_in, live_out = self._live()
        surely = perhaps = live_in  # asked where ways meet
        if self.entries:
            everything = sum(self.slots.values())
            surely = self._bound((live_in, live_out), everything, lambda a, b: a & b)
            perhaps = self._bound((live_in, live_out), 0, lambda a, b: a | b)
        consts: Tuple[Any, ...] = self.assembly.code.co_consts
        none = next((i for i, one in enumerate(consts) if one is None), len(consts))
        additions: Dict[int, List[Instruction]] = {}
        more_stack = 0
        for i in self.entries:
            dead = perhaps[i] & ~live_in[i]
            for slot, bit in self.slots.items():
                added = additions.setdefault(id(self.instructions[i]), []) if dead & bit else []
                if dead & surely[i] & bit:
                    added.append(Instruction(_DELETE, slot))
                elif dead & bit:
                    consts = consts if none < len(consts) else consts + (None,)
                    more_stack = 1
                    added += [Instruction(_OP["LOAD_CONST"], none), Instruction(_STORE, slot)]
        last = []
        for i, one in enumerate(self.instructions):
            bit = self.bits[i]
            if bit and one.op == _BORROW:
                one.op = _LOAD  # the slot may be empty before the stack drops the value
            if bit and not live_out[i] & bit:
                last.append(i)
        if last:
            behind = {at: [Instruction(_DELETE, self.instructions[at].argument)] for at in last}
            self.assembly.put_behind(behind)
        if additions:
            self.assembly.put_before(additions)
        return consts, more_stack

    def _entries(self) -> List[int]:
        """Where ways part or meet, so that a value may have died on the way there."""
        found = set()
        for i, targets in enumerate(self.following):
            if len(targets) > 1:
                found.update(targets)
            found.update(target for target in targets if len(self.preceding[target]) > 1)
        found.update(target for target in self.handler if target >= 0)
        entries = []
        for i in sorted(found):
            while i < len(self.instructions) and self.instructions[i].op in _STAY_FIRST:
                i += 1
            if i < len(self.instructions) and not self._raises_again(i):
                entries.append(i)
        return sorted(set(entries))

    def _raises_again(self, i: int) -> bool:
        """Whether nothing but the exception's way out of the frame follows, which ends all locals.

        Such a handler of 3.11 on is no statement; with a deletion in it, it would be one.
        """
        while i < len(self.instructions) and self.instructions[i].name in ("COPY", "POP_EXCEPT"):
            i += 1
        return i < len(self.instructions) and self.instructions[i].name == "RERAISE"


def held_longer(code: types.CodeType, offset: int) -> Iterator[types.CodeType]:
    """`code` with one value held until the operation at `offset` has run: a local that is cleared
    before it, or the result of a call, an attribute or an item that nothing reads. Nearest first.

    Torch's stack may hold such a value while other code runs, such as a context manager that is
    made before a graph break and entered after it, or the closure of a resume function. A value
    that is held over a test ends at the start of both ways. The proof of the result says whether
    the two are the same.
    """
    if sys.version_info < (3, 8):
        return
    listing = Assembly(code).instructions
    at = [i for i, one in enumerate(listing) if one.unit <= offset // 2 < one.end]
    if not at:
        return
    end = at[-1] + (listing[at[-1]].op == _PRECALL)
    if listing[end].target is not None and not _parts_alone(listing, end):
        return
    joins = {id(one.target) for one in listing if one.target is not None}
    touched = {one.argument for one in listing[at[0] : end + 1] if one.op in _HAS_LOCAL}
    for i in range(at[0] - 1, 0, -1):
        one = listing[i]
        if one.target is not None or id(one) in joins or one.op in _LEAVES:
            return
        if one.op == _DELETE:
            if one.argument not in touched:
                yield _moved_behind(code, i, end)
        elif one.name == "POP_TOP" and _maker(listing, i).op in _MAKERS:
            yield _moved_behind(code, i, end)
        if one.op in _HAS_LOCAL:
            touched.add(one.argument)


def _maker(listing: List[Instruction], i: int) -> Instruction:
    """What makes the value that the POP_TOP at `i` drops; other values may end before it."""
    i -= 1
    while i > 2 and listing[i].name == "POP_TOP" and listing[i - 2].op in _LOADS:
        i -= 3
    return listing[i]


def _parts_alone(listing: List[Instruction], i: int) -> bool:
    """Whether the jump at `i` tests a value and leads on to where nothing else leads."""
    target = listing[i].target
    if not listing[i].name.startswith("POP_JUMP") or target is None:
        return False
    at = next(j for j, one in enumerate(listing) if one is target)
    others = sum(one.target is target for one in listing) > 1
    return at > i + 1 and listing[at - 1].op in _LEADS_ELSEWHERE and not others


def _moved_behind(code: types.CodeType, i: int, end: int) -> types.CodeType:
    """`code` whose instruction `i`, which drops a value, does so after the instruction `end`, on
    both ways if that is a jump."""
    dropped = Assembly(code).instructions[i]
    slot = dropped.argument
    if dropped.op != _DELETE:
        slot, name = len(code.co_varnames), "held_value"
        while name in code.co_varnames + code.co_cellvars + code.co_freevars:
            name += "_"
        code = with_locals(code, code.co_varnames + (name,))
    assembly = Assembly(code)
    gone, last = assembly.instructions[i], assembly.instructions[end]
    if gone.op == _DELETE:
        _become_nothing(gone)
    else:
        gone.op, gone.argument = _STORE, slot
    # read once more, so that the proof knows it as a value that is wanted until then
    ends = [(_LOAD, slot), (_DELETE, slot), (_OP["POP_TOP"], 0)]
    target = last.target
    if target is not None:
        assembly.put_before({id(target): [Instruction(*one) for one in ends]})
        following = assembly.instructions[end + 1]
        last = following if following.name == "NOT_TAKEN" else last
    assembly.rewrite(
        lambda one: [one] + [Instruction(*each) for each in ends] if one is last else [one]
    )
    return assembly.assemble(co_stacksize=code.co_stacksize + 1)
