"""Runs a function several times from the same state, and restores that state."""

import collections
import functools
import random
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

from depyf.plain import code_objects
from depyf.torch import compat
from depyf.torch_wrappers import unwrapped

#: the most objects that are visited; a larger graph of objects is not a function's own state
_LIMIT = 100000
_CONTAINERS = (dict, list, set, collections.deque)
_PLAIN = (int, float, complex, bool, str, bytes, type(None))


class _TensorState:
    __slots__ = ("tensor", "alias", "value", "version", "requires_grad", "grad", "grad_value")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.alias = tensor.data  # the storage it had
        self.value = tensor.data.clone()
        self.version = _version(tensor)
        self.requires_grad = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None
        self.grad_value = self.grad.data.clone() if self.grad is not None else None

    def restore(self) -> None:
        tensor = self.tensor
        if tensor.data_ptr() != self.alias.data_ptr() or tensor.shape != self.alias.shape:
            tensor.data = self.alias
        # through .data: a write that autograd saw would end graphs that the caller still holds
        if _version(tensor) != self.version or not _same_bits(tensor.data, self.value):
            tensor.data.copy_(self.value)
        if tensor.is_leaf:
            if tensor.requires_grad != self.requires_grad:
                tensor.requires_grad_(self.requires_grad)
            if tensor.grad is not self.grad:
                tensor.grad = self.grad
        if self.grad is not None and self.grad_value is not None:
            self.grad.data.copy_(self.grad_value)


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # an inference tensor counts nothing
        return -1


def _same_bits(one: Any, other: Any) -> bool:
    import torch

    try:
        return bool(torch.equal(one, other))
    except Exception:
        return False


class State:
    """The state that a call of a function can read and write, saved so that it can be restored.

    Tensors, modules with their buffers, gradients and attributes, optimizers, containers and
    objects that are reached from the function's closure, its globals (modules, optimizers and
    tensors by name, plain values), its object and its arguments; random number generators of torch,
    Python and NumPy.

    Args:
        roots: the function, its arguments and keyword arguments.
    """

    def __init__(self, *roots: Any) -> None:
        self._tensors: List[_TensorState] = []
        self._containers: List[Tuple[Any, Any]] = []
        self._cells: List[Tuple[Any, Any]] = []
        self._globals: List[Tuple[Dict[str, Any], str, Any]] = []
        self._generators: List[Tuple[Any, Any]] = []
        self.parameters: List[Tuple[str, Any]] = []
        self._seen: Dict[int, Any] = {}
        self._work: List[Tuple[str, Any, bool]] = [("", root, False) for root in reversed(roots)]
        while self._work and len(self._seen) < _LIMIT:
            name, found, shared = self._work.pop()
            self._visit(name, found, shared)
        self._random = _random_state()

    def _visit(self, name: str, found: Any, shared: bool) -> None:
        import torch

        if isinstance(found, _PLAIN) or id(found) in self._seen:
            return
        self._seen[id(found)] = found  # held, so that its id stays its own
        if isinstance(found, torch.Tensor):
            self._tensor(name, found)
        elif isinstance(found, torch.Generator):
            self._generators.append((found, found.get_state()))
        elif isinstance(found, _CONTAINERS):
            self._container(name, found)
        elif isinstance(found, tuple):
            for position, item in enumerate(found):
                self._add("%s[%d]" % (name, position), item)
        elif isinstance(found, functools.partial):
            for item in (found.func, found.args, found.keywords):
                self._add("", item)
        elif isinstance(found, types.MethodType):
            self._add("", found.__self__)
            self._add("", found.__func__)
        elif isinstance(found, types.FunctionType):
            self._function(found)
        elif isinstance(found, torch.nn.Module):
            for key, value in found.named_parameters():
                self.parameters.append((key, value))
            self._container(name, vars(found))
        elif compat.is_compiled(found):
            self._add(name, unwrapped(found))
        elif isinstance(found, torch.optim.Optimizer) or (
            not shared
            and not isinstance(found, (type, types.ModuleType, types.CodeType))
            and isinstance(getattr(found, "__dict__", None), dict)
        ):
            self._container(name, vars(found))

    def _add(self, name: str, found: Any, shared: bool = False) -> None:
        if not isinstance(found, _PLAIN):
            self._work.append((name, found, shared))

    def _tensor(self, name: str, tensor: Any) -> None:
        try:
            self._tensors.append(_TensorState(tensor))
        except (RuntimeError, NotImplementedError, AttributeError):
            return  # a tensor without storage, such as a fake one
        if tensor.requires_grad:
            self.parameters.append((name or "tensor %d" % len(self._tensors), tensor))

    def _container(self, name: str, found: Any) -> None:
        self._containers.append((found, found.copy()))
        items = (
            list(found.items())
            if isinstance(found, dict)
            else [("%s" % position, item) for position, item in enumerate(found)]
        )
        for key, item in items:
            if isinstance(key, str):
                self._add(key if not name else "%s.%s" % (name, key), item)
            else:  # an optimizer's state has parameters as keys
                self._add("", item)

    def _function(self, found: types.FunctionType) -> None:
        for cell in found.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._cells.append((cell, value))
            self._add("", value)
        self._add("", found.__defaults__)
        self._add("", found.__kwdefaults__)
        import torch

        scope = found.__globals__
        for code in code_objects(found.__code__):
            for key in code.co_names:
                if not dict.__contains__(scope, key):
                    continue
                value = dict.__getitem__(scope, key)
                if isinstance(value, _PLAIN):
                    self._globals.append((scope, key, value))
                elif isinstance(
                    value,
                    (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, torch.Generator)
                    + _CONTAINERS,
                ) or compat.is_compiled(value):
                    self._add(key, value, True)
                elif (
                    isinstance(value, types.FunctionType) and value.__globals__ is scope
                ):  # a helper of the same module
                    self._add("", value, True)

    def restore(self) -> None:
        """Restores the state."""
        for found, saved in self._containers:
            _restore_container(found, saved)
        for state in self._tensors:
            state.restore()
        for cell, value in self._cells:
            cell.cell_contents = value
        for scope, key, value in self._globals:
            if dict.get(scope, key, scope) is not value:
                dict.__setitem__(scope, key, value)
        for generator, value in self._generators:
            generator.set_state(value)
        _restore_random(self._random)

    def leaves(self) -> List[Tuple[str, Any]]:
        """Name and tensor of each value that can have a gradient, each once."""
        found, seen = [], set()
        for name, tensor in self.parameters:
            if id(tensor) not in seen and tensor.requires_grad:
                seen.add(id(tensor))
                found.append((name, tensor))
        return found


