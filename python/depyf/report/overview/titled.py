"""One compile's name and place, which need nothing but its own records."""

import re
from typing import Any, List, Optional, Tuple

from depyf.model import backward_of, is_backward_pass, resumed_after
from depyf.report import words
from depyf.report.overview.durations import whole_number
from depyf.schema import Document
from depyf.trace.names import resumed

_RESUMED_AFTER = re.compile(r"(.+), resumed after line (\d+)$", re.S)
#: where torch keeps the function that it compiles in place of a library's module
_WRAPPERS = re.compile(r"[/\\]torch[/\\]_dynamo[/\\]external_utils\.py$")


class Titled:
    """One compile's name and place. What names it in its entry and function stays as it is."""

    def __init__(self, function: Optional[Document], entry: Document) -> None:
        self.function = function
        self.entry = entry
        # what tells it from another rest of the same title; "" where none is
        self.apart = ""
        # before or after which torch._dynamo.reset() it is; "" in a run without one
        self.reset = ""
        self.elsewhere = ""  # the place, where another function has the same title
        # the frames that led to the compile; those in transformed code at the lines of the reader's
        self.stack: List[str] = [str(frame) for frame in entry.get("user_stack") or ()]
        self._is_resume: Optional[bool] = None
        self._title: Optional[str] = None
        self._place: Optional[Tuple[str, int]] = None

    @property
    def is_resume(self) -> bool:
        """Whether it is of a resume function."""
        if self._is_resume is None:
            function = self.function
            found = self._rest()[0] if function is None else function.get("is_resume")
            self._is_resume = bool(found)
        return self._is_resume

    def _rest(self) -> Tuple[str, int]:
        """(function, line) of which a frame without a function is the rest; ("", 0) for others."""
        metrics = self.entry.get("metrics") or {}
        told = _RESUMED_AFTER.match(str(self.entry.get("qualname") or ""))
        if told:
            return told.group(1), int(told.group(2))
        name, line = resumed(metrics.get("co_name") or self.entry.get("name"))
        return name, line or whole_number(metrics.get("co_firstlineno"))

    @property
    def is_backward_pass(self) -> bool:
        """Whether it is what compiled autograd traced of a backward pass."""
        compile_id = str(self.entry.get("compile_id") or "")
        if self.function is None:
            return bool(re.match(r"!\d+$", compile_id))
        return compile_id.startswith("!") and str(self.function.get("filename")).startswith(
            "<eval_with_key>"
        )

    @property
    def title(self) -> str:
        """The function's name as its author wrote it."""
        if self._title is None:
            self._title = self._name()
        return self._title

    def _name(self) -> str:
        known: Any
        if self.is_backward_pass and not self.is_resume:
            known = str((self.function or self.entry).get("qualname") or "")
            return known if is_backward_pass(known) else backward_of([])
        if self.function is None:
            if self.is_resume:
                return self._rest()[0]
            metrics = self.entry.get("metrics") or {}
            known = self.entry.get("qualname") or metrics.get("co_name") or self.entry.get("name")
            known = str(known or "unknown code")
        else:
            known = self.entry.get("qualname") or self.function.get("qualname")
            known = known or self.function.get("name") or "?"
            told = _RESUMED_AFTER.match(known) if self.is_resume else None
            if told:  # of a frame of which torch made no code
                return told.group(1)
        return resumed(known)[0] or known

    @property
    def called(self) -> str:
        """Its title, and where it goes on if it is a resume function."""
        title = resumed_after(self.title, self.resumes_at) if self.is_resume else self.title
        return title + self.apart

    @property
    def through(self) -> str:
        """The wrapper of a decorator whose code this is; "" for none."""
        return str((self.function or self.entry).get("through") or "")

    @property
    def resumes_at(self) -> int:
        if not self.is_resume:
            return 0
        if self.function is None:
            return self._rest()[1]
        return resumed(self.function.get("name"))[1] or int(self.function.get("firstlineno") or 0)

    @property
    def place(self) -> Tuple[str, int]:
        """File and line of the function; of torch's wrapper around a module of a library, the
        reader's line that calls it.
        """
        if self._place is not None:
            return self._place
        if self.function is None:
            metrics = self.entry.get("metrics") or {}
            file, line = str(metrics.get("co_filename") or ""), metrics.get("co_firstlineno")
        else:
            file, line = self.function.get("filename") or "", self.function.get("firstlineno")
        if _WRAPPERS.search(file):  # the stack may be told at other lines later
            called = words.users_line(self.stack)
            return called[:2] if called[1] else (file, int(line or 0))
        self._place = file, int(line or 0)
        return self._place
