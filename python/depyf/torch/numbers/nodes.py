"""Nodes of graphs, the places that they come from, and the tensors that they make."""

import contextlib
import operator
import re
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from depyf.terminal import place
from depyf.torch import compat
from depyf.trace.frames import frames_of_text

_OWN = re.compile(r"[/\\]depyf[/\\]torch[/\\](state\.py|numbers[/\\]\w+\.py)$")


def user_stack(text: Optional[str]) -> List[Tuple[str, int, str, str]]:
    """(path, line, function, code) for each frame of a node's stack trace, outermost first."""
    frames = [one for one in frames_of_text(text or "") if not _OWN.search(one.path)]
    return [(one.path, one.line, one.name, one.code or "") for one in frames]


def place_of(text: Optional[str]) -> Dict[str, Any]:
    frames = user_stack(text)
    if not frames:
        return {}
    path, line, _, code = frames[-1]
    return {
        "path": path,
        "line": line,
        "code": code,
        "stack": ["%s in %s: %s" % (place(one[0], one[1]), one[2], one[3]) for one in frames],
    }


def operation_of(node: Any) -> str:
    """What a node calls, as a reader would write it."""
    target = node.target
    if node.op == "call_method":
        return "Tensor.%s" % target
    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", None) or str(target)
    home = getattr(target, "__module__", "") or ""
    text = str(target)
    if text.startswith("aten."):
        return text
    if home in ("_operator", "builtins", "torch._C._nn", "torch._ops", ""):
        return name
    if home.startswith("torch.nn.functional") or home.startswith("torch"):
        return "%s.%s" % (home.replace("torch._VF", "torch"), name)
    return name


