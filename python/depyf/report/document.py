"""A run as plain data, wherever it comes from: the JSON of docs/run_schema.md with the text of each
artifact in it.
"""

import io
import os
import re
from typing import Any, Iterator, List

from depyf import dumped, paths
from depyf.report import tracelog
from depyf.report.base import MARK, PAGE, ReportError
from depyf.schema import MANIFEST, Document
from depyf.summary import rank_logs

_RANK = re.compile(r"rank[_-]?(\d+)", re.IGNORECASE)


def load_all(source: Any) -> List[Document]:
    """The runs of a source: one, or those of the ranks of a distributed job's folder."""
    if not hasattr(source, "to_json"):
        folder = os.fspath(source)
        if os.path.isdir(folder) and not os.path.exists(os.path.join(folder, MANIFEST)):
            ranks = [
                name
                for name in os.listdir(folder)
                if _RANK.match(name) and os.path.isdir(os.path.join(folder, name))
            ]
            if ranks:
                return [fit(load(os.path.join(folder, name))) for name in sorted(ranks)]
            logs = rank_logs(folder)
            if logs:
                return [fit(load(path)) for path in logs.values()]
    return [fit(load(source))]


def load(source: Any) -> Document:
    """Reads a run from a `Run`, the folder of a dump, its depyf.json, or a log of TORCH_TRACE.

    Returns:
        The run as documented in docs/run_schema.md; each artifact has a `text`, and the run
        `label`, `folder` (where its files are, or None) and `place` (where its page goes, or None).
    Raises:
        ReportError: there is no run.
    """
    if hasattr(source, "to_json"):
        return _of_run(source)
    source = os.fspath(source)
    if os.path.isdir(source):
        if os.path.exists(os.path.join(source, MANIFEST)):
            return _of_folder(source)
        logs = sorted(
            name for name in os.listdir(source) if name.startswith("dedicated_log_torch_trace")
        )
        if len(logs) == 1:
            return _of_log(os.path.join(source, logs[0]))
        raise ReportError(
            "%s holds no dump (no %s)%s"
            % (
                source,
                MANIFEST,
                "; it holds %d logs of TORCH_TRACE: name them one by one" % len(logs)
                if logs
                else "; depyf.prepare_debug(folder) around the first calls, or `depyf run`, makes "
                "one",
            )
        )
    if os.path.basename(source) == MANIFEST:
        return _of_folder(os.path.dirname(source) or ".")
    if os.path.isfile(source):
        return _of_log(source)
    if os.path.exists(source):
        raise ReportError("%s is neither a dump folder nor a log of TORCH_TRACE" % source)
    raise ReportError("%s does not exist" % source)


def page_of(folder: str) -> str:
    """Where the page of a folder goes: index.html, unless somebody else's file has that name."""
    path = os.path.join(folder, PAGE)
    try:
        with io.open(path, encoding="utf-8", errors="replace") as stream:
            ours = MARK in stream.read(4096)
    except OSError:
        ours = True
    return path if ours else os.path.join(folder, "depyf.html")


def _of_run(run: Any) -> Document:
    document = run.to_json()
    for entry, mirror in zip(run.entries(), entries(document)):
        for artifact, row in zip(entry.artifacts, mirror["artifacts"]):
            row["text"] = artifact.text
    document["folder"] = run.folder
    document["label"] = os.path.basename(run.folder) if run.folder else ""
    document["place"] = page_of(run.folder) if run.folder else None
    return document


def _of_folder(folder: str) -> Document:
    try:
        document = dumped.load(folder)
    except dumped.DumpError as error:
        raise ReportError(str(error))
    for entry in entries(document):
        for artifact in _dicts(entry.get("artifacts")):
            artifact["text"] = dumped.text_of(folder, artifact.get("path"))
    document["label"] = os.path.basename(document["folder"])
    document["place"] = page_of(document["folder"])
    return document


def _of_log(path: str) -> Document:
    document = tracelog.read(path)
    document["folder"] = None
    document["label"] = os.path.basename(path)
    document["place"] = paths.absolute(path) + ".html"
    return document


