"""What the frames of a running compile hold, to be asked inside a bytecode hook."""

import sys
import traceback
import types
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple, Union

from depyf.interrupts import pass_on
from depyf.plain import (
    attribute_of,
    cause_of,
    class_name,
    context_of,
    exception_said,
    file_of,
    hides_context,
    name_of,
    observes_reads,
    plain_dict,
    text_of,
    traceback_of,
)
from depyf.torch.compat.probes import probe
from depyf.trace.names import COMPILED_FUNCTION, RESUME_CODE, RESUME_FUNCTION


def _compiled_frame(name: str) -> Any:
    """A variable of the function of torch's that compiles a frame; None not inside of it."""
    frame: Optional[types.FrameType] = sys._getframe(2)
    while frame is not None:
        own = frame.f_code.co_name
        if type(own) is str and own == "_compile" and _converts(frame.f_code):
            return frame.f_locals.get(name)
        frame = frame.f_back
    return None


def _outputs() -> Iterator[Any]:
    """What the functions of torch's that convert the code at hand make of it, innermost first."""
    frame: Optional[types.FrameType] = sys._getframe()
    while frame is not None:
        output = frame.f_locals.get("output") if _converts(frame.f_code) else None
        if output is not None:
            yield output
        frame = frame.f_back


def _converts(code: types.CodeType) -> bool:
    """Whether it is of the file of torch that compiles frames."""
    name = code.co_filename  # that of torch's is an exact text
    return type(name) is str and name.endswith("convert_frame.py")


def resume_codes(
    code: types.CodeType, scope: Optional[Dict[str, Any]]
) -> Dict[str, types.CodeType]:
    """The resume functions that `code` names by a global, as torch installed them in `scope`.

    From torch 2.9 on a factory makes a resume function with closure variables; what the factory
    returns is found under its name and "()".
    """
    found: Dict[str, types.CodeType] = {}
    for name in code.co_names if scope else ():
        if not RESUME_FUNCTION.match(name):
            continue
        value = scope.get(name) if scope is not None else None
        body = attribute_of(value, "__code__", value)
        if type(body) is types.CodeType and RESUME_CODE.match(body.co_name):
            found[name] = body
            continue
        for cell in attribute_of(value, "__closure__") or ():
            try:
                made = cell.cell_contents
            except ValueError:
                continue
            if type(made) is types.CodeType and RESUME_CODE.match(made.co_name):
                found[name + "()"] = made
    return found


def continued(code: types.CodeType) -> Optional[types.CodeType]:
    """The code of the function that a resume function continues; None where torch does not tell."""

    def find() -> Any:
        from torch._dynamo.resume_execution import ContinueExecutionCache

        return ContinueExecutionCache.generated_code_metadata

    known = probe("what resume functions continue", find)
    try:
        found = known[code].code if known is not None and code in known else None
    except Exception:
        pass_on()
        return None
    return found if type(found) is types.CodeType else None


def was_looked_at(code: types.CodeType) -> Optional[bool]:
    """Whether torch looked at a call of `code` since it was reset; None where it does not tell."""

    def find() -> Any:
        from torch._dynamo.convert_frame import input_codes

        return input_codes

    known = probe("which functions torch looked at", find)
    try:
        return code in known if known is not None else None
    except Exception:
        pass_on()
        return None


def graph_outputs(
    code: types.CodeType, scope: Optional[Dict[str, Any]]
) -> Dict[str, Tuple[str, ...]]:
    """What the graphs that `code` calls by a global name call their outputs; "" for no node.

    Known where the backend runs the captured graph as it is.
    """
    found: Dict[str, Tuple[str, ...]] = {}
    for name in code.co_names if scope else ():
        if not COMPILED_FUNCTION.match(name):
            continue
        module = graph_module_of(scope.get(name)) if scope is not None else None
        try:
            nodes = [node for node in module.graph.nodes if node.op == "output"] if module else []
            if nodes and isinstance(nodes[0].args[0], (tuple, list)):
                found[name] = tuple(str(getattr(v, "name", "")) for v in nodes[0].args[0])
        except Exception:
            pass_on()
            continue
    return found


def frame_globals() -> Optional[Dict[str, Any]]:
    """The globals of the frame that is being compiled, to be called from inside a bytecode hook.

    None when not found; a copy where they are of a class of the program's own.
    """
    return plain_dict(_compiled_frame("globals"))


def reads_are_observed() -> bool:
    """Whether Python calls a method of the program where the frame that is being compiled reads a
    global, to be called from inside a bytecode hook.
    """
    scope = _compiled_frame("globals")
    if not issubclass(type(scope), dict):
        return False
    return observes_reads(scope) or observes_reads(dict.get(scope, "__builtins__"))


