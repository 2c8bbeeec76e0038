"""Texts of torch's log that stand in for records of the structured trace."""

import logging
import sys
import traceback
import types
from typing import Any, Callable, Dict, Optional, Tuple

from depyf.plain import file_of, name_of
from depyf.torch.compat.probes import DYNAMO_HOOKS, note_unavailable, probe
from depyf.torch.compat.records import find_trace_structured
from depyf.torch.compat.unseen import find_set_eval_frame, untraced


class _AskedFusion(Dict[int, bool]):
    """What a logger of inductor's IR remembers of which levels are enabled; the answers are its
    own.

    Torch asks before it writes the IR. Where the text would go to nobody else, it is computed
    meanwhile, so that what that raises does not pass through torch into the program.
    """

    def __init__(self, take: Callable[[Callable[[], str]], None]) -> None:
        super().__init__()
        self.take = take

    def __getitem__(self, level: int) -> bool:
        frame = sys._getframe(1).f_back  # of isEnabledFor, and of who asked it
        if frame is not None and name_of(frame.f_code).startswith("log_ir_"):
            untraced(self._offer, frame.f_locals.get("nodes"))
        return super().__getitem__(level)

    def _offer(self, nodes: Any) -> None:
        write = _ir_writer()
        if write is not None and nodes is not None:
            self.take(lambda: str(write(nodes)))


def _ir_writer() -> Any:
    def find() -> Any:
        from torch._inductor.debug import DebugFormatter

        return DebugFormatter._write_ir

    return probe("text of inductor's IR", find)


def watch_fusion(
    logger: logging.Logger, take: Callable[[Callable[[], str]], None]
) -> Callable[[], None]:
    """Lets `take`, which must not raise, have what computes each text of a logger of IR.

    Returns what ends that.
    """
    if not isinstance(getattr(logger, "_cache", None), dict):
        note_unavailable("texts of torch's log", "logging keeps no record of enabled levels")
        return lambda: None
    asked = _AskedFusion(take)
    logger._cache = asked  # type: ignore[attr-defined]

    def end() -> None:
        if getattr(logger, "_cache", None) is asked:
            logger._cache = {}  # type: ignore[attr-defined]

    return end


class _AskedLevels(Dict[int, bool]):
    """What a logger remembers of which levels are enabled, with one that is, whatever the level of
    the logger.

    The level itself belongs to the program, as does what `logging.disable` asks for: the filter
    that takes a text hands it on only where both allow it. Where Dynamo looks at each frame, those
    of logging would be more of them, so there the answer is the logger's own.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        self.levels = {level}

    def __getitem__(self, level: int) -> bool:
        if level in self.levels:
            change = find_set_eval_frame() if DYNAMO_HOOKS in sys.modules else None
            before = change(None) if change is not None else None
            if change is None or before is None:
                return True
            change(before)
        return bool(super().__getitem__(level))


def ask_for(logger: logging.Logger, level: int) -> None:
    """Records of this level reach the logger's filters from now on.

    Its level, which the program may ask for, stays.
    """
    known = getattr(logger, "_cache", None)
    if isinstance(known, _AskedLevels):
        known.levels.add(level)
    elif isinstance(known, dict):
        logger._cache = _AskedLevels(level)  # type: ignore[attr-defined]
    else:
        note_unavailable("texts of torch's log", "logging keeps no record of enabled levels")


def stop_asking(logger: logging.Logger, level: int) -> None:
    """Ends what `ask_for` began."""
    known = getattr(logger, "_cache", None)
    if isinstance(known, _AskedLevels):
        known.levels.discard(level)
        if not known.levels:
            logger._cache = {}  # type: ignore[attr-defined]


#: loggers of inductor's scheduler -> stage; their text has no structured event
FUSION_LOGGERS = {"ir_pre_fusion": "ir_pre_fusion", "ir_post_fusion": "ir_post_fusion"}


def _fusion_loggers() -> Any:
    def find() -> Any:
        from torch._inductor import debug

        return {stage: getattr(debug, name + "_log") for name, stage in FUSION_LOGGERS.items()}

    return probe("inductor IR around fusion", find)


def fusion_loggers() -> Dict[str, logging.Logger]:
    """Stage -> logger for inductor's IR before and after fusion."""
    return dict(_fusion_loggers() or {})


def cudagraph_logger() -> Optional[logging.Logger]:
    """The logger of why graphs run without CUDA graphs; None before inductor is loaded.

    Some reasons are known only when a graph runs, and stand in no record of the trace
    (torch/_inductor/cudagraph_trees.py).
    """
    module = "torch._inductor.cudagraph_utils"
    return logging.getLogger(module + ".__cudagraphs") if module in sys.modules else None


