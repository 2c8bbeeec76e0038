"""Writing a run to a folder: one file per graph, kernel and transformed code object, full_code
files, depyf.json, README.md.

Each file is written beside its place and then renamed, so that a reader never sees half of one. A
file that cannot be written becomes one warning and a row in the run's problems.
"""

import contextlib
import io
import json
import os
import re
import threading
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from depyf import advise, legend, report, sharing, summary
from depyf.compiling import is_python
from depyf.files import (
    MANIFEST_LIMIT,
    append_text,
    overwrite_text,
    parse_json,
    read_text,
    require_writable,
    write_atomically,
)
from depyf.interrupts import pass_on
from depyf.model import (
    Artifact,
    Entry,
    Function,
    Problem,
    Run,
    is_backward_pass,
    sorted_artifacts,
)
from depyf.report import document, flow, page, words
from depyf.report.base import PAGE
from depyf.report.overview import Node, nodes_of
from depyf.schema import MANIFEST, SCHEMA, Document
from depyf.terminal import shown
from depyf.torch import compat
from depyf.torch.debug import remember_graph
from depyf.torch.fullcode import (
    Renderer,
    breaks_in_words,
    nodes_by_entry,
    reached_from,
    reasons_in_words,
)
from depyf.torch.journal import Journal
from depyf.trace.graph_rows import OPERATION
from depyf.trace.names import safe_name

try:  # here and not when the first page is written, which is inside the user's block
    from depyf.report import document, page  # noqa: F401

    page.load()
except Exception:  # without Jinja2 no page is written, and the dump says so
    pass

OVERVIEW = "README.md"
#: the captured graphs, each as a table
TABLES = "Captured_Graph.tables.txt"
#: bytes of files and texts after which a dump takes nothing more, unless the program says otherwise
DUMP_LIMIT = 1 << 30
#: spaces after the first manifests: room to say in it why a dump is not complete, for which a full
#: disk has no block
_ROOM_FOR_WHY = 1000
_OURS = re.compile(
    r"^(__compiled_fn_\d+(_\w+)?\..+|__compile_\w+\..+|__transformed_code_\d+_for_.+\.(py|txt)"
    r"|full_code_for_.+_\d+\.py|Captured_Graph\.tables\.txt"
    r"|depyf(\.\d+)?\.json|depyf\.\d+\.jsonl|(depyf-)?README(\.\d+)?\.md|\.depyf-.*)$"
)
_TITLE = "# What torch.compile made"
_HOW_TO_READ = """\
Each function has a section with one subsection for each compile. Where the guards of a compile hold
for a call, its code runs in place of the function's own. Torch tries the compiles in turn, and
compiles the function again if the guards of none hold. A graph break splits a function: the code of
the first part runs up to the break and calls a resume function, which runs the rest and is compiled
separately. `full_code_for_*` shows all of this as Python for one function, `index.html` for all.

Compile 0/1 is compile 1 of function 0, both counted from 0, as torch numbers them. The code is
decompiled from torch's bytecode, and the word after a file's name says how far it is proven.
*exact*: it has the same operations in the same order. *equivalent*: operations differ in ways that
are proven to do the same. With any other word torch runs its own bytecode. A cache *hit* means that
torch took a compiled graph from an earlier compile or run, a *miss* that it compiled the graph."""
_FROM_FILES = """\
Tracebacks, and log lines of the program that show `%(filename)s` or `%(lineno)d`, name the file
here for code that torch runs from it. Without depyf they name the program's own file."""
#: how names of torch's begin that code of it has, how they go on, and what each is; the first match
#: is an example
_NAMES_OF_TORCH = tuple(
    (begin, re.compile(r"\b" + begin + end), told)
    for begin, end, told in (
        (
            "__resume_at_",
            r"\d+_\d+",
            "a resume function. The first number is that of the instruction at which it goes on, "
            "as an offset into the bytecode of the function; the second counts torch's names. "
            "Where the function has free variables, the name is of what makes the resume function: "
            "`__resume_at_8_4((cell,))(x)` gives it their cells, and then calls what it returns.",
        ),
        (
            "___stack",
            r"\d+",
            "a value that was on Python's stack at the graph break, such as what "
            "the call there returned. The resume function takes it as a parameter.",
        ),
        (
            "__nested_resume_fns",
            r"\b",
            "resume functions of the callers, where the break is in a function that torch traced "
            "into its caller. The first list of a resume call, `[]` where there are none.",
        ),
        (
            "__nested_frame_values",
            r"\b",
            "the variables of those callers. The second list of a resume call.",
        ),
        (
            "__resume_frame_values",
            r"\b",
            "what a resume function goes on with, in a list, so that it can delete it: values of "
            "the stack, then the variables. It takes the list as a parameter, and empties it.",
        ),
        (
            "_create_nested_fn",
            r"\b",
            "makes a function of its code, as `def` or `lambda` does inside of a function.",
        ),
        ("dict_keys_getitem", r"\b", "the n-th key of a dict."),
        (
            "set_torch_function_mode_stack",
            r"\b",
            "sets which modes of `torch.overrides.TorchFunctionMode` are on.",
        ),
        (
            "pregraph_record",
            r"\b",
            "when the code in front of the graph began: "
            "`record_pregraph_bytecode_enter` and `record_pregraph_bytecode_exit` are for torch's "
            "profiler alone.",
        ),
        (
            "__compiled_fn_",
            r"\d+",
            "a compiled graph. It returns its outputs, which the code gives "
            "their names one by one.",
        ),
        ("dynamo_utils", r"\b", "the module `torch._dynamo.utils`."),
        ("builtins_dict", r"\b", "Python's built-in functions by name."),
        (
            "object_setattr_ignore_descriptor",
            r"\b",
            "sets an attribute as `object.__setattr__` does, without the descriptors of the class.",
        ),
        ("call_size", r"\b", "the size of a dimension of a tensor."),
        (
            "_as_tensor_fullprec",
            r"\b",
            "a tensor of a number of Python's: a float as float64, an int as int64.",
        ),
    )
)
_PATCHES = (
    "The seconds are those of compiling, in this run: what a change saves of them at most. How "
    "much faster or slower the program then runs is not in them. `depyf report --advise` with this "
    "folder prints these with their patches, and all others."
)
#: kinds of files, in the order in which torch makes them, with what is in them
_FILES = (
    (
        "Captured_Graph",
        "the graph as Dynamo traced it; `__compiled_fn_N` is what the backend made of it.",
    ),
    ("BEFORE_PRE_GRAD", "the captured graph, given to the first passes of Inductor."),
    ("AFTER_PRE_GRAD", "the captured graph after the first passes of Inductor."),
    (
        "Joint_graph",
        "forward and backward pass in one, as AOTAutograd traced them, in ATen's operators; "
        "it is then cut into Forward_graph and Backward_graph.",
    ),
    ("BEFORE_JOINT", "the joint graph, given to Inductor's passes."),
    ("AFTER_JOINT", "the joint graph after Inductor's passes."),
    (
        "Forward_graph",
        "the graph that a call runs, in ATen's operators. `primals_1`, `primals_2` … are its "
        "inputs in the order of the captured graph's (there `arg0_1`, `arg1_1` … where no "
        "gradient is needed), parameters among them.",
    ),
    (
        "Backward_graph",
        "the graph that the backward pass runs. Its inputs are values that the forward graph has "
        "kept, and `tangents_1`, `tangents_2` …: the gradients of the outputs.",
    ),
    ("BEFORE_POST_GRAD", "a forward or backward graph, given to Inductor's last passes."),
    ("AFTER_POST_GRAD", "the same after these passes: what Inductor makes kernels of."),
    (
        "aot_forward_graph_fw_metadata",
        "what AOTAutograd knows of inputs and outputs: which are views, changed in place, or need "
        "a gradient.",
    ),
    ("dynamo_side_effects", "where the program changes lists, attributes and the like in a graph."),
    (
        "runtime_wrapper_orchestration",
        "AOTAutograd's Python around the forward graph: the order of its parts.",
    ),
    ("output_alias_wrapper", "makes those outputs anew that are views of inputs."),
    ("compiled_fn_wrapper", "calls the `autograd.Function` that runs both graphs."),
    ("compiled_function_forward", "`forward` of that `autograd.Function`."),
    ("compiled_function_backward", "`backward` of that `autograd.Function`."),
    ("backward_prologue", "prepares the gradients for the backward graph."),
    ("backward_epilogue", "puts the backward graph's results in the order of the inputs."),
)
_BACKWARD_PASSES = """\
Compile !0/2/0 is compile 0 of function 2 in backward pass 0. Compiled autograd traces a whole
backward pass into one function, with the hooks of the program in it, and torch compiles that. !0
alone is the tracing."""
#: characters of an exception that are shown
_ERROR = 200
_RESET = """\
The program called torch._dynamo.reset(): torch dropped all compiles before it, and numbered later
ones from 0 again."""
#: files that are rewritten many times; their content is counted when it is captured
_OFTEN = re.compile(r"^(depyf(\.\d+)?\.json|(depyf-)?README(\.\d+)?\.md|full_code_for_.+)$")
_ANONYMOUS_CLASS = re.compile(r"^(\s*)class <(\w+)>\(", re.MULTILINE)
#: the names of stages with TORCH_COMPILE_DEBUG=1; files have these names too, for its users
DEBUG_NAMES = {
    "BEFORE_POST_GRAD": "fx_graph_readable",
    "AFTER_POST_GRAD": "fx_graph_transformed",
    "kernel": "output_code",
}