def _restore_container(found: Any, saved: Any) -> None:
    if isinstance(found, dict):
        if len(found) == len(saved) and all(
            key in found and found[key] is value for key, value in saved.items()
        ):
            return  # untouched: guards on its version stay valid
        found.clear()
        found.update(saved)
    elif isinstance(found, list):
        if len(found) != len(saved) or any(a is not b for a, b in zip(found, saved)):
            found[:] = saved
    elif found != saved:
        found.clear()
        (found.update if isinstance(found, set) else found.extend)(saved)


def _random_state() -> Tuple[Any, ...]:
    import torch

    device = None
    if torch.cuda.is_available() and getattr(torch.cuda, "is_initialized")():
        device = torch.cuda.get_rng_state_all()
    numpy = sys.modules.get("numpy")
    return (
        torch.random.get_rng_state(),
        device,
        random.getstate(),
        numpy.random.get_state() if numpy is not None else None,
    )


def _restore_random(state: Tuple[Any, ...]) -> None:
    import torch

    torch.random.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])
    random.setstate(state[2])
    if state[3] is not None:
        sys.modules["numpy"].random.set_state(state[3])


class OwnCompiles:
    """Removes the entries that compiles inside the block add to code without entries, so that the
    caller's own compiles are not affected.
    """

    def __init__(self) -> None:
        self._codes: List[types.CodeType] = []
        self._handle: Any = None

    def __enter__(self) -> "OwnCompiles":
        self._handle = compat.register_bytecode_hook(self._hooked)
        return self

    def _hooked(self, code: types.CodeType, _: types.CodeType) -> Optional[types.CodeType]:
        try:
            if not compat.cache_entries(code):
                self._codes.append(code)
        except Exception:
            pass
        return None

    def forget(self) -> None:
        """Drops the entries made since the last call."""
        for code in self._codes:
            compat.forget_code(code)
        self._codes = []

    def __exit__(self, *_: Any) -> None:
        if self._handle is not None:
            self._handle.remove()
        self.forget()


def fresh_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls `fn` and whose code object torch has never seen, so that nothing
    compiled before is used.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    code = call.__code__.replace(co_name=getattr(fn, "__name__", type(fn).__name__))
    return types.FunctionType(code, globals(), code.co_name, None, call.__closure__)
