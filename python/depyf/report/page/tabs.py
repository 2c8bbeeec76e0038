"""The texts of one compile, each as a tab of the page; and its guards as one text."""

import os
import re
from typing import Iterable, List, Optional

from depyf import schema
from depyf.report import graphs, words
from depyf.report.overview import Node
from depyf.report.page.front import Row
from depyf.report.texts import Pool, visible
from depyf.report.words import short
from depyf.schema import Document
from depyf.trace.guard_text import state_in_words, state_of, tensor_in_words

#: stage -> what it is called on the page; their order is that of `depyf.schema`
TITLES = {
    "Captured_Graph": "Graph: captured",
    "BEFORE_PRE_GRAD": "Graph: before pre-grad passes",
    "AFTER_PRE_GRAD": "Graph: after pre-grad passes",
    "Joint_graph": "Graph: joint",
    "BEFORE_JOINT": "Graph: before joint passes",
    "AFTER_JOINT": "Graph: after joint passes",
    "Forward_graph": "Graph: forward (AOT)",
    "Backward_graph": "Graph: backward (AOT)",
    "BEFORE_POST_GRAD": "Graph: before post-grad passes",
    "AFTER_POST_GRAD": "Graph: after post-grad passes",
    "kernel": "Kernels",
}


def link_to(run: Document, path: Optional[str], folder: str) -> Optional[str]:
    """A file of the dump as a link that is relative to the page; None where it is not there."""
    if not path or os.path.basename(path) != path or not run.get("folder"):
        return None
    from urllib.parse import quote

    base = os.path.relpath(run["folder"], folder)
    relative = path if base == "." else os.path.join(base, path)
    return "/".join(quote(part) for part in relative.replace(os.sep, "/").split("/"))


def title_of_artifact(artifact: Document) -> str:
    """What a text that torch made is called on the page."""
    title = TITLES.get(artifact["stage"])
    if title is None:
        title = artifact["stage"].replace("_", " ")
        if artifact.get("kind") == "graph":
            title = "Graph: " + title
    if artifact.get("index"):
        title += " %d" % (artifact["index"] + 1)
    if artifact.get("note"):
        title += " (%s)" % artifact["note"]
    return title


#: the tensor that a guard is about
_TENSOR = re.compile(r"""__check_tensor\((.+?), ['"]""")
#: guards that each compile has, on how torch is set up
_AMBIENT = {
    "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None": (
        "no hooks for saved tensors are set"
    ),
    "___check_torch_function_mode_stack()": (
        "the modes that take over torch's functions are those of the compile"
    ),
    "utils_device.CURRENT_DEVICE == None": "no default device is set",
}


def _in_words(expression: str, text: str) -> str:
    """What a guard on a tensor, a type, an object or torch's state asks, for people; "" for guards
    that say it themselves.
    """
    if text in _AMBIENT:
        return _AMBIENT[text]
    state = state_in_words(state_of(text))
    if state:
        return "torch's settings: " + state
    said = tensor_in_words(expression)
    if said:
        name = _TENSOR.match(expression)
        return "%s: %s" % (short(name.group(1)), said) if name else said
    return words.identity_in_words(text)


def guard_lines(guards: Iterable[Document]) -> str:
    """Guards as lines of fields that a tab parts.

    The fields: kind, source, expression, torch's text where it differs, place, the same in words.
    """
    lines = []
    for guard in guards:
        text = str(guard.get("text") or "")
        expression = guard.get("expression")
        fields = (
            str(guard.get("kind") or ""),
            str(guard.get("source") or ""),
            str(expression or text),
            text if expression and expression != text else "",
            str(guard.get("comment") or ""),
            _in_words(str(expression or text), text),
        )
        line = "\t".join(fields)
        if line.count("\t") >= len(fields):
            line = "\t".join([field.replace("\t", " ") for field in fields])
        lines.append(line.replace("\r", " ").replace("\n", "⏎"))
    return "\n".join(lines)


_RANK_OF_STAGE = {stage: position for position, stage in enumerate(schema.STAGES)}


class _Texts:
    """The texts of one compile, each as a tab of the page, in the order in which they are added."""

    #: texts that the page holds however large they are
    _ALWAYS = ("source", "code", "Captured_Graph")

    def __init__(self, run: Document, pool: Pool, folder: str, budget: List[int]) -> None:
        self.rows: List[Row] = []
        self._run = run
        self._pool = pool
        self._folder = folder
        self._budget = budget  # characters that the page can still take, of all compiles

    def add(
        self,
        role: str,
        title: str,
        text: Optional[str],
        kind: str = "python",
        path: Optional[str] = None,
        torch_path: Optional[str] = None,
    ) -> Optional[Row]:
        """Adds a text, or a link to its file where the page cannot take it.

        Returns:
            Its row, None where there is neither text nor file.
        """
        number = None
        if text and (self._budget[0] >= len(text) or role in self._ALWAYS):
            self._budget[0] -= len(text)
            number = self._pool.add(text)
        link = link_to(self._run, path, self._folder)
        if number is None and not link:
            return None
        row = {
            "role": role,
            "title": title,
            "text": number,
            "link": link,
            "path": path,
            "torch": torch_path,
            "kind": kind,
        }
        self.rows.append(row)
        return row

    def add_artifact(self, artifact: Document) -> None:
        """Adds what torch made in one stage."""
        kind = {"graph": "graph", "kernel": "kernel", "json": "json"}.get(
            str(artifact.get("kind")), "text"
        )
        path, text = artifact.get("path"), artifact.get("text")
        if kind == "text" and path and path.endswith(".py"):
            kind = "python"
        role = artifact["stage"] + (".%d" % artifact["index"] if artifact.get("index") else "")
        row = self.add(
            role, title_of_artifact(artifact), text, kind, path, artifact.get("torch_path")
        )
        if row is None:
            return
        number = row["text"]
        if kind == "graph" and number is not None:
            structure = artifact["structure"]
            row["graph"] = self._pool.add_data(
                ("graph", number), lambda: graphs.graph(visible(text), structure)
            )
        if artifact.get("origins"):
            row["origins"] = artifact["origins"]


_SOURCE_TITLES = {"file": "Source", "lines": "Source (lines that torch names)"}


def texts_of(
    node: Node, source: str, origin: str, pool: Pool, folder: str, budget: List[int]
) -> List[Row]:
    """The texts of one compile, in the order in which the page shows them.

    Args:
        source, origin: of its function, as `source_of` says.
        pool, folder, budget: as for `view_of`.
    """
    entry = node.entry
    texts = _Texts(node.run, pool, folder, budget)
    texts.add("source", _SOURCE_TITLES.get(origin, "Source (decompiled)"), source)
    texts.add("code", "What Python runs now", entry.get("source"), path=entry.get("path"))
    artifacts = sorted(
        entry.get("artifacts") or (),
        key=lambda one: (_RANK_OF_STAGE.get(one["stage"], 99), one["stage"], one.get("index") or 0),
    )
    for artifact in artifacts:
        texts.add_artifact(artifact)
    own = (node.function or {}).get("source")
    if own and own != source:
        texts.add("resume", "Resume function (decompiled)", own)
    texts.add("before", "Bytecode before", entry.get("original_bytecode"), "bytecode")
    texts.add("after", "Bytecode after", entry.get("transformed_bytecode"), "bytecode")
    return texts.rows
