"""The functions of a run: which one a code object is of, and what it is called."""

import re
import types
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from depyf.interrupts import pass_on
from depyf.model import Entry, Function, LiveObject, backward_of, is_backward_pass, resumed_after
from depyf.plain import file_of, name_of, text_of
from depyf.report import words
from depyf.torch import compat
from depyf.torch.capture.problems import Problems
from depyf.torch.codes import signature_of
from depyf.torch.origin import Origin, is_wrapper, origin_of, wrapped_by
from depyf.trace.names import RESUME_CODE, resumed, safe_name
from depyf.trace.vocabulary import stack_lines

#: compiles of what compiled autograd traced
_TRACED_BACKWARD = re.compile(r"!\d+/")
#: the name of the file of what torch traced
_TRACED_FILE = re.compile(r"<eval_with_key>")


class _Owner(NamedTuple):
    """One function for which a code object was compiled: a wrapper's is compiled for several."""

    code: LiveObject
    firstlineno: int
    variables: Dict[str, LiveObject]  # the free ones, which tell the functions apart
    origin: Origin

    def fits(self, held: Dict[str, Any]) -> bool:
        """Whether a frame with these variables may belong to it."""
        for name, known in self.variables.items():
            value = known.get()
            if value is not None and name in held and value is not held[name]:
                return False
        return True


