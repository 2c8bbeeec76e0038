"""What went wrong in a block: told once as a warning, and kept in its run."""

from traceback import format_exception
from typing import Any, Dict, Optional, Set

from depyf.interrupts import pass_on
from depyf.model import Problem
from depyf.torch.capture.warned import log, warn
from depyf.trace.names import safe_name
from depyf.trace.records import Records
from depyf.trace.vocabulary import GRAPH_STAGES


class Problems(Records):
    """The records of a block, and what could not be done with them."""

    def __init__(self) -> None:
        super().__init__()
        self._warned: Set[Any] = set()

    def problem(
        self, where: str, message: str, detail: str = "", short: Optional[str] = None
    ) -> None:
        """Adds an entry to the run's problems, and warns once for each `where`.

        Args:
            short: what the warning has in the place of the last line of `detail`.
        """
        with self._lock:
            self.run.problems.append(Problem(where, message, detail))
            first = where not in self._warned
            self._warned.add(where)
        if first:
            if short is None:
                short = detail.strip().splitlines()[-1] if detail.strip() else ""
            warn("depyf: %s: %s%s" % (where, message, " (%s)" % short if short else ""))

    def failed(self, where: str, error: Exception) -> None:
        """Adds an exception to the run's problems; never raises."""
        try:
            text = "%s: %s" % (type(error).__name__, error)
        except Exception:  # an exception class of the program, whose text cannot be computed
            pass_on()
            text = type(error).__name__
        try:
            detail = "".join(format_exception(type(error), error, error.__traceback__))
        except Exception:  # traceback calls functions that the program may have replaced
            pass_on()
            detail = text
        try:
            self.problem(where, text, detail)
        except Exception:
            pass_on()
            log.debug("depyf: %s failed: %s", where, text)

    def not_told(
        self,
        kind: str,
        metadata: Dict[str, Any],
        error: Exception,
        context: Any,
        compile_id: str,
    ) -> None:
        """Notes that formatting a record of torch's trace raised an exception."""
        with self._lock:
            if not self._takes(context, compile_id):
                return
            details = metadata.get(kind)
            inside = kind in ("artifact", "graph_dump") and isinstance(details, dict)
            name = str(details.get("name", "")) if inside and details else kind
            stage = "kernel" if name == "inductor_output_code" else GRAPH_STAGES.get(name)
            self.entry_of(context, compile_id).missing[stage or safe_name(name)] = (
                "torch could not write its text: %s" % type(error).__name__
            )
        self.failed("reading torch's trace record %s" % name, error)
