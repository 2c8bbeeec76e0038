"""Writes one run into a folder, while its block is open and when it is left.

Each file is written beside its place and then renamed, so that a reader never sees half of one. A
file that cannot be written becomes one warning and a row in the run's problems.
"""

import io
import json
import os
import time
from typing import Any, Dict, List, Optional, Tuple

from depyf import paths, report, sharing, summary
from depyf.compiling import is_python
from depyf.files import append_text, overwrite_text, require_writable, write_atomically
from depyf.interrupts import pass_on
from depyf.model import Artifact, Entry, Function, Run
from depyf.report.base import PAGE
from depyf.schema import MANIFEST
from depyf.torch import compat
from depyf.torch.debug import remember_graph
from depyf.torch.dump.folder import (
    OFTEN,
    OVERVIEW,
    ROOM_FOR_WHY,
    being_written,
    forget_removed,
    is_ours,
    locked,
    manifest_of,
    process_lives,
    shared_of,
    take,
    used_lock,
)
from depyf.torch.dump.graphs import (
    DEBUG_NAMES,
    as_comment,
    changed_inputs,
    entry_prefix,
    graph_as_python,
    graph_table,
    stage_file,
)
from depyf.torch.dump.readme import overview
from depyf.torch.dump.told import Told
from depyf.torch.fullcode import Renderer
from depyf.torch.journal import Journal
from depyf.trace.names import safe_name

#: the captured graphs, each as a table
TABLES = "Captured_Graph.tables.txt"
#: bytes of files and texts after which a dump takes nothing more, unless the program says otherwise
DUMP_LIMIT = 1 << 30


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


#: why a file of a dump is missing that was written
_REMOVED = "removed while the block was open"


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
        with used_lock, locked(self.folder):
            shared = shared_of(self.folder)
            if shared is not None and not shared.journals and not os.listdir(self.folder):
                shared.forget()
            if shared is None:
                forget_removed()
                earlier = [name for name in os.listdir(self.folder) if is_ours(self.folder, name)]
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
                shared = take(self.folder)
                if os.path.lexists(os.path.join(self.folder, OVERVIEW)):
                    shared.overview = "depyf-README"
                self.write(MANIFEST, json.dumps(being_written(shared.begun)) + ROOM_FOR_WHY * " ")
            shared.blocks += 1
            self._shared, self._block = shared, shared.blocks
        return True

    @staticmethod
    def _in_use(folder: str) -> bool:
        # another process, such as another rank, that is dumping there now
        manifest = manifest_of(folder)
        try:
            return manifest.get("open") is True and process_lives(int(manifest.get("process", 0)))
        except (ValueError, TypeError):
            pass_on()
            return False

    @staticmethod
    def _begun(folder: str) -> float:
        # when the dump there was begun; 0.0 where that is not told
        try:
            return float(manifest_of(folder).get("begun", 0))
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
            if not OFTEN.match(name):
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
            document = being_written(
                self._shared.begun,
                earlier=self._shared.earlier(outermost),
                journal=journals[outermost],
            )
            self.write(MANIFEST, json.dumps(document) + " " * ROOM_FOR_WHY)

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
        self._restore(session)
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

    def _restore(self, session: Any) -> None:
        """Writes again what the program has removed of the dump, where the text is known, and says
        what is gone. A reader of the manifest finds no file that is not there.
        """
        gone: List[str] = []
        for entry in session.run.entries():
            if entry.path and not self._holds(entry.path):
                self._write_source(entry)
            for artifact in entry.artifacts:
                if artifact.path and not self._holds(artifact.path):
                    gone.append(artifact.path)
                    artifact.path = None
        if gone:
            session.run._unwritten.update(dict.fromkeys(gone, _REMOVED))
            more = " and %d more" % (len(gone) - 1) if len(gone) > 1 else ""
            session.problem("writing the dump", "%s%s: %s" % (gone[0], more, _REMOVED))

    def _write_source(self, entry: Entry) -> None:
        # the running code names the file, so it is what a debugger reads
        path = os.path.join(self.folder, entry.path or "")
        if entry.code_path is not None and paths.absolute(entry.code_path) == path:
            self.write(entry.path or "", entry.source)
        else:
            self._write_transformed(entry)

    def _holds(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self.folder, name))

    def _told(self, run: Run) -> Told:
        return Told(run, self._page and not self._shared.earlier(self._block))

    def _write_run(self, run: Run, told: Told) -> None:
        self._write_manifest(run, told)
        if self._page:
            self._write_page(run, told)

    def _write_manifest(self, run: Run, told: Told) -> None:
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
        document = being_written(
            self._shared.begun,
            earlier=self._shared.earlier(self._block),
            journal=journal,
            stopped=summary.unwritten(run._unwritten)[: ROOM_FOR_WHY // 2],
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

    def _write_page(self, run: Run, told: Told) -> None:
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
            and paths.absolute(entry.code_path) == path
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
            content = graph_as_python(text, heading + changed_inputs(artifact))
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
