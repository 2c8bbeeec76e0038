"""What is said while a compile takes long."""

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Optional, TextIO, Tuple

from depyf.terminal import parse_place, shown
from depyf.trace.names import resume_title

if TYPE_CHECKING:
    from depyf.model import Entry, Function, Run

#: how far a compile is, by the last stage that torch told of; torch's names say little to a reader
_SO_FAR = {
    "": "Dynamo traces it",
    "Captured_Graph": "the graph is captured",
    "BEFORE_PRE_GRAD": "the graph is captured",
    "AFTER_PRE_GRAD": "AOTAutograd traces the captured graph",
    "Joint_graph": "the joint forward and backward graph is made",
    "BEFORE_JOINT": "the joint forward and backward graph is made",
    "AFTER_JOINT": "the joint forward and backward graph is made",
    "Forward_graph": "the forward graph is made",
    "Backward_graph": "the backward graph is made",
    "BEFORE_POST_GRAD": "Inductor lowers the graph",
    "AFTER_POST_GRAD": "Inductor lowers the graph",
    "ir_pre_fusion": "Inductor fuses operations",
    "ir_post_fusion": "Inductor writes the kernels",
    "kernel": "the kernels are written",
}


def _title(function: "Function", entry: "Entry") -> str:
    whole = function.qualname, function.firstlineno
    return function.title_of(entry) or resume_title(function.name, *whole) or function.title


class Progress:
    """Says on standard error what is being compiled, while that takes long; on a terminal also
    that PyTorch is being imported.
    """

    def __init__(self, stream: TextIO, patience: float = 2.0) -> None:
        self.run: Optional["Run"] = None  # set when there is one
        self.imports = False  # whether the program has yet to import torch
        self.profile: Any = None  # what watches where time goes, where it was asked for
        self._stream = stream
        self._patience = patience
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="depyf progress", daemon=True)
        self._shown = False
        try:
            self._terminal = bool(stream.isatty())
        except Exception:
            self._terminal = False

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=5)
        self._clear()

    def imported(self) -> None:
        """The program has torch now: the line that said so is gone before the program goes on."""
        self.imports = False
        self._clear()

    def _clear(self) -> None:
        if self._shown and self._terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()
        self._shown = False

    def _watch(self) -> None:
        first_seen: Dict[int, float] = {}
        told: Dict[int, float] = {}
        while not self._stop.wait(0.5):
            try:
                now = time.monotonic()
                current = self._current()
                if current is None:
                    self._clear()
                    continue
                key, text = current
                took = now - first_seen.setdefault(key, now)
                # a terminal shows one line that changes; a log gets a line now and then
                if took < self._patience or (
                    not self._terminal and now - told.get(key, now - 30) < 30
                ):
                    continue
                told[key] = now
                line = "depyf: %s, %.0f s" % (text, took)
                self._stream.write("\r\033[K" + line[:100] if self._terminal else line + "\n")
                self._stream.flush()
                self._shown = True
            except Exception:
                return  # a closed stream; progress is not worth an error

    def _current(self) -> Optional[Tuple[int, str]]:
        if self.run is None:
            # the module is there from the beginning of its import on
            importing = self.imports and self._terminal and "torch" in sys.modules
            return (0, "Python imports PyTorch") if importing else None
        for function in list(self.run.functions):
            for entry in list(function.entries):
                if not entry.finished:
                    return id(entry), self._text(_title(function, entry), entry)
        for entry in list(self.run.unattributed):
            if not entry.finished:
                return id(entry), self._text(self._name_of(entry), entry)
        return None

    def _name_of(self, entry: "Entry") -> str:
        """The function of a compile whose code is not there yet: that of earlier ones of the same
        number, else by the innermost frame.
        """
        frame = entry.compile_id.rpartition("/")[0]
        for function in list(self.run.functions if self.run is not None and frame else ()):
            for one in list(function.entries):
                if one.compile_id.rpartition("/")[0] == frame:
                    return _title(function, one)
        inner = entry.user_stack[-1].partition(": ")[0] if entry.user_stack else ""
        name = inner.rpartition(" in ")[2]
        found = parse_place(inner)
        return resume_title(name, "", found[1] if found else 0) or name

    @staticmethod
    def _text(name: str, entry: "Entry") -> str:
        stage = entry.artifacts[-1].stage if entry.artifacts else ""
        done = _SO_FAR.get(stage, "so far made: " + stage.replace("_", " "))
        return "compiling %s [%s] (%s)" % (shown(name or "?"), entry.compile_id, done)