class _Shared:
    """What the blocks that write to one folder in one process share: names and numbers in use, and
    whose depyf.json is.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.begun = time.time()
        self.lock = threading.RLock()
        self.claimed: Set[str] = set()
        self.numbers: Dict[str, int] = {}
        self.blocks = 0
        self.size = 0  # of what was written and of what the manifest holds
        self.overview = "README"
        self.written: Dict[int, str] = {}  # block -> the name under which its manifest stands now
        self.texts: Dict[str, int] = {}  # file of an artifact -> hash of its text
        self.journals: Dict[int, str] = {}  # open block -> the file that holds what it has seen

    def forget(self) -> None:
        """Forgets the files, which somebody has removed; the numbers go on, since code that still
        runs may have come from them.
        """
        self.claimed.clear()
        self.texts.clear()
        self.written.clear()
        self.size = 0

    def earlier(self, block: int) -> List[str]:
        """Manifests of blocks that were entered before `block`. One that was entered later and has
        written its manifest already lay inside it, so that `block` has recorded all of it, too.
        """
        return [
            name for one, name in sorted(self.written.items()) if one < block and name != MANIFEST
        ]


#: by real path; a forked process writes to folders of its own
_used_here: Dict[str, _Shared] = {}
_used_lock = threading.Lock()


def _shared(folder: str) -> Optional[_Shared]:
    found = _used_here.get(os.path.realpath(folder))
    return found if found is not None and found.process == os.getpid() else None


def _drop_removed() -> None:
    # Programs that dump into temporary folders. Not all are looked at for each block, since most
    # may still exist: the two latest, and in turn two of the others.
    paths = list(_used_here)
    for path in paths[-2:] + paths[:-2][:2]:
        shared = _used_here[path]
        if not shared.journals and not os.path.isdir(path):
            del _used_here[path]
        elif path in paths[:2]:
            _used_here[path] = _used_here.pop(path)  # others come first the next time


def _manifest(folder: str) -> Dict[str, Any]:
    # of the dump there; nothing where there is none that can be read
    try:
        manifest = parse_json(read_text(os.path.join(folder, MANIFEST), MANIFEST_LIMIT))
    except (OSError, ValueError):
        pass_on()
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _is_ours(folder: str, name: str) -> bool:
    # a README that somebody else wrote stays
    if not _OURS.match(name):
        return False
    if not name.startswith("README"):
        return True
    try:
        return read_text(os.path.join(folder, name)).startswith(_TITLE)
    except OSError:
        pass_on()
        return False


def as_comment(text: str) -> str:
    """The text as comment lines; no line break that Python knows can end a comment early."""
    return "".join(
        "# %s\n" % line.replace("\0", "\\0").replace("\f", " ")
        for line in re.split(r"\r\n|\r|\n", text)
    )


def graph_as_python(text: str, heading: str) -> str:
    """A graph as torch prints it, as a module that compiles.

    Torch's `class <lambda>` gets a name.
    """
    body = _ANONYMOUS_CLASS.sub(r"\1class \2_graph(", text)
    module = "%simport torch\n\n%s" % (
        as_comment(heading),
        body if body.endswith("\n") else body + "\n",
    )
    if is_python(module):
        return module
    return "%s# The text of this stage is not Python; here it is as torch prints it.\n\n%s" % (
        as_comment(heading),
        as_comment(text),
    )


_TABLE_ROW = re.compile(
    r'^\s*(?P<name>\w+): "(?P<dtype>[A-Za-z0-9_]+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)'
    r'\])?(?P<device>[^"]*)"'
    r"(?: = (?P<target>[^#]*?)(?:;  .*)?|,.*|\)?)$"
)
_TABLE_ARGUMENT = re.compile(
    r'(?P<name>\w+): "(?P<dtype>[A-Za-z0-9_]+)\[(?P<shape>[^\]]*)\](?:\[(?P<stride>[^\]]*)'
    r'\])?(?P<device>[^"]*)"'
)


def graph_table(text: str) -> str:
    """A graph as a table: name, dtype, shape, stride, device, and what computes it. Empty when no
    value has a shape.
    """
    rows: List[Tuple[str, ...]] = [("name", "dtype", "shape", "stride", "device", "computed by")]
    for line in text.splitlines():
        if line.lstrip().startswith("def "):
            for match in _TABLE_ARGUMENT.finditer(line):
                rows.append(_row(match, "argument"))
            continue
        match = _TABLE_ROW.match(line)  # type: ignore[assignment]
        if match is not None:
            rows.append(_row(match, (match.group("target") or "argument").strip()))
    if len(rows) == 1:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "".join(
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[5]]).rstrip()
        + "\n"
        for row in rows
    )


def _row(match: Any, target: str) -> Tuple[str, ...]:
    stride = match.group("stride")
    return (
        match.group("name"),
        match.group("dtype"),
        "[%s]" % match.group("shape"),
        "[%s]" % stride if stride is not None else "",
        match.group("device") or "",
        target,
    )


#: values that a heading names
_CHANGED = 6


def _changed_inputs(artifact: Artifact) -> str:
    """What the heading of a graph adds where it writes into what it is given: that is no output."""
    nodes = artifact.structure.get("nodes") or ()
    written = {one for _, into, _ in artifact.structure.get("writes") or () for one in into}
    names = [
        row[0] for number, row in enumerate(nodes) if number in written and row[1] != OPERATION
    ]
    if not names:
        return ""
    more = len(names) - _CHANGED
    named = names[:_CHANGED] + ["%d more" % more] * (more > 0)
    said = "It writes to what it is given, besides what it returns: %s." % ", ".join(named)
    return "\n" + "\n".join(legend.rows(said, 98))


def stage_file(prefix: str, artifact: Artifact) -> str:
    """The name of an artifact's file without its ending."""
    if artifact.kind == "kernel":
        return "%s.kernel_%d" % (prefix, artifact.index)
    return "%s.%s.%d" % (prefix, artifact.stage, artifact.index)