#: the fields that the page reads, with what stands for one that is missing or of another type: a
#: dump may be an older depyf's, or have been tampered with
_FUNCTION = {
    "name": "?",
    "qualname": "",
    "through": "",
    "filename": "",
    "firstlineno": 0,
    "source": "",
    "source_origin": "",
    "is_resume": False,
    "global_name": "",
    "path": "",
    "given_up": {},
}
_ENTRY = {
    "compile_id": "?",
    "name": "",
    "qualname": "",
    "through": "",
    "graph_name": "",
    "path": "",
    "source": "",
    "verdict": "refused",
    "detail": "",
    "replaced": False,
    "replaced_by": "",
    "invalidated": False,
    "dropped": False,
    "resets": 0,
    "failure": "",
    "failure_operation": "",
    "failure_stack": [""],
    "original_bytecode": "",
    "transformed_bytecode": "",
    "calls": [""],
    "aliases": {},
    "rests_called": {},
    "resumes": "",
    "runs_on": 0,
    "reasons": [""],
    "user_stack": [""],
    "missing": {},
    "metrics": {},
    "backward_metrics": {},
    "events": [[]],
    "line_map": [[]],
    "guards": [{"kind": "", "source": "", "text": "", "expression": "", "comment": ""}],
    "breaks": [
        {
            "reason": "",
            "text": "",
            "explanation": "",
            "hints": [""],
            "location": "",
            "url": "",
            "user_stack": [""],
        }
    ],
    "artifacts": [
        {
            "stage": "?",
            "kind": "text",
            "index": 0,
            "path": "",
            "torch_path": "",
            "note": "",
            "text": "",
            "origins": {},
            "structure": {},
        }
    ],
    "cache": [{"cache": "", "result": "", "key": "", "cache_bypass_reason": ""}],
    "symbols": [
        {
            "symbol": "",
            "source": "",
            "val": "",
            "vr": "",
            "user_stack": [{"filename": "", "line": 0, "name": "", "loc": ""}],
        }
    ],
    "conditions": [[""]],
}

_RAISED = {"by": "", "file": "", "line": 0, "function": "", "program": "", "compile_id": ""}
_TIMING = {"median": 0.0, "low": 0.0, "high": 0.0}
_MEMORY = {"peak": 0.0, "kept": 0.0, "device": ""}
_NONFINITE = [{"function": "", "found": False, "text": ""}]
_OPERATORS = [{"name": "", "calls": 0, "seconds": 0.0, "device": "", "lines": [""]}]
_PROFILE = {
    "function": "",
    "calls": 0,
    "whole": 0.0,
    "parts": {},
    "entries": [
        {
            "compile_id": "?",
            "name": "",
            "place": "",
            "calls": 0,
            "parts": {},
            "guard_seconds": 0.0,
            "saved": {"tensors": 0.0, "computed_bytes": 0.0, "input_bytes": 0.0, "unknown": 0.0},
            "operators": _OPERATORS,
        }
    ],
    "operators": _OPERATORS,
    "compiled": _TIMING,
    "eager": _TIMING,
    "memory": {"compiled": _MEMORY, "eager": _MEMORY},
    "cudagraph_skips": [""],
    "device": {"busy": 0.0, "kernels": 0, "device": "", "graphs": 0},
}


_TEXTS = frozenset((str,))


def _fit(value: Any, shape: Any) -> Any:
    """`value` in the form of `shape`: each field of the type of its default, each element of a list
    of the type of the first.
    """
    if isinstance(shape, dict) and shape:
        given = value if isinstance(value, dict) else {}
        fitted = {}
        for key, default in shape.items():
            found = given.get(key)
            # nearly all are texts, or lists and flags that are empty
            kind = type(found)
            if kind is type(default) and (kind is str or kind is bool):
                fitted[key] = found
            elif kind is list and not found and type(default) is list:
                fitted[key] = []
            else:
                fitted[key] = _fit(found, default)
        return fitted
    if isinstance(shape, dict):
        return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}
    if isinstance(shape, list):
        if not isinstance(value, (list, tuple)):
            return []
        if not shape or type(shape[0]) is str and _TEXTS.issuperset(map(type, value)):
            return list(value)
        if shape[0] == []:
            return [list(item) if isinstance(item, (list, tuple)) else [] for item in value]
        return [_fit(item, shape[0]) for item in value]
    if isinstance(shape, bool):
        return value is True
    if isinstance(shape, float):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number and 0 <= value < 1e18 else 0.0
    if isinstance(shape, int):
        return (
            value
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
            else 0
        )
    if value is None:
        return shape
    return value if isinstance(value, str) else str(value)


