"""The parameters of a function in a full_code file."""

import ast
import re
import sys
from typing import Any, Dict, Iterable, List, Optional

from depyf.function_source import identifier, is_writable
from depyf.interrupts import pass_on
from depyf.model import Function
from depyf.torch.fullcode.source import function_in
from depyf.trace.names import safe_name


def defaults_of(function: Function) -> Dict[str, str]:
    """`=value` by parameter, as far as the source has literals: a code object, unlike its function,
    knows no defaults.
    """
    if function.is_resume or function.source_origin != "file":
        return {}
    node = function_in(function.source, safe_name(function.name))[0]
    if node is None:
        return {}
    found: Dict[str, str] = {}

    def note(parameter: ast.arg, value: Optional[ast.expr]) -> bool:
        try:
            found[parameter.arg] = "=%r" % (ast.literal_eval(value),)  # type: ignore[arg-type]
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            pass_on()
            return False
        return True

    # a parameter without default cannot follow one with
    positional = node.args.posonlyargs + node.args.args
    for parameter, value in zip(reversed(positional), reversed(node.args.defaults)):
        if not note(parameter, value):
            break
    for parameter, one in zip(node.args.kwonlyargs, node.args.kw_defaults):
        note(parameter, one)
    return found


def _names_in(signature: Dict[str, Any]) -> Iterable[str]:
    for found in signature.values():
        yield from [found] if isinstance(found, str) else found or ()


class Signature:
    """Parameters of a code object, as text for a header and for a call that passes them on."""

    def __init__(self, function: Function) -> None:
        signature = function._signature or {}
        self._renamed: Dict[str, str] = {}
        self._real = set(_names_in(signature))
        positional_only = [self._name(name) for name in signature.get("positional_only", ())]
        positional = [self._name(name) for name in signature.get("positional", ())]
        keyword_only = [self._name(name) for name in signature.get("keyword_only", ())]
        varargs, varkeywords = signature.get("varargs"), signature.get("varkeywords")
        self.free = [self._name(name) for name in signature.get("free", ())]
        default = defaults_of(function)
        header: List[str] = [name + default.get(name, "") for name in positional_only]
        if positional_only and sys.version_info >= (3, 8):
            header.append("/")
        header += [name + default.get(name, "") for name in positional]
        call = positional_only + positional
        if varargs:
            header.append("*" + self._name(varargs))
            call.append("*" + self._name(varargs))
        elif keyword_only:
            header.append("*")
        header += [name + default.get(name, "") for name in keyword_only]
        call += ["%s=%s" % (name, name) for name in keyword_only]
        if varkeywords:
            header.append("**" + self._name(varkeywords))
            call.append("**" + self._name(varkeywords))
        self.header = header
        self.call = call
        self.parameters = positional_only + positional + keyword_only
        self.parameters += [self._name(name) for name in (varargs, varkeywords) if name]

    def _name(self, name: str) -> str:
        shown = name
        if not name.isidentifier():
            shown = identifier("implicit" + re.sub(r"\W", "", name))
        elif not is_writable(name):
            shown = identifier(name + "_")
        while self._renamed.get(shown, name) != name or (shown != name and shown in self._real):
            shown += "_"
        self._renamed[shown] = name
        return shown

    def frame_locals(self, text_of_guards: str) -> List[str]:
        """The items of a dict display of the frame's locals.

        Free variables only where a guard reads them, they may be unbound.
        """
        names = list(self.parameters)
        names += [
            name
            for name in self.free
            if re.search(r"L\[(['\"])%s\1\]" % re.escape(name), text_of_guards)
        ]
        return ["%r: %s" % (self._renamed[name], name) for name in names]
