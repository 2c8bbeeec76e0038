"""What makes the text of torch's code readable."""

from types import MappingProxyType
from typing import Any, Mapping, NamedTuple


class Hints(NamedTuple):
    """What is known around a code object, for the reader of its text alone: the compiled code does
    not depend on it.

    callee_parameters: names of the parameters of functions, by the global names of these;
    callee_results: names of the outputs of graphs, by the global names of these;
    on_stack: what parameters are given, in words, by their names;
    updated: how many tensors graphs change in place, by the global names of these;
    about: lines that stand first, as comments;
    notes: comment lines at the end.
    """

    callee_parameters: Mapping[str, Any] = MappingProxyType({})
    callee_results: Mapping[str, Any] = MappingProxyType({})
    on_stack: Mapping[str, str] = MappingProxyType({})
    updated: Mapping[str, int] = MappingProxyType({})
    about: str = ""
    notes: str = ""


#: of a code object about which nothing is known
NO_HINTS = Hints()
