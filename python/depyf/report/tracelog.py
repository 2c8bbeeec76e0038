"""A run from a log that TORCH_TRACE wrote, perhaps on a machine where depyf was not: without source
and decompiled code.

The records are those that depyf reads from torch while a program runs, so the same class joins
them.
"""

import re
from typing import Any, Callable, Dict, Iterator, List, Optional, TextIO, Tuple

from depyf.files import parse_json
from depyf.model import Entry
from depyf.report.base import ReportError
from depyf.report.words import split_location
from depyf.schema import Document
from depyf.trace.frames import parse_frame
from depyf.trace.guard_text import guards_of_tree_text, name_whole_paths
from depyf.trace.names import RESUME_CODE, resumed
from depyf.trace.records import Records
from depyf.trace.vocabulary import SKIPPED, read_mark, record_kind

#: characters of one record, and of all of a log, that are read; what a record takes beside its text
PAYLOAD_LIMIT, LOG_LIMIT, _RECORD_COST = 1 << 26, 1 << 30, 512
_RECORD = re.compile(
    r"^(?:\[rank(?P<rank>\d+)\]:)?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ \S+\] (?P<metadata>\{.*)$"
)


def read(path: str) -> Document:
    """The run of a log as a document of `depyf.report.document`.

    Raises:
        ReportError: the file is no such log.
    """
    session = _LogRecords()
    count, kept = 0, 0
    with open(path, encoding="utf-8", errors="replace", newline="\n") as stream:
        for metadata, payload, rank in _records(stream, session.problem):
            count += 1
            session.read(metadata, payload, rank)
            kept += len(payload or "") + _RECORD_COST
            if kept > LOG_LIMIT:
                session.problem(
                    "reading the log",
                    "it holds more than %d MiB; the rest is not read" % (LOG_LIMIT >> 20),
                )
                break
    if not count:
        raise ReportError(
            "%s is neither a dump nor a log of TORCH_TRACE; such a log is made by "
            "TORCH_TRACE=folder python script.py" % path
        )
    return session.document()


def _lines(stream: TextIO, problem: Callable[[str, str], None]) -> Iterator[str]:
    """The lines of a log; one that is longer than a record may be is cut."""
    whole = True
    while True:
        line = stream.readline(PAYLOAD_LIMIT)
        if not line:
            return
        if whole:
            yield line
        elif line:
            problem("reading the log", "a line is longer than %d MiB" % (PAYLOAD_LIMIT >> 20))
        whole = line.endswith("\n")


def _records(
    stream: TextIO, problem: Callable[[str, str], None]
) -> Iterator[Tuple[Dict[str, Any], Optional[str], Optional[str]]]:
    metadata: Optional[Dict[str, Any]] = None
    rank: Optional[str] = None
    lines: List[str] = []
    size = 0
    for line in _lines(stream, problem):
        match = _RECORD.match(line)
        if match is None:
            if metadata is not None and line.startswith("\t"):
                size += len(line)
                if size <= PAYLOAD_LIMIT:
                    lines.append(line[1:])
                else:
                    problem(
                        "reading the log",
                        "a record is larger than %d MiB and is truncated" % (PAYLOAD_LIMIT >> 20),
                    )
            continue
        if metadata is not None:
            yield metadata, "".join(lines).rstrip("\n") if lines else None, rank
        rank, lines, size = match.group("rank"), [], 0
        try:
            metadata = parse_json(match.group("metadata"))
        except ValueError:
            metadata = None
        if not isinstance(metadata, dict):
            metadata = None
    if metadata is not None:
        yield metadata, "".join(lines).rstrip("\n") if lines else None, rank


