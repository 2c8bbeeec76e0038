"""torch's structured trace."""

import dataclasses
import json
import logging
import sys
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from depyf.interrupts import pass_on
from depyf.plain import attribute_of, file_of, is_one_of, module_of, name_of
from depyf.torch.compat.frames import exception_text
from depyf.torch.compat.probes import probe
from depyf.torch.compat.unseen import untraced

TRACE_LOGGER = "torch.__trace"


def find_trace_structured() -> Any:
    def find() -> Any:
        from torch._logging._internal import trace_structured

        return trace_structured

    return probe("structured trace", find)


def trace_logger() -> Optional[logging.Logger]:
    """The logger that carries torch's structured trace, None where torch has none (2.2)."""
    return logging.getLogger(TRACE_LOGGER) if find_trace_structured() is not None else None


class Offered(NamedTuple):
    """A record that torch makes where anybody listens to its trace: what computes its parts."""

    name: str
    details: Callable[[], Any]
    payload: Callable[[], Any]
    compile_id: Any  # torch's, of a record that comes outside of its compile


class _AskedHandlers(List[Any]):
    """The handlers of the trace logger while depyf's may be the only one.

    Torch asks whether there are any before it makes a record. Where there is none but depyf's, the
    answer is no, as without depyf, and depyf computes the record itself meanwhile. So what a
    payload raises does not pass through torch into the program, and no logging that the program may
    have changed (its factory of records, its filters) is part of it.

    Torch's own handler stays until it gets its first record. Where logging may hand none on, as
    after `logging.disable` or a configuration that disables the loggers there are, it stays for
    ever: depyf computes the records itself then, too.
    """

    ours: Any = None
    take: Callable[[Offered], None]

    def __bool__(self) -> bool:
        others = len(self) != 1 or self[0] is not self.ours
        frame = sys._getframe(1)
        if name_of(frame.f_code) == "trace_structured":
            if not others or (len(self) > 1 and untraced(trace_is_held_back)):
                untraced(self._offer, frame.f_locals)
        return others and len(self) > 0

    def _offer(self, given: Any) -> None:
        name, details = given.get("name"), given.get("metadata_fn")
        payload = given.get("payload_fn")
        if isinstance(name, str) and callable(details) and callable(payload):
            self.take(Offered(name, details, payload, given.get("compile_id")))

    def copy(self) -> "_AskedHandlers":
        """The same, for logging, which from CPython 3.14 on takes a handler out of a copy."""
        found = _AskedHandlers(self)
        found.ours, found.take = self.ours, self.take
        return found


def trace_is_held_back() -> bool:
    """Whether logging may hand on no record of the trace: its logger is disabled or filtered.

    A handler does not use what it gets nevertheless: depyf has computed it.
    """
    logger = logging.getLogger(TRACE_LOGGER)
    return bool(logger.disabled or logger.filters or not logger.isEnabledFor(logging.DEBUG))


def add_trace_handler(handler: logging.Handler, take: Callable[[Offered], None]) -> None:
    """Adds a handler of the structured trace. It gets records that torch makes since others listen,
    too; where nobody else does, `take`, which must not raise, gets them before they are made.
    """
    logger = logging.getLogger(TRACE_LOGGER)
    logger.addHandler(handler)
    handlers = _AskedHandlers(logger.handlers)
    handlers.ours, handlers.take = handler, take
    logger.handlers = handlers


def surroundings_of(record: Offered) -> Dict[str, Any]:
    """What torch writes into each record beside its details, where depyf reads it."""

    def find() -> Any:
        from torch.fx import traceback

        # a torch without it compiles no regions by themselves: nothing is missing
        return getattr(traceback, "_get_regional_inductor_subgraph_name", None)

    found: Dict[str, Any] = {}
    for key in ("compiled_autograd_id", "frame_id", "frame_compile_id"):
        value = getattr(record.compile_id, key, None)
        if value is not None:
            found[key] = value
    regional = probe("names of regional graphs", find)
    name = regional() if regional is not None else None
    if name is not None:
        found["subgraph_name"] = name
    return found


