"""A text without what differs from run to run."""

import re

_RULES = (
    (re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}"), ""),
    (re.compile(r"__compiled_fn_\d+"), "__compiled_fn"),
    (re.compile(r"__resume_at_\d+_\d+"), "__resume"),
    (re.compile(r"resumed after line \d+"), "resumed"),
    # of the head of a file: torch numbers the functions of a process in the order of their first
    # calls, and lines above may be others
    (re.compile(r"\bcompile (?:!\d+/)?\d+/\d+: "), ""),
    (re.compile(r"(?<=the graph break at )line \d+(?: \([^()\n]*:\d+\))?"), "its line"),
    (re.compile(r"(torch_dynamo_resume_in_\w+?)_at_\d+"), r"\1"),
    (re.compile(r"__transformed_code_\d+_for_"), "__transformed_code_for_"),
    (re.compile(r"(___context_manager|__builtins_dict__|__gen_rand_values|___stack)_\w+"), r"\1"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "ADDRESS"),
    (re.compile(r"\b\d{9,}\b"), "ID"),
    (re.compile(r"\bc[a-z2-7]{40,}\b"), "HASH"),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "HASH"),
    (re.compile(r"[^\s'\"(]*/[a-z2-7]{2}/HASH"), "CACHE/HASH"),
    (re.compile(r"(?:#\s*)?[Ff]ile:? \"?([^\s\":]*/)?([^\s\":/]+)\"?(?::|, line )\d+"), r"File \2"),
    (re.compile(r"(?<![\w.])/[^\s'\":,)]*/([^\s'\":,/)]+\.py):\d+"), r"\1"),
)
_HEADING = re.compile(r"^# \w+, compile \S+.*$", re.MULTILINE)
_DEVICE = re.compile(r"\b(cuda|xpu|hpu|mps|npu)(:|, index=)\d+")


def normal(text: str, ranks: bool = False) -> str:
    """The text without what differs from run to run.

    With `ranks` also without the numbers of devices.
    """
    text = _HEADING.sub("", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    if ranks:
        text = _DEVICE.sub(r"\1", text)
    return text.strip("\n")
