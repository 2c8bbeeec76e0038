"""The functions that were compiled, and the run that holds them."""

import json
import sys
import time
import types
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional

from depyf.model.entry import Entry
from depyf.model.facts import Constants, Problem
from depyf.model.live import LiveObject
from depyf.model.titles import COMPILED_AUTOGRAD, TRACED_BACKWARD, is_backward_pass, resumed_after
from depyf.model.writers import Writers
from depyf.schema import SCHEMA, SCHEMA_VERSION
from depyf.terminal import shown


@dataclass(eq=False, repr=False)
class Function:
    """A function, method or resume function that Dynamo compiled at least once."""

    name: str
    qualname: str = ""  # `LlamaModel.forward`; of a wrapper's code, that of what it wraps; of a
    # resume function, that of the function which it goes on with
    module: str = ""
    through: str = ""  # the wrapper's own name
    filename: str = ""
    firstlineno: int = 0
    index: int = 0  # the K of full_code_for_<function>_K.py
    source: str = ""
    source_origin: str = ""  # "file", "decompiled" or ""
    is_resume: bool = False
    global_name: Optional[str] = None  # __resume_at_<offset>_<n> for a resume function
    entries: List[Entry] = field(default_factory=list)
    path: Optional[str] = None  # full_code file, relative to the dump's folder
    # from which compile on torch compiles it no more, and why; see docs/run_schema.md
    given_up: Dict[str, str] = field(default_factory=dict)
    _constants: Constants = field(default_factory=dict)
    _code: LiveObject = field(default_factory=LiveObject)
    _globals_name: str = ""
    _bytecode: str = ""  # disassembly of the original, shared by all entries
    _signature: Any = None
    _titled_as: str = ""  # its title, where its caller knows more
    _defaults: Optional[str] = None  # a sentence on its default values, where it was asked for
    _installed_as: str = ""  # how torch holds a resume function: "function", "factory", "code"
    _order: List[Entry] = field(default_factory=list)  # entries as torch tries them

    def __repr__(self) -> str:
        count = len(self.entries)
        what = (
            self.name,
            self.filename,
            self.firstlineno,
            count,
            "entry" if count == 1 else "entries",
        )
        return shown("<Function %s, %s:%d: %d %s>" % what)

    def _repr_html_(self) -> str:
        return Writers.function_html(self)

    @property
    def title(self) -> str:
        """Its name for people: qualified, and with the wrapper that it runs in."""
        name = self.qualname or self.name
        others = {one.qualname: None for one in self.entries if one.qualname}
        if others:
            second = next(iter(others)) if len(others) == 1 else "%d others" % len(others)
            name = "%s and %s" % (name, second)
        return self._titled(name)

    def _titled(self, name: str) -> str:
        if self._titled_as:
            return self._titled_as
        if self.is_resume and self.qualname:
            name = resumed_after(name, self.firstlineno)
        return name + (", through " + self.through if self.through else "")

    def title_of(self, entry: Entry) -> str:
        """What the code of an entry does, where the name of its file does not say it all; or ""."""
        is_first = entry in self.entries and entry.index > self.entries.index(entry)
        if is_first and not self.through and not self.is_resume and self.qualname:
            if not is_backward_pass(self.qualname):  # another function has files of this name
                return "%s (%s:%d)" % (self.qualname, self.filename, self.firstlineno)
        if not self.through and not is_backward_pass(self.qualname):
            return ""
        return self._titled(entry.qualname or self.qualname or self.name)

    def stem(self, qualname: str = "") -> str:
        """Its part of the names of files, which tells two methods of one name apart.

        Args:
            qualname: that of the entry, see `Entry`.
        """
        whole = qualname or self.qualname
        if is_backward_pass(whole) and not self.is_resume:
            return whole[: -len(COMPILED_AUTOGRAD)].replace(" ", "_").replace(".", "_")
        if not self.is_resume or not whole:
            return (whole or self.name).replace(".", "_")
        plain = self.through or whole.rpartition(".")[2]
        return self.name.replace("_in_" + plain, "_in_" + whole, 1).replace(".", "_")

    @property
    def where(self) -> str:
        """Its place for people."""
        if is_backward_pass(self.qualname) and not self.is_resume:
            return TRACED_BACKWARD
        return "%s:%d" % (self.filename, self.firstlineno)

    @property
    def code(self) -> Optional[types.CodeType]:
        """The original code object, while it lives."""
        return self._code.get()

    def to_json(self, with_entries: bool = True) -> Dict[str, Any]:
        return {
            "name": self.name,
            "qualname": self.qualname,
            "module": self.module,
            "through": self.through,
            "filename": self.filename,
            "firstlineno": self.firstlineno,
            "index": self.index,
            "source": self.source,
            "source_origin": self.source_origin,
            "is_resume": self.is_resume,
            "global_name": self.global_name,
            "path": self.path,
            "given_up": self.given_up,
            "entries": [entry.to_json() for entry in self.entries] if with_entries else [],
        }


