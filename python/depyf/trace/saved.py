"""What a forward graph keeps for its backward graph, by the texts of both."""

import re
from typing import Any, Dict, Iterable, Optional

from depyf.model import Saved

#: bytes of an element, by torch's short names of dtypes
_BYTES = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1,
    "u64": 8, "u32": 4, "u16": 2, "u8": 1, "b8": 1, "c32": 4, "c64": 8, "c128": 16,
}  # fmt: skip
_PLACEHOLDER = re.compile(r'(\w+)\s*:\s*"(\w+)\[([^\]]*)\]')
_HEAD = re.compile(r"def forward\(")
_DEFINED = re.compile(r"^\s*(\w+)\s*:[^=\n]*= torch\.ops\.aten\.(\w+)\.\w+\((\w+)", re.MULTILINE)
#: operators whose result shares its memory with their first argument
_VIEWS = frozenset(
    "alias as_strided detach diagonal expand permute select slice split squeeze t transpose "
    "unsqueeze view _unsafe_view".split()
)
#: what a backward graph gets from the engine, not from the forward graph
_GIVEN = ("tangents_", "fwd_rng_state", "bwd_rng_state")


def saved_for_backward(
    text: str, symbols: Iterable[Dict[str, Any]] = (), forward: str = ""
) -> Saved:
    """What a backward graph takes from its forward graph, by the parameters of its text.

    Args:
        text: the graph as torch prints it, with shapes.
        symbols: the symbolic sizes of the compile, each with its `symbol` and the `val` it had.
        forward: the text of the forward graph, which tells what is a view of an input.
    """
    head = _HEAD.search(text)
    end = text.find("):", head.end()) if head else -1
    found = Saved()
    if head is None or end < 0:
        return found
    view_of = {name: base for name, op, base in _DEFINED.findall(forward) if op in _VIEWS}
    sizes = {str(one.get("symbol")): str(one.get("val")) for one in symbols}
    for name, dtype, shape in _PLACEHOLDER.findall(text[head.end() : end]):
        if name.startswith(_GIVEN):
            continue
        found.tensors += 1
        count = _elements(shape, sizes)
        width = _BYTES.get(dtype, 1 if dtype.startswith("f8") else 0)
        if count is None or not width:
            found.unknown += 1
        elif _base(name, view_of).startswith("primals_"):
            found.input_bytes += count * width
        else:
            found.computed_bytes += count * width
    return found


def _base(name: str, view_of: Dict[str, str]) -> str:
    for _ in range(len(view_of)):
        if name not in view_of:
            break
        name = view_of[name]
    return name


def _elements(shape: str, sizes: Dict[str, str]) -> Optional[int]:
    count = 1
    for part in filter(None, (one.strip() for one in shape.split(","))):
        part = sizes.get(part, part)
        if not part.isdigit() or len(part) > 18:
            return None
        count *= int(part)
    return count
