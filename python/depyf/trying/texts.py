"""Texts of a program's files that differ from those on the disk."""

import importlib.machinery
import io
import json
import linecache
import os
import tokenize
from typing import Any, Dict, Mapping


def _encoded(text: str) -> bytes:
    """A text in the encoding that its first lines declare."""
    head = io.BytesIO(text.encode("ascii", "replace"))
    encoding, _ = tokenize.detect_encoding(head.readline)
    return text.encode(encoding)


def write_texts(path: str, texts: Mapping[str, str]) -> None:
    """Writes texts, by the absolute path of their files, for a process that `install` them."""
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(dict(texts), stream)


def install(path: str) -> Dict[str, str]:
    """Has this process import texts in place of those of files, and returns them.

    The files' own bytecode caches are neither read nor written.

    Args:
        path: what `write_texts` wrote.
    """
    with open(path, encoding="utf-8") as stream:
        texts: Dict[str, str] = json.load(stream)
    loader: Any = importlib.machinery.SourceFileLoader
    get_data, path_stats = loader.get_data, loader.path_stats

    def data_of(self: Any, name: str) -> bytes:
        text = texts.get(os.path.abspath(name))
        return _encoded(text) if text is not None else get_data(self, name)

    def stats_of(self: Any, name: str) -> Any:
        if os.path.abspath(name) in texts:
            raise OSError("the text is not that of the file")  # so no cache of it counts
        return path_stats(self, name)

    loader.get_data, loader.path_stats = data_of, stats_of
    for name, text in texts.items():
        # without a time, which linecache takes for a file that it cannot check
        linecache.cache[name] = len(text), None, io.StringIO(text).readlines(), name
    return texts
