"""One decompiled text, compiled, fitted and proven."""

import re
import types
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from depyf import _core
from depyf.code_edit import CannotEdit, with_variables
from depyf.compiling import Loud
from depyf.frame_contract import argument_names
from depyf.function_source import (
    FACTORY,
    Misfit,
    as_module,
    compile_function,
    spelt_variables,
    without_nonlocals,
)
from depyf.interrupts import pass_on
from depyf.legend import (
    UNCOPIED,
    base_class_note,
    cell_note,
    contents_note,
    copied_back_note,
    declared_note,
    graph_calls_note,
    legend,
    lifetime_note,
    own_value_note,
    random_note,
    table_of_globals,
    table_of_parameters,
    unused_note,
    with_named_objects,
    wrapped,
)
from depyf.plain import code_objects
from depyf.recompiling.fitting import FUTURE_FLAGS, dressed, fit, with_docstring
from depyf.recompiling.hints import NO_HINTS, Hints
from depyf.recompiling.proving import NO_NAMES, PROVEN, Own, with_lifetimes
from depyf.rewrites import Listing, pass_without_copy
from depyf.terminal import shown

#: line, bytecode offsets, original line and qualified name of each statement
LineMap = List[Tuple[Any, ...]]


class Recompiled(NamedTuple):
    """What `recompile` made.

    Attributes:
        code: the drop-in code object, None where it is not proven to do the same.
        source: the text, as in the file.
        path: the file, or None.
        verdict: 'identical', 'exact', 'equivalent'; 'unproven', 'different', or 'failed' where
            there is nothing to compare.
        detail: why, in words.
        function_name: its name in the source.
        line_map: (line, bytecode offsets, original line, qualified name) of each statement.
        constants: placeholder name in the source -> the object that stands there.
        diagnostics: (kind, qualified name, offset, message).
        names: name in the source -> the name of the bytecode that no source can hold.
        readable: name of a global in the source -> the name that torch gave it, which the code has.
    """

    code: Optional[types.CodeType]
    source: str
    path: Optional[str]
    verdict: str
    detail: str
    function_name: str
    line_map: LineMap
    constants: Dict[str, Any]
    diagnostics: Sequence[Tuple[Any, ...]]
    names: Dict[str, str]
    readable: Dict[str, str]

    @property
    def proven(self) -> bool:
        """Whether `code` is there to be used."""
        return self.code is not None


def _notes_of_torch(source: str, code: types.CodeType, updated: Mapping[str, int]) -> str:
    """Comment lines on what torch's code does for which Python has no plain words."""
    own_values = own_value_note(source, _cells(code))
    texts = cell_note(source), own_values, unused_note(source), random_note(source)
    more = (
        declared_note(source),
        copied_back_note(source),
        base_class_note(source),
        contents_note(source),
        graph_calls_note(source, updated),
    )
    return "".join(texts + more)


def _cells(code: types.CodeType) -> Set[str]:
    """The variables of a function and of those in it that several functions share."""
    return {name for one in code_objects(code) for name in one.co_cellvars + one.co_freevars}


def attempt_of(
    original: types.CodeType,
    reference: types.CodeType,
    path: Optional[str],
    decompiled: Any,
    function_name: str,
    indentation: int,
    dynamo: bool,
    names: Optional[Dict[str, str]] = None,
    own: Own = NO_NAMES,
    readable: Sequence[Tuple[str, str, bool]] = (),
    trusted: bool = False,
    warns: bool = False,
    filename: Optional[str] = None,
    hints: Hints = NO_HINTS,
) -> Recompiled:
    """Compiles a decompiled text and proves it; the arguments are those of `recompile`, and:

    Args:
        decompiled: source, line map, constants and diagnostics.
        names: name in the source -> the name of the bytecode that no source can hold.
        own: names that are the program's.
        readable: (name in the source, the name that torch gave it, whether it is a global).
        trusted: globals named like torch's are torch's, also where `dynamo` is not said.
        warns: nobody hears what CPython says of the source.
    """
    names = {} if names is None else names
    filename = filename or "<decompiled %s>" % function_name
    attempt = _Attempt(
        original, reference, decompiled, function_name, filename, dynamo, names, readable
    )
    try:
        attempt.complete(indentation, hints.about, hints.on_stack)
        attempt.compile(warns)
        attempt.prove(own, trusted)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        pass_on()
        attempt.detail = "the decompiled source does not compile: %s" % error
        # A file that is no valid Python would trouble whoever reads the whole folder.
        attempt.source = "".join("# " + line for line in attempt.source.splitlines(True))
    except Misfit as error:
        attempt.detail = str(error)
    except CannotEdit as error:
        attempt.detail = "the compiled code cannot be fitted to the original: %s" % error
    return attempt.result(path, hints.notes, hints.updated)