def input_name(node: Any, parameters: Sequence[str] = ()) -> str:
    """The input that a placeholder stands for, as the user calls it."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    text = node.name
    if source is not None:
        with contextlib.suppress(Exception):
            text = compat.readable_source(
                str(source.name() if callable(source.name) else source.name)
            )
    match = re.match(r"^args\[(\d+)\]", text)  # what `fresh_function` hands on
    if match and int(match.group(1)) < len(parameters):
        text = parameters[int(match.group(1))] + text[match.end() :]
    text = re.sub(r"^kwargs\['(\w+)'\]", r"\1", text)
    return "input %s" % re.sub(r"^fn\b", "self", text)


def parameter_names(target: Any, count: int) -> List[str]:
    import inspect

    try:
        function = getattr(target, "forward", target)
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    names = [
        one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    rest = [one.name for one in found if one.kind == one.VAR_POSITIONAL]
    if rest:
        names += ["%s[%d]" % (rest[0], position) for position in range(count - len(names))]
    return names


def tensors_in(value: Any) -> Iterator[Any]:
    import torch

    work = [value]
    while work:
        found = work.pop()
        if isinstance(found, torch.Tensor):
            yield found
        elif isinstance(found, (list, tuple)):
            work.extend(reversed(found))
        elif isinstance(found, dict):
            work.extend(reversed(list(found.values())))


def nonfinite_kind(tensors: Sequence[Any]) -> str:
    import torch

    nan = infinite = False
    for tensor in tensors:
        if (
            not (tensor.is_floating_point() or tensor.is_complex())
            or tensor.layout != torch.strided
        ):
            continue
        try:
            with torch.no_grad():
                found = tensor.detach()
                if found.element_size() == 1:  # float8 knows few operations
                    found = found.to(torch.float32)
                if bool(torch.isfinite(found).all()):
                    continue
                nan = nan or bool(torch.isnan(found).any())
                infinite = infinite or bool(torch.isinf(found).any())
        except (RuntimeError, NotImplementedError, TypeError):
            continue
    return " and ".join(word for word, there in (("NaN", nan), ("infinity", infinite)) if there)


def has_positive_infinity(tensor: Any) -> bool:
    """Whether a tensor holds infinity that is not -inf; True for what cannot be asked."""
    import torch

    if not tensor.is_floating_point():
        return bool(tensor.is_complex())
    try:
        with torch.no_grad():
            found = tensor.detach()
            if found.element_size() == 1:
                found = found.to(torch.float32)
            return bool((found == float("inf")).any())
    except (RuntimeError, NotImplementedError, TypeError):
        return True


_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "truediv": "/",
    "true_divide": "/",
    "pow": "**",
}
#: other operators that compute each element from the elements of their operands there
_BY_ELEMENT = frozenset(
    "log log2 log10 log1p sqrt rsqrt exp exp2 expm1 reciprocal asin acos acosh atanh tan sinh cosh "
    "square fmod remainder masked_fill where lgamma digamma erfinv logit".split()
)


def element_text(node: Any, output: Any, values: Dict[Any, Any]) -> str:
    """Where the first element that is not finite is, and what was computed there: `[0, 3]: 0 / 0`.

    Args:
        node: the node that made it.
        output: the tensor.
        values: what each node that goes in has as its value.
    Returns:
        "" where it cannot be told: only what goes in element by element says what was computed.
    """
    import torch

    try:
        with torch.no_grad():
            found = output.detach()
            bad = torch.isnan(found) if bool(torch.isnan(found).any()) else torch.isinf(found)
            index = tuple(int(one) for one in bad.nonzero()[0])
            operands = [
                _element(values[one] if isinstance(one, type(node)) else one, found.shape, index)
                for one in node.args
            ]
        text = "%s: " % list(index) if index else "the only element: "
        name = str(getattr(node.target, "__name__", node.target)).partition(".")[0].strip("_")
        sign = _SIGNS.get(name)
        known = [one for one in operands if one is not None]
        if node.kwargs or len(known) < len(operands) or not (sign or name in _BY_ELEMENT):
            return text.rstrip(": ") if index else ""
        if sign and len(known) == 2:
            return text + (" %s " % sign).join(known)
        return text + "%s(%s)" % (name, ", ".join(known))
    except Exception:  # the statistics stay
        return ""


def _element(value: Any, shape: Any, index: Tuple[int, ...]) -> Optional[str]:
    """The element of an operand that belongs to one of the result; None where none does."""
    import torch

    if isinstance(value, (bool, int, float)):
        return "%g" % value
    if not isinstance(value, torch.Tensor):
        return None
    try:
        element = torch.broadcast_to(value.detach(), shape)[index]
    except RuntimeError:  # not one element for each of the result
        return None
    return None if element.is_complex() else "%g" % float(element)


_version_of = operator.attrgetter("_version")


def versions_of(tensors: Sequence[Any]) -> List[Optional[int]]:
    found: List[Optional[int]] = []
    for tensor in tensors:
        try:
            found.append(_version_of(tensor))
        except (RuntimeError, AttributeError):
            found.append(None)
    return found


#: what these return is memory that nobody has written yet
UNWRITTEN = re.compile(
    r"(^|[._])(empty|new_empty|empty_like|empty_strided|new_empty_strided|resize_)($|[._])"
)


def watching_interpreter() -> Any:
    import torch.fx

    class Watcher(torch.fx.Interpreter):
        """Runs a graph node by node and shows each node's value, or what it wrote to, to `seen`."""

        def __init__(self, module: Any, seen: Callable[[Any, List[Any], List[Any]], None]) -> None:
            super().__init__(module)
            self.extra_traceback = False
            self._seen = seen

        def run_node(self, n: Any) -> Any:
            if n.op == "output":
                return super().run_node(n)
            inputs: List[Any] = []
            torch.fx.map_arg(
                (n.args, n.kwargs), lambda one: inputs.append((one, self.env.get(one)))
            )
            tensors = [one for _, value in inputs for one in tensors_in(value)]
            before = versions_of(tensors)
            result = super().run_node(n)
            written = [
                tensor
                for tensor, old, now in zip(tensors, before, versions_of(tensors))
                if old != now
            ]
            self._seen(n, list(tensors_in(result)) + written, inputs)
            return result

    return Watcher


def differentiable(result: Any) -> List[Any]:
    return [
        tensor
        for tensor in result_tensors(result)
        if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    ]


def result_tensors(result: Any) -> List[Any]:
    import torch

    leaves = torch.utils._pytree.tree_leaves(result)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def gradients_of(outputs: List[Any], leaves: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Gradients of a weighted sum of the outputs.

    The weights are the same each time and no two alike.
    """
    import torch

    wanted = [(name, leaf) for name, leaf in leaves if leaf.requires_grad]
    if not outputs or not wanted:
        return {}
    weights = []
    for output in outputs:
        count = torch.arange(output.numel(), dtype=torch.float64).reshape(output.shape)
        weights.append((0.75 + 0.5 * torch.cos(count * 12.9898)).to(output.device, output.dtype))
    found = torch.autograd.grad(outputs, [leaf for _, leaf in wanted], weights, allow_unused=True)
    return {
        name: gradient.detach()
        for (name, _), gradient in zip(wanted, found)
        if gradient is not None
    }
