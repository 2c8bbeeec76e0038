"""The words of torch's structured trace: which records there are, and what they are called here."""

import json
import re
from typing import Any, Dict, List, Optional

from depyf.model import Mark
from depyf.plain import text_of

#: names in torch's structured trace -> stage of the graph; both top-level records and artifacts are
#: looked up here
GRAPH_STAGES = {
    "dynamo_output_graph": "Captured_Graph",
    "before_pre_grad_graph": "BEFORE_PRE_GRAD",
    "inductor_pre_grad_graph": "BEFORE_PRE_GRAD",
    "after_pre_grad_graph": "AFTER_PRE_GRAD",
    "aot_joint_graph": "Joint_graph",
    "aot_forward_graph": "Forward_graph",
    "aot_inference_graph": "Forward_graph",
    "aot_backward_graph": "Backward_graph",
    "before_joint_graph": "BEFORE_JOINT",
    "after_joint_graph": "AFTER_JOINT",
    "before_post_grad_graph": "BEFORE_POST_GRAD",
    "inductor_post_grad_graph": "AFTER_POST_GRAD",
    "after_post_grad_graph": "AFTER_POST_GRAD",
    "compiled_autograd_graph": "Compiled_autograd_graph",
    "optimize_ddp_split_graph": "DDP_split_graph",
    "optimize_ddp_split_child": "DDP_split_child",
}


SKIPPED = frozenset(
    (
        "describe_tensor",
        "describe_storage",
        "describe_source",
        "str",
        "link",
        "exported_program",
    )
)


_RESERVED = frozenset(
    (
        "rank",
        "compiled_autograd_id",
        "frame_id",
        "frame_compile_id",
        "attempt",
        "severity",
        "timestamp",
        "pathname",
        "thread",
        "subgraph_name",
        "has_payload",
        "stack",
    )
)


#: artifacts that repeat what another one says, or torch's configuration
SKIPPED_ARTIFACTS = re.compile(
    r"^(torch\._functorch\.config|.*_(ORIGINAL|MODIFIED)_BYTECODE"
    r"|inductor_provenance_tracking_kernel.*|dynamo_error)$"
)


CACHE_EVENT = re.compile(
    r"^(?P<cache>fx_graph_cache|aotautograd_cache|precompile_cache)_(?P<result>hit|miss|bypass)$"
)


def record_kind(metadata: Dict[str, Any]) -> str:
    """The name of a trace record: the key of its metadata that is not context."""
    for key in metadata:
        if key not in _RESERVED:
            return key
    return ""


_MARK = re.compile(r'"name": "((?:[^"\\\\]|\\\\.)*)".*?"ts": ([\d.e+]+).*"ph": "([BE])"', re.DOTALL)


def read_mark(payload: Any) -> Optional[Mark]:
    """Name, microseconds and "B" or "E" of one of torch's events.

    None for other kinds. No JSON is parsed: there are many.
    """
    if isinstance(payload, dict):
        name, moment, end = payload.get("name"), payload.get("ts"), payload.get("ph")
        if isinstance(name, str) and isinstance(moment, (int, float)) and end in ("B", "E"):
            return name, float(moment), str(end)
        return None
    match = _MARK.search(payload) if isinstance(payload, str) else None
    return (match.group(1), float(match.group(2)), match.group(3)) if match else None


def frames_named(stack: Any, names: Dict[int, str]) -> List[Dict[str, Any]]:
    """The frames of a stack with the names of their files in place of torch's numbers."""
    return [
        dict(frame, filename=names.get(frame["filename"], str(frame["filename"])))
        if isinstance(frame.get("filename"), int)
        else frame
        for frame in (stack if isinstance(stack, list) else ())
        if isinstance(frame, dict)
    ]


def _plain(value: Any) -> Any:
    return text_of(value) if issubclass(type(value), str) else value


def stack_lines(stack: Any, names: Dict[int, str]) -> List[str]:
    return [
        "%s:%s in %s: %s"
        % (
            _plain(frame.get("filename")),
            frame.get("line"),
            _plain(frame.get("name")),
            _plain(frame.get("loc")) or "",
        )
        for frame in frames_named(stack, names)
    ]


#: settings of torch that decide what is compiled again and how, in the texts of its configuration
_SETTING = re.compile(
    r'"(assume_static_by_default|automatic_dynamic_shapes|compile_threads)": (true|false|\d{1,6})\b'
)


def without_configuration(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """torch's figures of a compile; of its configuration only what readers need, in `settings`."""
    kept = {}
    settings = {}
    for key, value in metrics.items():
        if key.endswith("_config"):
            for name, text in _SETTING.findall(value if isinstance(value, str) else ""):
                settings[name] = json.loads(text)
        elif value is not None:
            kept[key] = value
    if settings:
        kept["settings"] = settings
    return kept


def compile_id_of(metadata: Dict[str, Any]) -> Optional[str]:
    frame, compiled = metadata.get("frame_id"), metadata.get("frame_compile_id")
    autograd = metadata.get("compiled_autograd_id")
    text = "%s/%s" % (frame, compiled) if frame is not None and compiled is not None else None
    if autograd is not None:
        return "!%s/%s" % (autograd, text) if text else "!%s" % autograd
    return text