class _Attempt:
    """The steps from a decompiled text to a code object, with what is known after each.

    Where a step raises, `source` and `line_map` are what the steps before it made.
    """

    def __init__(
        self,
        original: types.CodeType,
        reference: types.CodeType,
        decompiled: Any,
        function_name: str,
        filename: str,
        dynamo: bool,
        names: Dict[str, str],
        readable: Sequence[Tuple[str, str, bool]],
    ) -> None:
        self.source, self.line_map, self.constants, self.diagnostics = decompiled
        self.verdict, self.detail = "failed", ""
        self._original, self._reference, self._is_torchs = original, reference, dynamo
        self._function_name, self._filename, self._names = function_name, filename, names
        self._code: Optional[types.CodeType] = None
        self._candidate = original  # until there is one
        self._consumed: Tuple[str, ...] = ()
        self._uncopied = False
        self._flags = original.co_flags & FUTURE_FLAGS
        self._cells, self._frees = spelt_variables(reference, self.source, names)
        self._arguments = argument_names(reference)
        self._readable = readable
        self._globals = {given: real for given, real, is_global in readable if is_global}
        if dynamo:
            self.source, self.constants = with_named_objects(self.source, self.constants)

    def complete(self, indentation: int, about: str, on_stack: Mapping[str, str]) -> None:
        """Makes a module of the text, with its head."""
        if self._is_torchs:
            self.source, self.line_map = without_nonlocals(self.source, self.line_map)
        self.source, added_lines = as_module(
            self.source, self._frees, self._filename, self._flags, indentation
        )
        self.line_map = _shifted(self.line_map, added_lines)
        parameters = [row[:2] for row in self._readable if row[1] in self._arguments and not row[2]]
        frees = self._frees if self._is_torchs else ()
        for given, real in parameters:
            about = re.sub(r"\b%s\b" % real, given, about)
        head = _head(about, self._globals, frees, self.source if added_lines else "")
        head += table_of_parameters(parameters, on_stack)
        self.source, self.line_map = _below(head, self.source, self.line_map)

    def compile(self, warns: bool) -> None:
        """Compiles the text, and fits the code to what it stands for."""
        arguments = (
            *(self.source, self._original, self._cells, self._frees, self._filename, self._flags),
            *(self._function_name, self._names),
        )
        try:
            candidate = compile_function(*arguments, with_warnings=warns)
        except Loud:
            if self._is_torchs:
                raise  # in the user's program, where nobody asked for a warning
            candidate = compile_function(*arguments, with_warnings=True)
        candidate = with_docstring(candidate, self._original)
        torchs = {given: real for given, real, _ in self._readable}
        candidate = with_variables(candidate, torchs, self._globals)
        self._candidate = fit(candidate, self._reference, self.constants)

    def prove(self, own: Own, trusted: bool) -> None:
        """Compares the code with the original, and gives it the names that a debugger shows."""
        original, candidate = self._original, self._candidate
        if self._is_torchs:
            listing = Listing(candidate)
            self._uncopied = pass_without_copy(listing, Listing(original))
            candidate = listing.made() if self._uncopied else candidate
            candidate, consumed, self.verdict, self.detail = with_lifetimes(
                candidate, original, own
            )
        else:
            consumed = ()
            like_original = dressed(candidate, original)
            self.verdict, self.detail = _core.compare(
                original, like_original, dynamo=trusted, own_locals=own.locals
            )
            candidate = like_original if self._reference is original else candidate
        # A debugger shows the locals by the names that the source has.
        shown_names = {real: given for given, real, is_global in self._readable if not is_global}
        self._consumed = tuple(shown_names.get(name, name) for name in consumed)
        for real in self._arguments:  # they are the same in every frame of the function
            shown_names.pop(real, None)
        if self._is_torchs or self._reference is not original:
            candidate = dressed(candidate, self._reference)
        candidate = with_variables(candidate, shown_names)
        if self.verdict in PROVEN:
            self._code = candidate

    def result(self, path: Optional[str], notes: str, updated: Mapping[str, int]) -> Recompiled:
        """What came of it, with the notes below the text."""
        source = self.source
        if self._code is None:
            said = _not_proven(self.verdict, self.detail)
            source, self.line_map = _below(said, source, self.line_map)
        return Recompiled(
            self._code,
            source
            + notes
            + (_notes_of_torch(source, self._original, updated) if self._is_torchs else "")
            + legend(source, self.constants, self._names)
            + lifetime_note(self._consumed)
            + self._uncopied * UNCOPIED,
            path,
            self.verdict,
            self.detail,
            self._function_name,
            self.line_map,
            self.constants,
            self.diagnostics,
            self._names,
            self._globals,
        )


def _head(
    about: str, globals_of_torch: Dict[str, str], frees: Sequence[str], in_factory: str
) -> str:
    """Comment lines above a function.

    Args:
        about: lines that stand first, "" for none.
        globals_of_torch: name in the source -> the name that torch gave it.
        frees: free variables to be named.
        in_factory: the function with the one around it that has them; "" where there is none.
    """
    head = "".join(wrapped(shown(line)) for line in about.splitlines())
    head += table_of_globals(globals_of_torch)
    if frees:
        said = "free variables of the function: %s" % ", ".join(frees)
        if in_factory:
            said += ". It sets some, so %s stands around it." % FACTORY
            said += _unused(in_factory)
        head += wrapped(said)
    return head


def _unused(source: str) -> str:
    """A sentence on the free variables that only the `nonlocal` of a function names."""
    declared = re.search(r"(?m)^ +nonlocal (.+)$", source)
    if declared is None:
        return ""
    used = set(re.findall(r"\w+", source[declared.end() :]))
    names = [one for one in declared.group(1).split(", ") if one not in used]
    if not names:
        return ""
    text = " Nothing here uses %s: `nonlocal` keeps the function's cells as torch has them."
    return text % (" and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:]))


def _not_proven(verdict: str, detail: str) -> str:
    return "# NOT PROVEN to do what the bytecode does (%s): %s\n" % (
        verdict,
        shown(" ".join(detail.split())),
    )


def _below(head: str, source: str, line_map: LineMap) -> Tuple[str, LineMap]:
    """A source and its line map, with the lines of `head` above it."""
    return head + source, _shifted(line_map, head.count("\n"))


def _shifted(line_map: LineMap, lines: int) -> LineMap:
    return [(entry[0] + lines,) + tuple(entry[1:]) for entry in line_map] if lines else line_map