class _LogRecords(Records):
    """Records that come from a file."""

    def __init__(self) -> None:
        super().__init__()
        self.open = True
        self.names: Dict[int, str] = {}
        self.rank: Optional[int] = None
        self.order: List[Entry] = []
        self.problems: Dict[Tuple[str, str], str] = {}
        self.run.torch_version = self.run.python_version = self.run.program = ""
        self.run.started = 0.0

    def interned_names(self) -> Dict[int, str]:
        return self.names

    def problem(self, where: str, message: str, detail: str = "") -> None:
        self.problems.setdefault((where, message), detail)

    def read(self, metadata: Dict[str, Any], payload: Optional[str], rank: Optional[str]) -> None:
        """One record; what cannot be read becomes a problem."""
        kind = record_kind(metadata)
        if rank is not None:
            self.rank = int(rank)
        try:
            if kind == "str" and isinstance(metadata["str"], list):
                self.names[metadata["str"][1]] = str(metadata["str"][0])
                return
            frame, number = metadata.get("frame_id"), metadata.get("frame_compile_id")
            autograd = metadata.get("compiled_autograd_id")
            if kind == "artifact" and metadata[kind].get("name") == "torch_version" and payload:
                self.run.torch_version = str(parse_json(payload).get("pytorch_version") or "")
                return
            if frame is None and autograd is None:
                return
            compile_id = "%s/%s" % (frame, number) if frame is not None else "!%s" % autograd
            if kind == "dynamo_start" and not metadata.get("attempt"):
                known = self._by_id.get(compile_id)
                if known is not None and known.finished:  # after torch._dynamo.reset()
                    del self._by_id[compile_id]
            if kind == "chromium_event":
                mark = read_mark(payload)
                if mark is not None:
                    self.on_event(mark, None, compile_id)
                return
            if kind in SKIPPED:
                return
            self.on_trace(
                kind, metadata, payload, None, compile_id, int(metadata.get("attempt") or 0)
            )
            entry = self._by_id.get(compile_id)
            if entry is not None and entry not in self.order:
                self.order.append(entry)
        except (
            Exception
        ) as error:  # a log may be cut off, or written by a torch that is not known yet
            self.problem(
                "reading the record %s" % (kind or "?"), "%s: %s" % (type(error).__name__, error)
            )

    def document(self) -> Document:
        functions: Dict[Any, Document] = {}
        alone: List[Document] = []
        for entry in self.order:
            if not entry.guards and entry.guard_tree:
                entry.guards = guards_of_tree_text(entry.guard_tree)
            metrics = entry.metrics
            name_whole_paths(entry.guards, [str(metrics.get("co_filename") or "")])
            name, filename, line = (
                metrics.get("co_name"),
                metrics.get("co_filename"),
                metrics.get("co_firstlineno"),
            )
            if not name and entry.user_stack:
                frame = parse_frame(entry.user_stack[-1])
                if frame is not None:
                    filename, line, name = frame[:3]
            self.run.python_version = (
                self.run.python_version or str(metrics.get("python_version") or "").split(" ")[0]
            )
            self.run.started = self.run.started or metrics.get("start_time") or 0.0
            row = entry.to_json()
            row["artifacts"] = [
                dict(artifact.to_json(), text=artifact.text) for artifact in entry.artifacts
            ]
            if not name:
                alone.append(row)
                continue
            key = (entry.compile_id.split("/")[0], name, filename, line)
            function = functions.get(key)
            if function is None:
                function = functions[key] = {
                    "name": name,
                    "filename": filename or "",
                    "firstlineno": line or 0,
                    "source": "",
                    "source_origin": "",
                    "is_resume": bool(RESUME_CODE.match(name)),
                    "global_name": "%s of frame %s" % (name, key[0]),
                    "path": None,
                    "entries": [],
                }
            function["entries"].append(row)
        found = list(functions.values())
        _link(found)
        document = self.run.to_json()
        document.update(functions=found, unattributed=alone, rank=self.rank)
        document["problems"] = [
            {"where": where, "message": message, "detail": detail}
            for (where, message), detail in self.problems.items()
        ]
        return document


def _link(functions: List[Document]) -> None:
    """Which resume functions a compile calls: those of its file and function that begin at the line
    of one of its breaks.
    """
    by_place: Dict[Any, List[Document]] = {}
    for function in functions:
        if function["is_resume"]:
            name, line = resumed(function["name"])
            by_place.setdefault((function["filename"], name, line), []).append(function)
    for function in functions:
        name = resumed(function["name"])[0] or function["name"]
        for row in function["entries"]:
            for found in row["breaks"]:
                filename, line = split_location(found["location"])
                for other in by_place.get((filename, name, line), ()):
                    if other is not function and other["global_name"] not in row["calls"]:
                        row["calls"].append(other["global_name"])