def entry_prefix(entry: Entry) -> str:
    """What the names of an entry's files begin with: its graph's name, or its compile id where
    there is no graph.
    """
    return entry.graph_name or "__compile_%s" % re.sub(r"\W+", "_", entry.compile_id)


def _process_lives(process: int) -> bool:
    if process == os.getpid() or os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass_on()
        return True
    return True


def _being_written(begun: float, **more: Any) -> Dict[str, Any]:
    return dict({"schema": SCHEMA, "open": True, "process": os.getpid(), "begun": begun}, **more)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Holds a lock that other processes on this machine respect, where the system has such locks.

    Leaves no file.
    """
    descriptor = None
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except (ImportError, OSError):
        pass_on()
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


class _Stored:
    """Reads the text of an artifact back from its file; empty when that is gone."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self) -> str:
        try:
            with io.open(self._path, encoding="utf-8") as stream:
                return stream.read()
        except OSError:
            pass_on()
            return ""


class _Told:
    """What the report says of a run, found out once for all files of its dump.

    Attributes:
        by_entry: the node of each entry by the entry's id; empty where the report cannot be made,
            and torch's own words stand in its place.
        document: the run as the report reads it, or None.
    """

    def __init__(self, run: Run, for_page: bool) -> None:
        self.document: Optional[Document] = None
        self._nodes: Optional[List[Node]] = None
        if for_page:  # which alone needs the texts of the artifacts
            try:
                found = document.load_all(run)[0]
                self._nodes = nodes_of([found])
                self.document = found
            except Exception:
                pass_on()  # to build the page fails in the same way, and is told
        self.by_entry = nodes_by_entry(run, self._nodes)
        self._advice: Optional[advise.Advice] = None
        try:
            nodes = self._nodes or list(self.by_entry.values())
            self._advice = advise.Advice(self.document or run.to_json(), nodes)
        except Exception:
            pass_on()  # the page fails in the same way, and is told
        if run._advice is not None and self.document is not None and self._advice is not None:
            run._advice[:] = [self._advice]

    def advised(self) -> List[str]:
        """The changes that are worth most; [] where the report cannot be made."""
        try:
            return self._advice.brief() if self._advice is not None else []
        except Exception:
            pass_on()
            return []

    def write_page(self, run: Run) -> None:
        """Writes the page into the run's folder. Raises as `report.build` does."""
        if self.document is None:
            report.build(run)
            return
        document.catch_up(self.document, run)
        path = os.path.abspath(self.document["place"])
        page.write(path, page.render([self.document], os.path.dirname(path), self._advice))