def details_of(record: Offered) -> Any:
    """What torch writes as the details of a record.

    For the figures of a compile torch copies a hundred fields deeply, of which a few are more than
    a number, a text or None. Where they are found, these alone are copied. Of a condition on a
    shape torch also formats the stack of its own frames, which takes long and nobody reads.
    """
    if record.name == "guard_added_fast":
        stack = user_frames()
        if stack is not None:
            return {"user_stack": stack}
    if record.name in ("compilation_metrics", "bwd_compilation_metrics"):
        cells: Sequence[Any] = getattr(record.details, "__closure__", None) or ()
        if len(cells) == 1 and dataclasses.is_dataclass(cells[0].cell_contents):
            fields = vars(cells[0].cell_contents)
            try:
                return {
                    name: value
                    if id(type(value)) in _PLAIN
                    else json.loads(json.dumps(value, default=_listed))
                    for name, value in fields.items()
                }
            except (TypeError, ValueError):  # a field that only torch knows how to write
                pass_on()
    return record.details()


def payload_of(record: Offered) -> Any:
    """What torch writes as the payload of a record.

    Where that is the text of an exception or ends with that of the one at hand, depyf has another
    function that formats it.
    """
    made = record.payload
    if record.name == "dynamo_cpp_guards_str":
        made = _of_plain_types(made)
    if type(made) is types.FunctionType and _WRITES in (
        made.__code__.co_names + made.__code__.co_freevars
    ):
        made = _of_plain_fields(made)
    if type(made) is not types.FunctionType:
        return made()
    code = made.__code__
    if "format_exception" in code.co_names and code.co_freevars == ("exc",):
        return exception_text((made.__closure__ or ())[0].cell_contents)
    if (
        not {"traceback", "format_exc"}.issuperset(code.co_names)
        or "format_exc" not in code.co_names
    ):
        return made()
    own = types.FunctionType(code, {"traceback": _Formats}, code.co_name, None, made.__closure__)
    return own()


def _of_plain_types(made: Any) -> Any:
    """The function that makes the text of a guard tree, with the types that are named in it and the
    keys by which values are found as `type` and `object` write them.
    """
    if type(made) is not types.FunctionType or made.__code__.co_freevars.count("self") != 1:
        return made
    cells = list(made.__closure__ or ())
    place = made.__code__.co_freevars.index("self")
    builder = cells[place].cell_contents
    manager = attribute_of(builder, "guard_manager")
    kind = type(manager)
    if attribute_of(manager, "root") is None or "get_manager_line" not in vars(kind):
        return made
    shown = types.SimpleNamespace(guard_manager=_tree_of_plain_types(manager))
    cells[place] = _cell_of(shown)
    return types.FunctionType(made.__code__, made.__globals__, "made", None, tuple(cells))


def _cell_of(value: Any) -> Any:
    return (lambda: value).__closure__[0]  # type: ignore[index]


def _of_plain_fields(made: types.FunctionType) -> Any:
    """The function that makes the text of torch's figures of a graph, with what of them is the
    program's written as `object` and `type` write it.
    """

    code = made.__code__
    cells = list(made.__closure__ or ())
    names = dict(made.__globals__)
    place = code.co_freevars.index(_WRITES) if _WRITES in code.co_freevars else None
    writes = names.get(_WRITES) if place is None else cells[place].cell_contents
    if writes is None:
        return made

    def plainly(value: Any) -> Any:
        return writes(_plain_value(value))

    if place is None:
        names[_WRITES] = plainly
    else:
        cells[place] = _cell_of(plainly)
    return types.FunctionType(code, names, "made", None, tuple(cells))


#: the function by which torch writes a dataclass
_WRITES = "dataclass_repr"


