"""One code object that several rewrites change: taken apart once, put together when asked for.

A rewrite changes instructions in their places and inserts none, so that what one found of the code
object, such as the places where jumps meet, holds for the next.
"""

import dis
import types
from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set

from depyf.assembler import Assembly, Instruction

_NOP = dis.opmap["NOP"]


class Listing:
    """The instructions of a code object, and what rewrites change of it.

    Attributes:
        code: the code object as it was.
        names: its names, to which a rewrite may append.
        more_stack: by how much deeper its stack may be.
        operations: those that it has, found without taking it apart.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.names = list(code.co_names)
        self.more_stack = 0
        self._assembly: Optional[Assembly] = None
        self._joins: Optional[Set[int]] = None
        self.operations = frozenset(code.co_code[::2])

    @property
    def assembly(self) -> Assembly:
        """The code object, taken apart."""
        if self._assembly is None:
            self._assembly = Assembly(self.code)
        return self._assembly

    @property
    def instructions(self) -> List[Instruction]:
        """The instructions in order."""
        return self.assembly.instructions

    @property
    def joins(self) -> Set[int]:
        """The places of the instructions that jump and of those that are jumped to."""
        if self._joins is None:
            self._joins = self.assembly.jumps_and_targets()
        return self._joins

    def put(self, at: int, op: int, argument: int = 0) -> None:
        """Puts an operation without caches in the place of an instruction."""
        one = self.instructions[at]
        one.op, one.argument, one.caches = op, argument, b""

    def drop(self, places: Iterable[int]) -> None:
        """Makes the instructions at these places do nothing."""
        for at in places:
            self.put(at, _NOP)

    def call_of(self, start: int, calls: FrozenSet[int], not_counted: int = -1) -> Optional[int]:
        """The call with one argument of what is loaded at `start`; None where there is a jump
        between them, or the call has another number of arguments.

        Args:
            calls: the operations that call.
            not_counted: an operation that only tells of the next one.
        """
        listing, joins = self.instructions, self.joins
        depth = 0  # values above what is called
        for at in range(start + 1, len(listing)):
            one = listing[at]
            if at in joins:
                return None
            if depth == 1 and one.op in calls:
                return at if one.argument == 1 else None
            if one.op != not_counted:
                depth += one.stack_effect()
            if depth < 0:
                return None
        return None

    def made(self) -> types.CodeType:
        """The code object with all that was changed."""
        code = self.code
        changes: Dict[str, Any] = {}
        if len(self.names) > len(code.co_names):
            changes["co_names"] = tuple(self.names)
        if self.more_stack:
            changes["co_stacksize"] = code.co_stacksize + self.more_stack
        return self.assembly.assemble(**changes)


#: changes a listing as the other one is, and says whether it changed anything
Rewrite = Callable[[Listing, Listing], bool]


def rewritten(
    code: types.CodeType, original: types.CodeType, rewrites: Iterable[Rewrite]
) -> Iterator[types.CodeType]:
    """`code` after each of the rewrites that changes something, with what those before it changed.

    Args:
        original: what `code` is to be like.
    """
    listing, like = Listing(code), Listing(original)
    for rewrite in rewrites:
        if rewrite(listing, like):
            yield listing.made()