class Functions(Problems):
    """The functions that torch compiled in a block, by their code objects."""

    def __init__(self, numbers: Dict[str, int]) -> None:
        super().__init__()
        self._functions: Dict[int, Function] = {}
        # name and file -> the functions for which code of this name was compiled
        self._owners: Dict[Tuple[str, str], List[_Owner]] = {}
        # id of a function's code -> the code, and its latest compile, where that made no code
        self._without_code: Dict[int, Tuple[LiveObject, Entry]] = {}
        # id of a resume function's code -> the code, the first global that holds it, and how
        self._resume_names: Dict[int, Tuple[LiveObject, str, str]] = {}
        self._numbers = numbers  # see `DumpWriter.numbers`

    def _function(
        self,
        code: types.CodeType,
        scope: Optional[Dict[str, Any]] = None,
        entry: Optional[Entry] = None,
    ) -> Function:
        function = self._functions.get(id(code))
        if function is not None and function.code is code:
            return function
        function = Function(
            name=name_of(code),
            filename=file_of(code),
            firstlineno=code.co_firstlineno,
            is_resume=bool(RESUME_CODE.match(name_of(code))),
        )
        self._name_function(function, code, scope, entry)
        function._code = LiveObject(code)
        function._signature = signature_of(code)
        known = self._resume_names.get(id(code))
        if known is not None and known[0].get() is code:
            function.global_name, function._installed_as = known[1], known[2]
        function.index = self._number("full", safe_name(function.stem()))
        self._functions[id(code)] = function
        self.run.functions.append(function)
        return function

    def _number(self, kind: str, name: str) -> int:
        key = kind + ":" + name
        number = self._numbers.get(key, 0)
        self._numbers[key] = number + 1
        return number

    def _origin(self, code: types.CodeType, scope: Optional[Dict[str, Any]]) -> Optional[Origin]:
        try:
            held = compat.frame_locals() or {}
            if RESUME_CODE.match(name_of(code)):
                return self._origin_of_rest(code, held)
            found = origin_of(code, held, scope)
            variables = {name: LiveObject(held[name]) for name in code.co_freevars if name in held}
            owner = _Owner(LiveObject(code), code.co_firstlineno, variables, found)
            known = self._owners.setdefault((name_of(code), file_of(code)), [])
            if not any(
                (one.code.get(), one.origin) == (code, found) and one.fits(held) for one in known
            ):
                known.append(owner)
            return found
        except Exception as error:  # names are for reading only
            pass_on()
            self.problem("naming %s" % name_of(code), "%s: %s" % (type(error).__name__, error))
            return None

    def _origin_of_rest(self, code: types.CodeType, held: Dict[str, Any]) -> Optional[Origin]:
        """Which function a resume function continues, as far as compiles before it told."""
        owners = self._owners_of(code)
        original = compat.continued(code)
        if not owners and original is not None:  # torch has traced it into its callers
            return origin_of(original, held, None)
        fitting = list(dict.fromkeys(one.origin for one in owners if one.fits(held)))
        if len(fitting) == 1:
            return fitting[0]
        through = next((one.origin.through for one in owners if one.origin.through), "")
        named = wrapped_by(code, held) if through else None
        if named is not None:
            return Origin(named[0], named[1], through)
        return Origin(through, owners[0].origin.module, "") if through else None

    def _owners_of(self, code: types.CodeType) -> List[_Owner]:
        """The functions for which that was compiled which a resume function continues."""
        known = self._owners.get((resumed(name_of(code))[0], file_of(code)), [])
        original = compat.continued(code)
        if original is not None:
            return [one for one in known if one.code.get() is original]
        # Its first line is that of the break: the last function of the name that begins before.
        before = [one for one in known if one.firstlineno <= code.co_firstlineno]
        last = max((one.firstlineno for one in before), default=0)
        return [one for one in before if one.firstlineno == last]

    def _name_unfinished(self, entry: Entry) -> None:
        """Names the function of a compile that made no code, so no bytecode hook was called."""
        code = compat.frame_code()
        if code is None:
            return
        self._without_code[id(code)] = (LiveObject(code), entry)
        self._begun_at_hand(entry, code)  # of a function at its limit torch tells no beginning
        if RESUME_CODE.match(name_of(code)):
            whole, line = resumed(name_of(code))
            rest = self._origin(code, None)
            name, entry.through = (rest.qualname, rest.through) if rest else (whole, "")
            entry.qualname = resumed_after(name, line or code.co_firstlineno)
            known = self._resume_names.get(id(code))
            if known is not None and known[0].get() is code:
                entry.resumes = known[1]
            return
        found = self._origin(code, compat.frame_globals())
        if found is not None:
            entry.qualname, entry.through = found.qualname, found.through

    def _begun_at_hand(self, entry: Entry, code: types.CodeType) -> None:
        """Takes the stack of the thread, where torch told none, for that with which the compile
        that is at hand began.
        """
        if not entry.user_stack:
            own = {"filename": file_of(code), "line": code.co_firstlineno, "name": name_of(code)}
            frames = [*compat.calling_frames(), dict(own, loc="")]
            entry.user_stack = stack_lines(frames, self.interned_names())

    def _entry_qualname(
        self, function: Function, code: types.CodeType, scope: Optional[Dict[str, Any]]
    ) -> str:
        """The function for which a wrapper was compiled this time, if it is another than before."""
        original = compat.continued(code) or code if function.is_resume else code
        if not function.through and not is_wrapper(original):
            return ""
        found = self._origin(code, scope)
        if found is None:
            return ""
        function.through = function.through or found.through
        return found.qualname if found.qualname != function.qualname else ""

    def _name_function(
        self,
        function: Function,
        code: types.CodeType,
        scope: Optional[Dict[str, Any]],
        entry: Optional[Entry],
    ) -> None:
        is_traced = not function.is_resume and _TRACED_FILE.match(file_of(code))
        if entry is not None and is_traced and _TRACED_BACKWARD.match(entry.compile_id):
            function.qualname = self._backward_pass(entry)
            origin = Origin(function.qualname, "", "")
            owner = _Owner(LiveObject(code), code.co_firstlineno, {}, origin)
            self._owners.setdefault((name_of(code), file_of(code)), []).append(owner)
            return
        if not function.is_resume:
            found = self._origin(code, scope)
            if found is not None:
                function.qualname, function.module, function.through = found
            return
        # It continues a function that was compiled before, or that broke at once.
        here = self._origin(code, scope)
        outer = here.qualname if here is not None else ""
        if here is None:  # the part in front of the break had nothing to compile
            prefix = text_of(getattr(code, "co_qualname", "")).rpartition("<locals>.")[2]
            name = resumed(name_of(code))[0]
            outer = prefix[: -len(name_of(code))] + name if "." in prefix else ""
        if outer:
            function.qualname = outer
        if here is not None:
            function.module, function.through = here.module, here.through

    def _backward_pass(self, entry: Entry) -> str:
        """What a backward pass is called: its graph tells the lines of which it is the backward."""
        lines = _lines_of(entry)
        forwards = [
            function.qualname or function.name
            for function in self.run.functions
            if not is_backward_pass(function.qualname)
            and any(lines & _lines_of(one) for one in function.entries)
        ]
        return backward_of(list(dict.fromkeys(forwards)))

    def _given_up(self, code: Optional[types.CodeType]) -> Dict[str, str]:
        failed = self._without_code.get(id(code))
        if failed is None or failed[0].get() is not code or code is None:
            return {}
        return words.given_up(failed[1].to_json())


def _lines_of(entry: Entry) -> Set[Tuple[str, int]]:
    """The lines of which the captured graph has operations, as (file, line)."""
    found: Set[Tuple[str, int]] = set()
    for artifact in entry.artifacts:
        if artifact.stage == "Captured_Graph":
            found |= {(row[0], row[1]) for row in artifact.structure.get("places") or () if row[1]}
    return {one for one in found if not _TRACED_FILE.match(one[0])}