class EarlierDump(OSError):
    """The folder holds a dump that is to be kept."""


class DumpWriter:
    """Writes one run into one folder.

    Args:
        folder: made when it does not exist.
        existing: "replace", "number" or "keep", see `prepare_debug`.
        limit: bytes after which the dump is full; None for no limit.
        page: whether the page is made.
    Raises:
        EarlierDump: there is an earlier dump, and it is to be kept.
        OSError: the folder cannot be made or written.
    """

    def __init__(
        self,
        folder: str,
        existing: str = "replace",
        limit: Optional[int] = None,
        page: bool = True,
    ) -> None:
        self.limit = limit
        self._page = page
        self._session: Any = None
        self._late = False  # something came after the manifest was written
        self._next_write = 0.0
        self._journal: Optional[Journal] = None  # while the block is open
        folder = os.path.abspath(folder)
        number, self.folder = 1, folder
        while not self._take(existing, folder if number > 1 else None):
            number += 1
            self.folder = "%s_%d" % (folder, number)
        self._lock = self._shared.lock
        self._claimed = self._shared.claimed
        #: how many entries and functions of each name there are in the folder
        self.numbers = self._shared.numbers

    def _take(self, existing: str, asked: Optional[str]) -> bool:
        """Makes the folder this process's own; False when it is another one's, or its dump is to
        stay.

        `asked`: the folder in whose place this one is tried, since another process is at work
        there. What a process wrote beside it since then, such as a worker that has ended already,
        belongs to the same run and stays.
        """
        os.makedirs(self.folder, exist_ok=True)
        require_writable(self.folder)
        # two workers that start together must not both find the folder empty
        with _used_lock, _locked(self.folder):
            shared = _shared(self.folder)
            if shared is not None and not shared.journals and not os.listdir(self.folder):
                shared.forget()
            if shared is None:
                _drop_removed()
                earlier = [name for name in os.listdir(self.folder) if _is_ours(self.folder, name)]
                if earlier:
                    if existing == "keep":
                        raise EarlierDump("it holds an earlier dump, which depyf keeps")
                    if (
                        existing == "number"
                        or self._in_use(self.folder)
                        or (asked and self._begun(self.folder) >= self._begun(asked))
                    ):
                        return False
                    for name in earlier:
                        os.unlink(os.path.join(self.folder, name))
                shared = _used_here[os.path.realpath(self.folder)] = _Shared()
                if os.path.lexists(os.path.join(self.folder, OVERVIEW)):
                    shared.overview = "depyf-README"
                self.write(MANIFEST, json.dumps(_being_written(shared.begun)) + _ROOM_FOR_WHY * " ")
            shared.blocks += 1
            self._shared, self._block = shared, shared.blocks
        return True

    @staticmethod
    def _in_use(folder: str) -> bool:
        # another process, such as another rank, that is dumping there now
        manifest = _manifest(folder)
        try:
            return manifest.get("open") is True and _process_lives(int(manifest.get("process", 0)))
        except (ValueError, TypeError):
            pass_on()
            return False

    @staticmethod
    def _begun(folder: str) -> float:
        # when the dump there was begun; 0.0 where that is not told
        try:
            return float(_manifest(folder).get("begun", 0))
        except (ValueError, TypeError):
            pass_on()
            return 0.0

    # -- names and bytes

    def is_full(self) -> bool:
        """Whether the blocks of this folder have reached the limit of this one."""
        return self.limit is not None and self._shared.size >= self.limit

    def template(self) -> str:
        """Path of a transformed code's file with %s for its name."""
        return os.path.join(self.folder, "%s.py")

    def _claim(self, name: str, ending: str, text: str) -> Tuple[str, bool]:
        """A name of its own for `text`; or the one that has it, and True."""
        with self._lock:
            candidate, number = name + ending, 1
            while candidate.lower() in self._claimed:
                if self._shared.texts.get(candidate) == hash(text) and os.path.lexists(
                    os.path.join(self.folder, candidate)
                ):
                    return candidate, True
                number += 1
                candidate = "%s_%d%s" % (name, number, ending)
            self._claimed.add(candidate.lower())
            return candidate, False

    def _write_claimed(self, name: str, ending: str, text: str) -> Optional[str]:
        # blocks inside one another have the same artifacts: one file holds them
        claimed, there = self._claim(name, ending, text)
        if there:
            return claimed
        written = None
        try:
            written = self.write(claimed, text)
        finally:
            if written is None:  # it is tried again when the block is left
                with self._lock:
                    self._claimed.discard(claimed.lower())
        if written is not None:
            self._shared.texts[written] = hash(text)
        return written

    def write(self, name: str, text: str) -> Optional[str]:
        """Writes one file of the dump; returns its name, or None when it could not be written."""
        try:
            write_atomically(os.path.join(self.folder, name), text, "backslashreplace")
            if not _OFTEN.match(name):
                self._shared.size += len(text)
            if self._session is not None:
                self._session.run._unwritten.pop(name, None)
            return name
        except OSError as error:
            pass_on()
            self._not_written(name, name, error)
            return None

    def _not_written(self, name: str, shown: str, error: OSError) -> None:
        if self._session is None:
            return
        self._session.run._unwritten[name] = error.strerror or str(error)
        self._session.problem("writing the dump", "%s was not written: %s" % (shown, error))

    # -- what a session tells

    def opened(self, session: Any) -> None:
        """A block was entered."""
        self._session = session
        session.run.folder = self.folder
        with self._lock:
            self._set_aside()
            journals = self._shared.journals
            journals[self._block] = "depyf.%d.jsonl" % self._block
            self._journal = Journal(os.path.join(self.folder, journals[self._block]))
            outermost = min(journals)  # it sees what those inside it see
            document = _being_written(
                self._shared.begun,
                earlier=self._shared.earlier(outermost),
                journal=journals[outermost],
            )
            self.write(MANIFEST, json.dumps(document) + " " * _ROOM_FOR_WHY)

    def entry_seen(self, session: Any, function: Function, entry: Entry) -> None:
        """A frame was transformed, and decompiled where that was possible."""
        texts = (
            entry.source,
            entry.original_bytecode,
            entry.transformed_bytecode,
            entry.guard_tree,
        )
        with self._lock:  # source and bytecode stand in the manifest, and the source in a file
            self._shared.size += sum(map(len, texts)) + len(entry.source)
        if self._journal is not None:
            self._journal.seen(function, entry)
        self._write_transformed(entry)
        if session.log_bytecode:
            self.write(
                entry.name + ".txt",
                "ORIGINAL BYTECODE\n\n%s\nTRANSFORMED BYTECODE\n\n%s"
                % (entry.original_bytecode, entry.transformed_bytecode),
            )
        self._write_artifacts(entry)

    def source_changed(self, entry: Entry) -> None:
        """The block has ended, and comments of an entry say more than when its code was compiled.

        They come after the code, so that its lines keep their numbers.
        """
        if entry.code_path is None or not entry.replaced:
            self._write_transformed(entry)
        elif entry.path and os.path.exists(os.path.join(self.folder, entry.path)):
            self.write(entry.path, entry.source)

    def compile_ended(self, session: Any, entry: Entry) -> None:
        """Everything of a compile, or of its backward, is there."""
        self._write_artifacts(entry)
        # A job that hangs or is killed never leaves its block, and is the one that somebody wants
        # to look at.
        with self._lock:
            if self._journal is None:
                return
            changed = [one for one in session.changed.values() if one.finished or one is entry]
            for one in changed:
                del session.changed[id(one)]
            try:
                self._journal.append(session.run, changed)
            except OSError as error:
                pass_on()
                self._journal = None
                session.problem("writing the dump", "the journal was not written: %s" % error)

    def late(self, session: Any, entry: Entry) -> None:
        """Something arrived after the block: a backward, compiled when it was first needed."""
        if not entry.backward_metrics:
            return
        self._write_artifacts(entry)
        self._late = True
        # the whole run is written again, so for many late backwards only when that is a small part
        # of the time that passed
        if time.monotonic() >= self._next_write:
            self.settle(session)

    def settle(self, session: Any) -> None:
        """Writes the manifest again if something arrived after it was written."""
        if not self._late:
            return
        self._late = False
        begin = time.monotonic()
        self._write_run(session.run, self._told(session.run))
        end = time.monotonic()
        self._next_write = end + 20 * (end - begin)

    def closed(self, session: Any) -> None:
        """The block was left."""
        run = session.run
        for entry in run.entries():
            self._write_artifacts(entry)
        told = self._told(run)
        renderer = Renderer(run, told.by_entry)
        called = {name for entry in run.entries() for name in entry.called()}
        for function in run.functions:
            if function.is_resume and function.global_name in called:
                continue
            name = "full_code_for_%s_%d" % (safe_name(function.stem()), function.index)
            try:
                text = renderer.render(function)
            except Exception as error:
                pass_on()
                session.problem("writing %s" % name, "%s: %s" % (type(error).__name__, error))
                continue
            if not is_python(text, name):
                session.problem(
                    "writing %s" % name,
                    "the assembled text is not Python; it is written as comments",
                )
                text = as_comment(text)
            function.path = self._write_claimed(name, ".py", text)
        self._write_run(run, told)

    def _told(self, run: Run) -> _Told:
        return _Told(run, self._page and not self._shared.earlier(self._block))

    def _write_run(self, run: Run, told: _Told) -> None:
        self._write_manifest(run, told)
        if self._page:
            self._write_page(run, told)

    def _write_manifest(self, run: Run, told: _Told) -> None:
        more: Dict[str, Any] = {
            "open": False,
            "process": os.getpid(),
            "begun": self._shared.begun,
        }
        with self._lock:
            manifest = self._shared.written.get(self._block)
            if manifest is None:
                self._set_aside()
            manifest = manifest or MANIFEST
            if manifest == MANIFEST:
                more["earlier"] = self._shared.earlier(self._block)
            # what a reader counts on comes last: when it says that the dump is whole, it is
            name = manifest.replace("depyf", self._shared.overview).replace("json", "md")
            self.write(name, overview(run, told.by_entry, told.advised()))
            text = sharing.file_text(dict(run.to_json(), **more))
            if self.write(manifest, text) is not None:
                self._shared.written[self._block] = manifest
                self._end_journal()
            elif manifest == MANIFEST:
                self._leave_journal(run)

    def _leave_journal(self, run: Run) -> None:
        # the disk is full, or the folder cannot be written any more: the journal is the dump
        journal = self._shared.journals.get(self._block)
        if journal is None:
            return
        document = _being_written(
            self._shared.begun,
            earlier=self._shared.earlier(self._block),
            journal=journal,
            stopped=summary.unwritten(run._unwritten)[: _ROOM_FOR_WHY // 2],
        )
        try:
            overwrite_text(os.path.join(self.folder, MANIFEST), json.dumps(document))
        except OSError:  # the problem was told
            pass_on()

    def _end_journal(self) -> None:
        name = self._shared.journals.pop(self._block, None)
        if name is None:
            return
        self._journal = None
        try:
            os.unlink(os.path.join(self.folder, name))
        except FileNotFoundError:
            pass  # nothing was compiled
        except OSError as error:
            pass_on()
            if self._session is not None:
                self._session.problem("writing the dump", "%s was not removed: %s" % (name, error))

    def _write_page(self, run: Run, told: _Told) -> None:
        # the blocks of one folder share one page; the earlier ones are read back from their
        # manifests
        try:
            if self._shared.earlier(self._block):
                report.build(self.folder)
            else:
                told.write_page(run)
            run._unwritten.pop(PAGE, None)
        except ImportError as error:
            compat.note_unavailable("report", "%s; pip install Jinja2" % error)
        except Exception as error:
            pass_on()
            if self._session is None:
                return
            if isinstance(error, OSError):
                self._not_written(PAGE, "the page", error)
            else:
                self._session.problem(
                    "writing the report", "%s: %s" % (type(error).__name__, error)
                )

    def _set_aside(self) -> None:
        # an earlier block of this process wrote its manifest here; it stays, under a numbered name
        for block, name in self._shared.written.items():
            if name == MANIFEST and block != self._block:
                kept = "depyf.%d.json" % block
                try:
                    name = self._shared.overview
                    for old, kind in (
                        (name + ".md", "%s.%d.md" % (name, block)),
                        (MANIFEST, kept),
                    ):
                        os.replace(os.path.join(self.folder, old), os.path.join(self.folder, kind))
                except OSError:
                    pass_on()
                    continue  # someone has removed it
                self._shared.written[block] = kept

    # -- the files of one entry

    def _write_transformed(self, entry: Entry) -> None:
        name = entry.name + ".py"
        with self._lock:
            self._claimed.add(name.lower())
        path = os.path.join(self.folder, name)
        if (
            entry.code_path is not None
            and os.path.abspath(entry.code_path) == path
            and os.path.exists(path)
        ):
            entry.path = name
            return
        if entry.replaced:  # the running code names another block's file; this is a copy
            heading = "torch runs this code from %s" % entry.code_path
        elif entry.verdict in ("exact", "equivalent"):
            heading = "torch runs its own bytecode, which was proven %s to this%s" % (
                entry.verdict,
                ": " + entry.detail if entry.detail else "",
            )
        else:
            heading = (
                "torch runs its own bytecode: the decompiled code is not used. Verdict: %s. %s"
                % (entry.verdict, entry.detail)
            )
        text = as_comment(heading)
        if entry.source:
            text += "\n" + (entry.source if is_python(entry.source) else as_comment(entry.source))
        if entry.verdict not in ("exact", "equivalent"):
            text += "\n# The bytecode that runs:\n" + as_comment(entry.transformed_bytecode)
        entry.path = self.write(name, text)

    def _write_artifacts(self, entry: Entry) -> None:
        if not entry.hooked and not entry.finished:
            return  # the graph's name is not known yet
        with self._lock:
            for artifact in entry.artifacts:
                if artifact.path is None and artifact._text is not None:
                    self._write_artifact(entry, artifact)

    def _write_artifact(self, entry: Entry, artifact: Artifact) -> None:
        text = artifact._text or ""
        base = stage_file(entry_prefix(entry), artifact)
        heading = "%s, compile %s%s" % (
            artifact.stage,
            entry.compile_id,
            ", %s" % artifact.note if artifact.note else "",
        )
        ending = ".py"
        content = text
        if artifact.kind == "graph":
            content = graph_as_python(text, heading + _changed_inputs(artifact))
        elif artifact.kind == "kernel":
            if is_python(text):
                # at the end, so that lines are those of the file that torch runs
                content = text.rstrip("\n") + "\n\n# %s; torch runs %s\n" % (
                    heading,
                    artifact.source_path or "it from memory",
                )
            else:
                ending = ".cpp"
        elif artifact.kind == "json":
            ending = ".json"
        elif not (("def " in text or "import " in text) and is_python(text)):
            ending = ".txt"
        artifact.path = self._write_claimed(base, ending, content)
        if artifact.path is None:
            return
        artifact._text = None
        artifact._stored = _Stored(os.path.join(self.folder, artifact.path))
        if artifact.stage in DEBUG_NAMES:
            self._write_claimed(
                "%s.%s.%d" % (entry_prefix(entry), DEBUG_NAMES[artifact.stage], artifact.index),
                ending,
                content,
            )
        if artifact.stage == "Captured_Graph":
            module = entry.graph_module
            if module is not None:
                remember_graph(
                    module,
                    os.path.join(self.folder, artifact.path),
                    entry._home,
                    entry.global_name or "",
                )
            self._append_table(base, graph_table(text))

    def _append_table(self, graph: str, table: str) -> None:
        # one file for all: a program of two hundred graphs has enough files
        key = "%s: %s" % (TABLES, graph)
        if not table or self._shared.texts.get(key) == hash(table):
            return  # blocks inside one another have the same graphs
        self._shared.texts[key] = hash(table)
        text = "# %s\n%s\n" % (graph, table)
        try:
            append_text(os.path.join(self.folder, TABLES), text)
            self._shared.size += len(text)
        except OSError as error:
            pass_on()
            self._not_written(TABLES, TABLES, error)


#: where a resume function begins: which side of a branch it is
_GOES_ON = re.compile(
    r", (from line \d+ on|with the rest of that line first|where nothing is left to do)"
)


def overview(run: Run, nodes: Dict[int, Node], advised: Sequence[str] = ()) -> str:
    """README.md of a dump: what to change, what runs uncompiled, what was compiled, which files
    tell of it, what is missing and why.

    Args:
        nodes: of the entries, by their ids.
        advised: what to change, as `depyf.advise.Advice.brief` gives it.
    """
    names = run.resume_names()
    lines = [
        _TITLE,
        "",
        "torch %s, Python %s" % (run.torch_version, run.python_version),
        "",
        _HOW_TO_READ,
        "",
    ]
    if any(entry.replaced for entry in run.entries()):
        lines += [_FROM_FILES, ""]
    if any(entry.compile_id.startswith("!") for entry in run.entries()):
        lines += [_BACKWARD_PASSES, ""]
    if run.error:
        what, where = words.of_exception(run.raised_at)
        lines += ["The block ended with %s: %s" % (what, _on_one_line(run.error)), ""]
        lines += [where, ""] * bool(where)
    if any(node.reset for node in nodes.values()):
        lines += [_RESET, ""]
    if advised:
        lines += ["## What to change first", "", *advised, "", _PATCHES, ""]
    lines += _what_runs(run, nodes)
    if run.unattributed:
        lines += ["## Compiles that made no code for a function", ""]
        for entry in run.unattributed:
            lines.extend(_overview_entry(entry, nodes.get(id(entry))))
    lines += _names_of_torch(run) + _kinds_of_files(run)
    for function in run.functions:
        node = nodes.get(id(function.entries[0])) if function.entries else None
        lines.append("## %s" % _code(function.title + (node.apart if node is not None else "")))
        lines.append("")
        where = function.where
        if function.is_resume:
            called = ", ".join(map(_code, names.get(function.global_name or "", ())))
            goes_on = _GOES_ON.search(function.entries[0]._goes_on) if function.entries else None
            where = "the rest of a function after a graph break, %s%s%s" % (
                where,
                ", " + goes_on.group(1) if goes_on is not None else "",
                ", called as " + called if called else "",
            )
        lines.append(where)
        if function.path:
            lines.append("all in one file: [%s](%s)" % (function.path, function.path))
        lines.append("")
        if function.given_up:
            said = words.from_then_on(function.given_up, len(function.entries))
            lines += [said[0].upper() + said[1:], ""]
        for entry in function.entries:
            lines.extend(_overview_entry(entry, nodes.get(id(entry)), function))
    for found in run.nonfinite:
        name = _code(found["function"]) if found["function"] else "the program"
        lines += ["## NaN and infinity in " + name, "", "```text", found["text"], "```", ""]
    if run.problems:
        lines += ["## What depyf could not do", ""]
        told = (
            "- %s: %s" % (problem.where, " ".join(problem.message.split()))
            for problem in run.problems
        )
        lines += dict.fromkeys(told)  # a write is tried again when the block is left
        lines.append("")
    if run.unavailable:
        lines += ["## What this torch does not offer", ""]
        lines += ["- %s: %s" % (name, reason) for name, reason in sorted(run.unavailable.items())]
        lines.append("")
    return "\n".join(lines)


def _names_of_torch(run: Run) -> List[str]:
    """A table of the names that are torch's, of those that the code of this run has."""
    rows = []
    sources = [entry.source for entry in run.entries()]
    for begin, name, told in _NAMES_OF_TORCH:
        # the search for a text is many times as fast as that for an expression
        matches = (name.search(one) for one in sources if begin in one)
        found = next((one for one in matches if one is not None), None)
        if found is not None:
            rows.append("| %s | %s |" % (_code(found.group()), told))
    if not rows:
        return []
    return ["## Names of torch's", "", "| name | what it is |", "| --- | --- |", *rows, ""]


_RUNS = """\
Each row is a compile, in the order of the first calls; what stands below it and further to the
right is called by its code, or goes on with it behind a graph break. ⤷ is a call, ▷ the rest of a
function, ✂ a graph break, at which Python runs that line itself, ↻ a compile of a function that was
compiled before."""


def _what_runs(run: Run, nodes: Dict[int, Node]) -> List[str]:
    """Which function calls which, as text; [] where that is not known."""
    known = [nodes[id(entry)] for entry in run.entries() if id(entry) in nodes]
    try:
        rows = flow.in_text(known)
    except Exception:
        pass_on()
        return []
    return ["## What runs", "", _RUNS, "", "```text", *rows, "```", ""] * bool(rows)


def _kinds_of_files(run: Run) -> List[str]:
    """A table of what the links below lead to, of those that this run has."""
    every = list(run.entries()) + list(run.unattributed)
    made = {one.stage for entry in every for one in entry.artifacts if one.path}
    rows = ["| %s | %s |" % pair for pair in _FILES if pair[0] in made]
    head = ["## Files of a graph", "", "| file | what is in it |", "| --- | --- |"]
    return [*head, *rows, ""] if rows else []


def _on_one_line(text: str) -> str:
    line = shown(" ".join(text.split()))
    return line if len(line) <= _ERROR else line[: _ERROR - 1] + "…"


def _code(text: str) -> str:
    return "`%s`" % text.replace("`", "'").replace("\n", " ")


def _why_no_code(entry: Entry, node: Optional[Node]) -> List[str]:
    """Why a compile came to nothing, and what its function's calls come to."""
    if node is None or node.failure is None:
        return ["- torch's words: %s" % " ".join((entry.failure or "").split())]
    said = node.failure
    if node.is_limit:  # the function's own section, or that of the code which calls it, has more
        gone = words.given_up(node.entry)
        return ["- " + words.from_then_on(gone, 1)]
    where = " at %s:%d" % (said["file"], said["line"]) if said["file"] and said["line"] else ""
    then = said["then"] or ("" if said["raised"] else "The function runs as plain Python.")
    return ["- no code%s: %s" % (where, said["why"])] + ["- " + then] * bool(then)


def _asked_for(cache: str, events: Sequence[Mapping[str, Any]], entry: Entry) -> str:
    """Of how many graphs the answers of a cache are, where there are several: a graph and its
    backward graph are asked for one by one, and an analysis that begins again asks again.
    """
    keys = [event.get("key") for event in events]
    if len(events) < 2 or not all(keys):
        return ""
    restarted = bool((entry.metrics or {}).get("restart_reasons"))
    again = ", as the analysis began again" if restarted else ""
    if len(set(keys)) == 1:
        return " (the same graph, asked for again%s)" % again
    backward = any(one.stage == "Backward_graph" for one in entry.artifacts)
    if cache == "fx_graph_cache" and backward and len(set(keys)) == 2:
        return ""  # each says of which it is
    return " (%d graphs%s)" % (len(set(keys)), again)


def _overview_entry(
    entry: Entry, node: Optional[Node], function: Optional[Function] = None
) -> List[str]:
    name = entry.name or entry.qualname or "no code"
    if node is not None and not entry.name and entry.qualname:
        name = node.called + node.beside
    reset = ", " + node.reset if node is not None and node.reset else ""
    lines = ["### %s, compile %s%s" % (_code(name), entry.compile_id, reset), ""]
    if not entry.name and node is not None and node.place[1] and not is_backward_pass(name):
        lines += ["%s:%d" % node.place, ""]
    if entry.path:
        state = "torch runs it from this file" if entry.replaced else "torch runs its own bytecode"
        if entry.failure and not entry.replaced:
            state = "neither it nor torch's bytecode runs"
        if entry.replaced_by:
            state = "torch runs the code of " + entry.replaced_by
        lines.append("- [%s](%s): %s, %s" % (entry.path, entry.path, entry.verdict, state))
    if entry.detail and not entry.failure:
        proof = "proof: " if entry.path else ""  # else it says why there is no code
        lines.append("- %s%s" % (proof, " ".join(entry.detail.split())))
    if entry.dropped:
        lines.append("- torch has dropped this entry: its code no longer runs")
    if entry.invalidated:
        lines.append("- torch has invalidated this entry")
    if entry.failure:
        lines += _why_no_code(entry, node)
    for reason in reasons_in_words(entry, node):
        why = "compiled again because" if entry.path else "an earlier compile does not fit"
        lines.append("- %s: %s" % (why, reason))
    for graph_break, why in zip(entry.breaks, breaks_in_words(entry, node)):
        lines.append(
            "- graph break at %s%s: %s"
            % (
                graph_break.location or "?",
                reached_from(graph_break, function, entry),
                why,
            )
        )
    if entry.runs_on:
        lines.append("- not compiled: " + words.runs_on_from(entry.runs_on))
    titles = {rest.name: rest.title for rest in entry._rests}
    lines += _continued(node) if node is not None else []
    for name in node.uncompiled if node is not None else ():
        title = " (%s)" % titles[name] if name in titles else ""
        said = node.no_compile_of(name) if node is not None else ""
        lines.append("- continues in %s%s: %s" % (_code(name), title, said))
    caches: Dict[str, List[Dict[str, Any]]] = {}
    for event in entry.cache:
        caches.setdefault(event["cache"], []).append(event)
    backward = any(one.stage == "Backward_graph" for one in entry.artifacts)
    for cache, events in caches.items():
        which = words.graphs_asked_for(events, backward)
        results = ", ".join(
            (of + ": " if of else "") + event["result"] for of, event in zip(which, events)
        )
        lines.append("- %s: %s%s" % (cache, results, _asked_for(cache, events, entry)))
    files: Dict[str, List[str]] = {}
    for artifact in sorted_artifacts(entry):
        if artifact.path:
            what = {"graph": "graphs", "kernel": "kernels"}.get(artifact.kind, "other texts")
            title = artifact.stage + (".%d" % artifact.index if artifact.index else "")
            files.setdefault(what, []).append("[%s](%s)" % (title, artifact.path))
    for what, links in files.items():
        lines.append("- %s: %s" % (what, ", ".join(links)))
    missing: Dict[str, List[str]] = {}
    for stage, reason in entry.missing.items():
        missing.setdefault(reason, []).append(stage)
    for reason, stages in missing.items():
        lines.append("- not there: %s; %s" % (", ".join(stages), reason))
    if entry.path or entry.guards:
        lines.append("- %d guards" % len(entry.guards))
    lines.append("")
    return lines


def _continued(node: Node) -> List[str]:
    """The rests of a function, behind its graph break, that torch compiled or tried to."""
    found: Dict[str, List[str]] = {}
    for child in node.children:
        made = str(child.entry.get("compile_id"))
        if child.failure is not None:
            made += ": " + words.outcome(child.failure)
        elif child.is_empty:
            made += ": nothing to compile"
        found.setdefault(_code(child.called), []).append(made)
    return [
        "- continues in %s (compile %s)" % (name, ", ".join(made)) for name, made in found.items()
    ]


class _Standalone:
    """What a `DumpWriter` needs of a session, for a run that was captured without one."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.log_bytecode = False

    def problem(self, where: str, message: str, detail: str = "") -> None:
        self.run.problems.append(Problem(where, message, detail))


def dump_run(run: Run, folder: str) -> str:
    """Writes the files of a captured run; see `Run.dump`."""
    writer = DumpWriter(folder)
    session = _Standalone(run)
    for entry in run.entries():
        for artifact in entry.artifacts:  # those of an earlier dump are read back and written again
            artifact._text, artifact.path = artifact.text, None
    writer.opened(session)
    for function in run.functions:
        for entry in function.entries:
            writer.entry_seen(session, function, entry)
    writer.closed(session)
    return writer.folder