class _Written:
    """Stands for an object of the program in a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _plain_value(value: Any) -> Any:
    """A value of torch's, with stand-ins for what in it is the program's."""
    kind = type(value)
    if id(kind) in _PLAIN or is_one_of(kind, (bytes, complex, type)):
        return value
    if issubclass(kind, type):
        return _Written(type.__repr__(value))
    if is_one_of(kind, (list, tuple, set, frozenset)):
        return kind([_plain_value(one) for one in value])
    if kind is dict:
        return {_plain_value(key): _plain_value(one) for key, one in value.items()}
    home = module_of(kind)
    if home.partition(".")[0] not in ("torch", "sympy"):
        return _Written(object.__repr__(value))
    if dataclasses.is_dataclass(kind) and type(attribute_of(value, "__dict__")) is dict:
        made = object.__new__(kind)
        vars(made).update({name: _plain_value(one) for name, one in vars(value).items()})
        return made
    # it may hold a tensor of a class of the program
    if home == "torch._subclasses.functional_tensor":
        return _Written(object.__repr__(value))
    return value


def _tree_of_plain_types(manager: Any) -> Any:
    """An object with what a guard manager has and the functions of its class."""
    kind = type(manager)
    line = vars(kind)["get_manager_line"]

    def get_manager_line(self: Any, one: Any, *arguments: Any, **keywords: Any) -> Any:
        return line(self, _PlainNode(one), *arguments, **keywords)

    members = {
        name: value
        for name, value in vars(kind).items()
        if name not in ("__dict__", "__weakref__", "__slots__", "__init__", "__new__")
    }
    members["get_manager_line"] = get_manager_line
    shown = type(kind.__name__, (), members)()
    vars(shown).update(vars(manager))
    return shown


class _PlainNode:
    """A node of a guard tree that names the type of its value as `type` does, which a metaclass of
    the program may do in another way.
    """

    def __init__(self, node: Any) -> None:
        self._node = node

    def _class(self) -> Any:
        return type(self._node)

    __class__: Any = property(_class)  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def get_type_of_guarded_value(self) -> Any:
        found = self._node.get_type_of_guarded_value()
        return type.__repr__(found) if issubclass(type(found), type) else found


class _Formats:
    """Stands for the module `traceback` in a function of torch's that asks it for one text."""

    @staticmethod
    def format_exc() -> str:
        return exception_text(sys.exc_info()[1])


def drops_exceptions() -> bool:
    """Whether torch drops an exception that is raised now, at the end of a compile of which it
    tells one thing more.
    """
    drops = False
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if name_of(code) == "__exit__" and file_of(code).endswith("metrics_context.py"):
            drops = True
        elif name_of(code) == "_compile" and file_of(code).endswith("convert_frame.py"):
            return drops and "chromium_event_timed" in code.co_names
        frame = frame.f_back
    return False


def user_frames() -> Optional[List[Any]]:
    """The program's frames that Dynamo is tracing, as torch's trace has them; None where this torch
    does not tell.
    """

    def find() -> Any:
        from torch._guards import TracingContext
        from torch._logging import structured

        return lambda: structured.from_traceback(TracingContext.extract_stack())

    stack = probe("frames that are traced", find)
    return None if stack is None else stack()


#: by id: a metaclass of the program may compare types in its own way
_PLAIN = frozenset(map(id, (str, int, type(None), bool, float)))


def payload_text(payload: Any) -> Optional[str]:
    """The payload of a record as torch writes it."""
    if payload is None or isinstance(payload, str):
        return payload
    if isinstance(payload, list):
        return "[\n" + ",\n".join(json.dumps(one) for one in payload) + "\n]"
    return json.dumps(payload, default=_listed, indent=0)


def _listed(value: Any) -> Any:
    if isinstance(value, set):
        return list(value)
    raise TypeError("%r is no JSON" % type(value))


def remove_trace_handler(handler: logging.Handler) -> None:
    """Ends what `add_trace_handler` began; handlers that others added stay."""
    logger = logging.getLogger(TRACE_LOGGER)
    logger.removeHandler(handler)
    logger.handlers = list(logger.handlers)


def find_intern_table() -> Any:
    def find() -> Any:
        from torch._logging.structured import INTERN_TABLE

        return INTERN_TABLE

    return probe("interned names of files", find)


def interned_names() -> Dict[int, str]:
    """Number -> file name, as used in the stacks of the structured trace."""
    table = find_intern_table()
    if not isinstance(table, dict):
        return {}
    return {number: text for text, number in list(table.items())}