def _rows(value: List[Any], width: int) -> List[Any]:
    # a dump's rows of numbers, the first of an event being its name
    found = []
    for row in value:
        for item in row[width == 3 : width]:
            if not (isinstance(item, (int, float)) and abs(item) < 1e18):
                break
        else:
            found += [row] if len(row) >= width else []
    return found


def _fit_entry(entry: Document) -> Document:
    found = _fit(entry, _ENTRY)
    found["events"] = _rows(found["events"], 3)
    found["line_map"] = _rows(found["line_map"], 2)
    return found


def _fit_profile(profile: Document) -> Document:
    found = _fit(profile, _PROFILE)
    for one in [found, *found["entries"]]:
        one["parts"] = {name: _fit(seconds, 0.0) for name, seconds in one["parts"].items()}
    return found


def fit(document: Document) -> Document:
    """A run of which every field that the page reads is there and has its type."""
    functions = []
    for function in _dicts(document.get("functions")):
        row = _fit(function, _FUNCTION)
        row["entries"] = [_fit_entry(entry) for entry in _dicts(function.get("entries"))]
        functions.append(row)
    fitted = {
        "functions": functions,
        "unattributed": [_fit_entry(entry) for entry in _dicts(document.get("unattributed"))],
        "profiles": [_fit_profile(one) for one in _dicts(document.get("profiles"))],
        "nonfinite": _fit(document.get("nonfinite"), _NONFINITE),
        "cudagraph_skips": _fit(document.get("cudagraph_skips"), [""]),
        "error": _fit(document.get("error"), ""),
        "raised_at": _fit(document.get("raised_at"), _RAISED),
        "problems": _fit(document.get("problems"), [{"where": "", "message": "", "detail": ""}]),
        "unavailable": {
            name: str(reason) for name, reason in _fit(document.get("unavailable"), {}).items()
        },
        "torch_version": _fit(document.get("torch_version"), ""),
        "python_version": _fit(document.get("python_version"), ""),
        "program": _fit(document.get("program"), ""),
        "open": document.get("open") is True,
        "process": _fit(document.get("process"), 0),
    }
    for key in ("started", "finished", "rank", "label", "folder", "place"):
        fitted[key] = document.get(key)
    return fitted


def _dicts(value: Any) -> List[Document]:
    return (
        [one for one in value if isinstance(one, dict)] if isinstance(value, (list, tuple)) else []
    )


def entries(document: Document) -> Iterator[Document]:
    """Every entry of a run, those of functions first."""
    for function in _dicts(document.get("functions")):
        for entry in _dicts(function.get("entries")):
            yield entry
    for entry in _dicts(document.get("unattributed")):
        yield entry


def catch_up(document: Document, run: Any) -> None:
    """Takes into a run's document, which `load_all` made, what its writer learns while it writes
    the dump: the files of the functions, and what failed.
    """
    for function, row in zip(run.functions, document["functions"]):
        row["path"] = function.path or ""
    last = fit(run.to_json(with_entries=False))
    document.update((key, last[key]) for key in ("problems", "unavailable"))


def as_ranks(runs: List[Document]) -> List[Document]:
    """Numbers the runs of one job: by the rank in the folder's name, else by their order."""
    numbered = []
    for position, run in enumerate(runs):
        match = _RANK.search(run["label"])
        known = run.get("rank")
        rank = known if isinstance(known, int) else int(match.group(1)) if match else position
        numbered.append((rank, position, run))
    numbered.sort(key=lambda row: row[:2])
    if len({row[0] for row in numbered}) < len(numbered):
        numbered = [(position, position, row[2]) for position, row in enumerate(numbered)]
    for rank, _, run in numbered:
        run["rank"] = rank
    return [row[2] for row in numbered]