#: what torch 2.2, which has no structured trace, logs -> the module and the artifact whose logger
#: it is. Later ones trace all of it, first without graph breaks.
_ARTIFACT_LOGGERS = {
    "guards": ("torch._dynamo.guards", "guards"),
    "graph_code": ("torch._dynamo.output_graph", "graph_code"),
    "graph_breaks": ("torch._dynamo.symbolic_convert", "graph_breaks"),
    "aot_joint_graph": (
        "torch._functorch._aot_autograd.jit_compile_runtime_wrappers",
        "aot_joint_graph",
    ),
    "aot_graphs": ("torch._functorch._aot_autograd.jit_compile_runtime_wrappers", "aot_graphs"),
    "aot_inference_graph": (
        "torch._functorch._aot_autograd.dispatch_and_compile_graph",
        "aot_graphs",
    ),
    "ddp_graphs": ("torch._dynamo.backends.distributed", "ddp_graphs"),
    "post_grad_graphs": ("torch._inductor.compile_fx", "post_grad_graphs"),
    "output_code": ("torch._inductor.graph", "output_code"),
}


def artifact_loggers() -> Dict[str, logging.Logger]:
    """What stands in for records that this torch does not trace: kind -> logger, of the modules
    that are loaded.

    To be asked again when a compile begins: Dynamo is not imported for it.
    """

    def find() -> Any:
        from torch._functorch import (
            aot_autograd,
        )  # else its first graphs would come before anyone listens

        return aot_autograd

    traced, loaded = find_trace_structured() is not None, DYNAMO_HOOKS in sys.modules
    if traced and not (loaded and _traced_breaks() is None):
        return {}
    if loaded and not traced:
        probe("AOTAutograd", find)
    found = {
        kind: logging.getLogger("%s.__%s" % (module, artifact))
        for kind, (module, artifact) in _ARTIFACT_LOGGERS.items()
        if module in sys.modules and (kind == "graph_breaks" or not traced)
    }
    if "torch._dynamo.symbolic_convert" in sys.modules:
        found[BREAKS_IN_LOOPS] = logging.getLogger("torch._dynamo.symbolic_convert")
    if not traced:
        found[METRICS] = logging.getLogger("torch._utils_internal")
    return found


#: the kind of a text that torch logs where it gives a frame up since it breaks in a loop. Up to 2.4
#: that is all it tells of a branch there, and of a break at a line whose break it told before.
BREAKS_IN_LOOPS = "graph_breaks_in_loops"
_IN_LOOP = "Skipping frame because there is a graph break in a for/while loop"


def levels_of(kind: str) -> Tuple[int, ...]:
    """The levels at which torch logs texts of a kind: graphs of AOTAutograd and figures as `INFO`.

    The logger of breaks in loops also gets each instruction that is traced, as `DEBUG`.
    """
    return (logging.INFO,) if kind == BREAKS_IN_LOOPS else (logging.DEBUG, logging.INFO)


def _break_in_loop() -> str:
    """The graph break for which the frame at hand is given up, as torch 2.2 logs one outside of
    loops.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None and not file_of(frame.f_code).endswith("symbolic_convert.py"):
        frame = frame.f_back
    if frame is None:
        return ""
    found: Dict[str, Any] = frame.f_locals
    error, translator = found.get("excp"), found["self"]
    if error is not None:
        reason, stack = _reason_of(error), list(error.real_stack)
    else:  # torch raises no exception at a branch
        reason, stack = "Data-dependent jump", [translator.frame_summary()]
    lines = "".join(traceback.format_list(stack))
    return "Graph break: %s from user code at:\n%s%s" % (reason, lines, _IN_LOOP)


def _reason_of(error: BaseException) -> str:
    return " ".join(str(error).partition("\n\nfrom user code")[0].split())


def _traced_breaks() -> Any:
    def find() -> Any:
        from torch._dynamo import symbolic_convert

        with open(symbolic_convert.__file__, "rb") as stream:  # source, or a .pyc alone
            told = b"dynamo_graph_break_reason" in stream.read()
        if not told:
            raise AttributeError(
                "torch does not trace the reasons of graph breaks; its log has them"
            )
        return symbolic_convert

    return probe("traced reasons of graph breaks", find)


def logged_text(record: logging.LogRecord) -> str:
    """The message of a record of torch's log.

    The reason of a graph break may stand in the exception beside it.
    """
    text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and text.startswith("Graph break: from user code"):
        text = text.replace("Graph break:", "Graph break: " + _reason_of(error), 1)
    elif text.startswith(_IN_LOOP):
        text = _break_in_loop()
    return text


#: the kind of a record that has the figures of one compile, and no text
METRICS = "compilation_metrics"


def logged_metrics(record: logging.LogRecord) -> Optional[Dict[str, Any]]:
    """The figures of a compile by name, which torch logs at the compile's end.

    None for what else its logger says.
    """
    metrics = record.args[0] if isinstance(record.args, tuple) and record.args else None
    if not hasattr(metrics, "frame_key"):
        return None
    found = {
        name: sorted(value) if isinstance(value, (set, frozenset)) else value
        for name, value in vars(metrics).items()
    }
    if found.get("fail_reason") is not None:
        found["fail_type"] = getattr(sys.exc_info()[0], "__name__", "Exception")
    return found


def inductor_loaded() -> bool:
    """True once torch has loaded inductor; depyf does not load it itself, it is slow to import."""
    return "torch._inductor.debug" in sys.modules


def evaluation_log() -> Optional[logging.Logger]:
    """The logger to which TORCH_LOGS=+bytecode writes, None where it is not found."""

    def find() -> Any:
        from torch._dynamo import convert_frame

        return convert_frame.bytecode_log

    return probe("bytecode log", find)
