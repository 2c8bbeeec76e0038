"""Reading what a dump's folder holds: the document, with that of earlier blocks, and texts.

All readers of dumps go through here: summaries, the page, `depyf diff`.
"""

import errno
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

from depyf import paths, sharing
from depyf.files import FILE_LIMIT, MANIFEST_LIMIT, parse_json, read_lines, read_text
from depyf.schema import MANIFEST, SCHEMA, SCHEMA_VERSION, Document
from depyf.trace.guard_text import guards_of_tree_text


class DumpError(Exception):
    """A folder holds no dump that can be read; the message says what was expected."""


def load(source: Any) -> Document:
    """The document of one dump, as in docs/run_schema.md, with `folder`, the folder of its files.

    Args:
        source: a folder that `prepare_debug` wrote, or its depyf.json.
    Raises:
        DumpError: there is no dump, it is incomplete, or a later depyf wrote it.
    """
    path = os.fspath(source)
    if os.path.isdir(path):
        path = os.path.join(path, MANIFEST)
    try:
        document = parse_json(read_text(path, MANIFEST_LIMIT))
    except OSError as error:
        raise DumpError(
            "%s: %s; expected a folder that depyf.prepare_debug or `depyf run` wrote"
            % (path, error.strerror or error)
        )
    except ValueError as error:
        raise DumpError("%s is not a JSON document: %s" % (path, error))
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise DumpError('%s: expected a document with "schema": "%s"' % (path, SCHEMA))
    version = document.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise DumpError(
            "%s has schema_version %s and this depyf reads %d; install a later depyf"
            % (path, version, SCHEMA_VERSION)
        )
    folder = os.path.dirname(paths.absolute(path))
    if "functions" not in document:
        _add_journal(document, folder)
    if "functions" not in document:
        why = "the program (process %s) was ended before its block, or is still running"
        raise DumpError(
            "%s: the dump is incomplete, and holds no compile that has ended: %s%s"
            % (path, document.get("stopped") or why % document.get("process"), _files_of(folder))
        )
    sharing.unpack(document)
    document["folder"] = folder
    listed = document.get("earlier")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    for name in dict.fromkeys(names):
        if name != os.path.basename(path):
            _add_earlier(document, name)
    return document


def _files_of(folder: str) -> str:
    """What a dump without a document has, as the end of a sentence."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    found = [one for one in names if re.match(r"__(transformed_code|compiled_fn|compile)_\d", one)]
    if not found:
        return ""
    told = "; %d file%s of a compile that had begun %s there: %s"
    listed = ", ".join(found[:3]) + ", …" * (len(found) > 3)
    one = len(found) == 1
    return told % (len(found), "" if one else "s", "is" if one else "are", listed)


def _add_journal(document: Document, folder: str) -> None:
    # what an open block has written so far, see depyf.torch.journal
    functions: Dict[int, Document] = {}
    entries: Dict[int, Tuple[Optional[int], Document]] = {}
    head: Document = {}
    trees: Dict[int, str] = {}
    for text in _lines(folder, document.get("journal")):
        try:
            found = parse_json(text)
            row = dict(found["row"])
            if "entry" in found:
                index = int(found["entry"])
                entries[index] = found["function"], row
                trees[index] = str(found.get("guard_tree", ""))
            elif "function" in found:
                functions[int(found["function"])] = row
            else:
                head = row
        except (ValueError, KeyError, TypeError):
            continue  # its writer was killed
    if not head:
        return
    for index, tree in trees.items():
        if tree and not entries[index][1].get("guards"):
            entries[index][1]["guards"] = [one.to_json() for one in guards_of_tree_text(tree)]
    for key, value in head.items():
        document.setdefault(key, value)
    document["functions"] = [dict(row, entries=[]) for row in functions.values()]
    document["unattributed"] = []
    places = dict(zip(functions, document["functions"]))
    for number, row in entries.values():
        function = places.get(number) if isinstance(number, int) else None
        (function["entries"] if function else document["unattributed"]).append(row)


def _add_earlier(document: Document, name: Any) -> None:
    # another block of the program, which wrote to the folder before
    try:
        earlier = parse_json(_read(document["folder"], name, MANIFEST_LIMIT))
        sharing.unpack(earlier)
        _leave_out_copies(earlier, document)
        joined: Dict[str, List[Any]] = {
            key: earlier[key] + document.get(key, [])
            for key in ("functions", "unattributed", "problems")
        }
        for key in ("profiles", "nonfinite", "cudagraph_skips"):
            joined[key] = earlier.get(key, []) + document.get(key, [])
        document.update(joined)
        if not document.get("error"):
            document["error"] = earlier.get("error") or ""
            document["raised_at"] = earlier.get("raised_at") or {}
        document["started"] = min(earlier["started"], document["started"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # a folder from which files were deleted, or that is no dump


def _leave_out_copies(earlier: Document, document: Document) -> None:
    """Blocks that are open at one time, such as those of threads, see the same compiles: each is
    kept once, where the code of it runs, or else in `document`, which was written later.
    """
    later = {}
    for one in _entry_lists(document):
        for entry in one:
            later[_compile_of(entry)] = one, entry
    for one in _entry_lists(earlier):
        for entry in list(one):
            found = later.get(_compile_of(entry)) if _compile_of(entry) else None
            if found is None:
                continue
            if entry.get("replaced"):
                found[0].remove(found[1])
            else:
                one.remove(entry)
    for each in (earlier, document):
        each["functions"] = [one for one in each["functions"] if one["entries"]]


def _entry_lists(document: Document) -> List[List[Document]]:
    return [function["entries"] for function in document["functions"]] + [document["unattributed"]]


def _compile_of(entry: Document) -> Optional[Tuple[str, str]]:
    # when it began tells it from one of the same number after torch._dynamo.reset()
    metrics = entry.get("metrics") or {}
    began = metrics.get("start_time_us") or metrics.get("start_time")
    return (str(entry.get("compile_id")), str(began)) if began else None


def text_of(folder: str, name: Any) -> str:
    """The text of one file of a dump; empty where it has none, and why where it is too large."""
    try:
        return _read(folder, name, FILE_LIMIT)
    except ValueError:
        return ""
    except OSError as error:
        return "not shown: %s\n" % error.strerror if error.errno == errno.EFBIG else ""


def _lines(folder: str, name: Any) -> Iterator[str]:
    # as far as they can be read; a line that is longer than any file of a dump ends them
    try:
        yield from read_lines(_inside(folder, name), FILE_LIMIT, MANIFEST_LIMIT)
    except (OSError, ValueError):
        return


def _read(folder: str, name: Any, limit: int) -> str:
    return read_text(_inside(folder, name), limit)


def _inside(folder: str, name: Any) -> str:
    # the name comes from the dump, which may be anybody's: nothing outside the folder is read
    if not isinstance(name, str) or not name or os.path.basename(name) != name or "\0" in name:
        raise ValueError("%r is not a file of a dump" % (name,))
    return os.path.join(folder, name)