def installed_globals() -> Optional[Set[str]]:
    """Names of the globals that torch installed for the code at hand, with the modules that it
    imports there, to be called from inside a bytecode hook.

    None when not found.
    """
    for output in _outputs():
        hooks = getattr(output, "cleanups", None)
        modules = getattr(output, "import_sources", None)
        if isinstance(hooks, list) and isinstance(modules, dict):
            return {getattr(hook, "name", "") for hook in hooks}.union(modules)
    return None


#: kinds of guards that hold for one value only
_OF_ONE_VALUE = frozenset(
    ("CONSTANT_MATCH", "EQUALS_MATCH", "BOOL_MATCH", "NONE_MATCH", "FLOAT_IS_NAN_MATCH")
)


#: and of those that compare a number of elements
_OF_LENGTH = frozenset(("SEQUENCE_LENGTH", "LIST_LENGTH", "TUPLE_LENGTH"))

#: what guards say of a source: "value" where one compares it with one value, "length" where one
#: compares how long it is, "identity" where one asks for one object, "is " and another source that
#: it is to be one object with, the sizes of a tensor (None for a dimension of any size), else ""
Guarded = Union[str, Tuple[Optional[int], ...]]


def guarded_sources() -> Dict[str, Guarded]:
    """What the guards of the code at hand look at, in torch's words such as `L['gamma']`, and how,
    to be called from inside a bytecode hook; {} where torch does not tell.
    """
    found: Dict[str, Guarded] = {}
    for output in _outputs():
        try:
            for guard in output.guards:
                name, kind = str(guard.name), guard.create_fn_name()
                how = "value" * (kind in _OF_ONE_VALUE) or "length" * (kind in _OF_LENGTH)
                how = how or "identity" * (kind == "ID_MATCH")
                if kind == "DUPLICATE_INPUT":
                    how = "is " + _named(guard.create_fn.keywords["source_b"])
                found[name] = how or found.get(name, "")
            for one in getattr(output, "tracked_fakes", None) or ():
                name = _named(one.source)
                sizes = getattr(one.fake, "shape", None)
                if str(found.get(name, "is ")).startswith("is "):
                    continue
                if sizes is not None:
                    found[name] = tuple(map(_fixed, sizes))
                elif _fixed(one.fake) is not None:
                    found[name] = "value"
        except Exception:  # another version of torch's
            pass_on()
            return {}
        return dict(sorted(found.items()))
    return {}


def _fixed(number: Any) -> Optional[int]:
    """The value of a size, or of a number, that is no symbol, or one that torch fixed after all."""
    if type(number) is int:
        return number
    found = getattr(getattr(number, "node", None), "maybe_as_int", lambda: None)()
    return found if type(found) is int else None


def _named(source: Any) -> str:
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)


def frame_locals() -> Optional[Dict[str, Any]]:
    """The locals of the frame that is being compiled, to be called from inside a bytecode hook.

    None when not found.
    """
    return plain_dict(_compiled_frame("locals"))


def frame_code() -> Optional[types.CodeType]:
    """The code of the frame that is being compiled, to be called while torch tells of a compile.

    None when not found.
    """
    found = _compiled_frame("code")
    return found if type(found) is types.CodeType else None


def calling_codes() -> List[types.CodeType]:
    """The code of the frames that led to the compile at hand, innermost first."""
    return [code for code, _ in _callers()]


def _callers() -> List[Tuple[types.CodeType, int]]:
    """(code, line) of the frames that led to the compile at hand, innermost first."""
    found: List[Tuple[types.CodeType, int]] = []
    frame: Optional[types.FrameType] = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        # torch's own; that which calls the others is in another file in 2.2
        if _converts(code) or (not found and name_of(code) == "catch_errors"):
            found = []
        else:
            found.append((code, frame.f_lineno))
        frame = frame.f_back
    return found


def _known_line(filename: str, number: int) -> str:
    # what linecache knows, as torch's own stacks make it; its functions may be the program's
    cache = getattr(sys.modules.get("linecache"), "cache", None)
    known = dict.get(cache, filename) if isinstance(cache, dict) else None
    lines = known[2] if isinstance(known, tuple) and len(known) > 2 else []
    return str(lines[number - 1]).strip() if 0 < number <= len(lines) else ""


def exception_text(error: Optional[BaseException]) -> str:
    """What `traceback.format_exc` says of an exception, without notes and marks below lines, and
    with the lines of the files that linecache has read already.

    The functions of `traceback` catch exceptions, and would lose one that a signal handler of the
    program raises meanwhile.
    """
    found: List[str] = []
    known: List[BaseException] = []
    joined = ""
    while error is not None and all(error is not one for one in known):
        known.append(error)
        found.insert(0, _text_of_one(error) + joined)
        cause = cause_of(error)
        if cause is not None:
            error, joined = cause, _BECAUSE
        else:
            context = None if hides_context(error) else context_of(error)
            error, joined = context, _MEANWHILE
    return "".join(found) if found else "NoneType: None\n"


_BECAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_MEANWHILE = "\nDuring handling of the above exception, another exception occurred:\n\n"
#: frames of one line that are shown one after the other
_SAME_LINES = 3


def _text_of_one(error: BaseException) -> str:
    lines: List[str] = []
    trace, last, times = traceback_of(error), None, 0
    if trace is not None:
        lines.append("Traceback (most recent call last):")
    while trace is not None:
        code, number = trace.tb_frame.f_code, trace.tb_lineno
        times = times + 1 if last == (code, number) else 1
        last = code, number
        if times <= _SAME_LINES:
            lines.append('  File "%s", line %s, in %s' % (file_of(code), number, name_of(code)))
            shown = _known_line(file_of(code), number or 0)
            lines += ["    " + shown] if shown else []
        trace = trace.tb_next
    name = class_name(type(error))
    try:
        said = exception_said(error)
    except Exception:
        pass_on()
        said = "<exception str() failed>"
    lines.append("%s: %s" % (name, said) if said else name)
    return "\n".join(lines) + "\n"


def frames_of_failure(error: Optional[BaseException]) -> List[str]:
    """The lines of the program that Dynamo traced when an exception was raised, as a traceback has
    them, outermost first; [] where torch does not tell.
    """
    found: List[str] = []
    for frame in attribute_of(error, "real_stack") or ():
        name, file = text_of(frame.name), text_of(frame.filename)
        found.append('File "%s", line %d, in %s' % (file, frame.lineno or 0, name))
        code = _known_line(file, frame.lineno or 0)
        found += ["  " + code] if code else []
    return found


def calling_frames() -> List[Dict[str, Any]]:
    """The frames that led to the compile that starts, outermost first, as torch's trace has them:
    file, line, function and text of the line.

    To be called while torch tells of the start. torch's own record counts the frames of its own
    calls that it leaves out (log_dynamo_start in torch/_dynamo/convert_frame.py); where there are
    fewer of them, as in 2.13, the callers nearest to the compiled function are missing in it.
    """
    return [
        {
            "filename": file_of(code),
            "line": line,
            "name": name_of(code),
            "loc": _known_line(file_of(code), line),
        }
        for code, line in reversed(_callers())
    ]


def compiled_frame() -> Optional[Dict[str, Any]]:
    """The function that torch begins to compile, in the form of `calling_frames`; None where no
    compile is at hand.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        code = frame.f_locals.get("code") if _converts(frame.f_code) else None
        if type(code) is types.CodeType:
            file, line = file_of(code), code.co_firstlineno
            return {"filename": file, "line": line, "name": name_of(code), "loc": ""}
        frame = frame.f_back
    return None


#: wrappers of torch's around one function
_MOST_WRAPPERS = 20


def innermost(compiled: Any) -> Any:
    """The function that torch wrapped, as torch's innermost_fn finds it."""
    for _ in range(_MOST_WRAPPERS):
        inner = attribute_of(compiled, "_torchdynamo_orig_callable")
        if inner is None or attribute_of(compiled, "_torchdynamo_wrapper_id", id(compiled)) != id(
            compiled
        ):
            break
        compiled = inner
    return compiled


def graph_module_of(compiled: Any) -> Any:
    """The torch.fx.GraphModule behind an installed `__compiled_fn_N`, where the backend runs it as
    it is; else None.
    """
    try:
        inner = innermost(compiled)
        owner = attribute_of(inner, "__self__")
        owner = inner if owner is None else owner
        import torch

        return owner if issubclass(type(owner), torch.fx.GraphModule) else None
    except Exception:
        pass_on()
        return None


def recompile_reasons() -> List[str]:
    """Why the frame at hand is compiled again: for each entry that it has, the guard that failed.

    To be called from inside a bytecode hook, for a torch that traces no reasons: they are a
    variable of the function that
    asks for the compile.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        if _converts(frame.f_code):
            found = frame.f_locals.get("recompile_reasons")
            if isinstance(found, list):
                return [str(reason) for reason in found]
        frame = frame.f_back
    return []


def graph_break_at_hand() -> Optional[str]:
    """Why the graph of the frame at hand ends before the frame does, as torch 2.2 logs a graph
    break; None where it does not.

    To be called from inside a bytecode hook, for breaks that torch neither traces nor logs: those
    of branches up to 2.6, and
    up to 2.4 the second one of a line. The compile's own reason is an attribute of what it has put
    out.
    """
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        if _converts(frame.f_code):
            reason = getattr(frame.f_locals.get("output"), "compile_subgraph_reason", None)
            if reason is not None and getattr(reason, "graph_break", False):
                stack = "".join(traceback.format_list(reason.user_stack))
                return "Graph break: %s from user code at:\n%s" % (
                    " ".join(str(reason.reason).split()),
                    stack,
                )
        frame = frame.f_back
    return None