@dataclass(eq=False, repr=False)
class Run:
    """Everything that was compiled while depyf looked.

    Attributes:
        folder: where it was dumped, or None.
    """

    torch_version: str = ""
    python_version: str = sys.version.split()[0]
    program: str = field(default_factory=lambda: sys.argv[0] if getattr(sys, "argv", None) else "")
    started: float = field(default_factory=time.time)
    finished: Optional[float] = None
    folder: Optional[str] = None
    functions: List[Function] = field(default_factory=list)
    unattributed: List[Entry] = field(
        default_factory=list
    )  # compiles without a function: failed ones, compiled autograd
    problems: List[Problem] = field(default_factory=list)
    error: str = ""  # the exception that ended the block: its type and message
    #: by whose code it was raised: see docs/run_schema.md
    raised_at: Dict[str, Any] = field(default_factory=dict)
    unavailable: Dict[str, str] = field(default_factory=dict)
    profiles: List[Dict[str, Any]] = field(default_factory=list)  # see depyf.torch.profile
    nonfinite: List[Dict[str, Any]] = field(default_factory=list)  # see depyf.torch.numbers
    cudagraph_skips: List[str] = field(default_factory=list)  # torch's words, once each
    #: file of the dump that is not there -> why it could not be written
    _unwritten: Dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    #: a list for `depyf.advise.Advice` of the dump, of who tells of the run after its end
    _advice: Optional[List[Any]] = field(default=None, repr=False, compare=False)

    def entries(self) -> Iterator[Entry]:
        """Every entry of every function, in order of compilation within each function."""
        for function in self.functions:
            for entry in function.entries:
                yield entry
        for entry in self.unattributed:
            yield entry

    def function(self, name: str) -> Function:
        """The first function of that name.

        Raises:
            KeyError: no function of that name was compiled; the message lists those that were.
        """
        for function in self.functions:
            if name in (function.name, function.qualname) and not (
                function.is_resume and name != function.name
            ):
                return function
        raise KeyError(
            "no function %r was compiled; compiled functions: %s"
            % (name, ", ".join(f.name for f in self.functions) or "none")
        )

    def resume_names(self) -> Dict[str, List[str]]:
        """The globals under which torch installed each resume function, by the first of them."""
        found: Dict[str, List[str]] = {}
        for function in self.functions:
            if function.global_name:
                found.setdefault(function.global_name, [function.global_name])
        for entry in self.entries():
            for name, first in entry.aliases.items():
                names = found.setdefault(first, [first])
                if name not in names:
                    names.append(name)
        return found

    def dump(self, folder: str) -> str:
        """Writes the files of `prepare_debug` for this run.

        Args:
            folder: where to write; made when it does not exist.
        Returns:
            The absolute path of the folder.
        Raises:
            OSError: the folder cannot be made, or a file of it cannot be written; the others are
                there.
        """
        return Writers.dump(self, folder)

    def report(self, path: Optional[str] = None) -> Any:
        """Writes one self-contained page about this run.

        Args:
            path: the file; without it `index.html` of the folder that the run was dumped to, else
                `depyf_report.html` in the current folder.
        Returns:
            The page's absolute path, as a `pathlib.Path`.
        Raises:
            ImportError: Jinja2 is not installed.
            OSError: the page cannot be written.
        """
        if path is None and self.folder is None:
            path = "depyf_report.html"
        return Writers.page(self, path)

    def to_json(self, with_entries: bool = True) -> Dict[str, Any]:
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "torch_version": self.torch_version,
            "python_version": self.python_version,
            "program": self.program,
            "started": self.started,
            "finished": self.finished,
            "functions": [one.to_json() for one in self.functions] if with_entries else [],
            "unattributed": [one.to_json() for one in self.unattributed] if with_entries else [],
            "error": self.error,
            "raised_at": self.raised_at,
            "problems": [problem.to_json() for problem in self.problems],
            "unavailable": self.unavailable,
            "profiles": self.profiles,
            "nonfinite": self.nonfinite,
            "cudagraph_skips": self.cudagraph_skips,
        }

    def __repr__(self) -> str:
        entries = [
            entry for function in self.functions for entry in function.entries
        ] + self.unattributed
        counts = (
            (len(entries), "compile"),
            (sum(len(entry.breaks) for entry in entries), "graph break"),
            (sum(1 for entry in entries if entry.reasons), "recompile"),
        )
        return "<Run: %s>" % ", ".join(
            "%d %s%s" % (count, word, "" if count == 1 else "s") for count, word in counts
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: lists to pick a function, a compile and one of its texts from."""
        return Writers.run_html(self)

    def dumps(self) -> str:
        """The run as JSON text, all of it spelled out.

        Values that JSON does not know are written as their repr.
        """
        return json.dumps(self.to_json(), default=repr)
