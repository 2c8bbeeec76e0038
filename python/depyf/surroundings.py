"""What two functions have beside their code: default values, closures, globals.

Compared without running anything of the objects' own, `__eq__` included.
"""

import dis
import functools
import importlib.machinery
import opcode
import re
import sys
import types
from typing import Any, Dict, List, Optional, Set, Tuple

from depyf.plain import (
    code_objects,
    default_values,
    is_one_of,
    plain_dict,
    surplus_defaults,
    text_of,
)

_MISSING = object()
# Of integers that are shown, and of items of a tuple.
_MOST_BITS = 1000
_MOST_SHOWN = 8
# Values that are compared by what they are; every other one by identity.
_LITERALS = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))

# The builtins that `class` and `import` call, by the instruction that does.
_CALLED_BY = {"LOAD_BUILD_CLASS": "__build_class__", "IMPORT_NAME": "__import__"}
# The instructions that read a global (the name's index in their operand, times two where 3.11 and
# later load one, for a NULL beside it), or that need it to be there.
_READ_GLOBALS = {
    opcode.opmap[name]: int(name == "LOAD_GLOBAL" and sys.version_info >= (3, 11))
    for name in (
        *("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"),
        *("DELETE_GLOBAL", "DELETE_NAME"),
    )
    if name in opcode.opmap
}
# What an import's level is loaded with.
_IMPORT, _LOAD_CONST = opcode.opmap["IMPORT_NAME"], opcode.opmap["LOAD_CONST"]
_LOAD_INT = opcode.opmap.get("LOAD_SMALL_INT", _LOAD_CONST)
# What gives all globals or builtins, whatever their names: as the name of a variable, of an
# attribute (in a class pattern too, where it is a constant) or of what is imported,
_ATTRIBUTES = ("__globals__", "f_globals", "__builtins__", "f_builtins")
_FUNCTIONS = ("globals", "eval", "exec")
_GIVE_LOCALS = ("locals", "vars", "dir", "f_locals")
# in a text that names attributes ("0.__globals__[k]", "builtins.eval"),
_NAMED = re.compile(
    r"\b(?:%s)\b|(?:^|[.\[])(?:%s)(?=$|[].[}!:])" % ("|".join(_ATTRIBUTES), "|".join(_FUNCTIONS))
)
# and the same as objects, whatever names they have. Where code is no function's, its locals are
# its globals.
_READERS = (eval, exec, globals, locals, vars, dir, breakpoint, sys._getframe)
# Of values that are looked into for such an object.
_MOST_VALUES = 10000


def compare_surroundings(f: types.FunctionType, g: types.FunctionType) -> Tuple[str, List[str]]:
    """('', what was ignored), or 'different' or 'unproven' with the reason."""
    verdict, reason = _compare_values(
        "default values", default_values(f), default_values(g), "the default of %s"
    )
    if verdict:
        return verdict, [reason]
    ignored = []
    if surplus_defaults(f) or surplus_defaults(g):
        ignored.append("ignored: default values that no parameter takes")
    cells_f, cells_g = f.__closure__ or (), g.__closure__ or ()
    names = f.__code__.co_freevars
    verdict, reason = _compare_values(
        "closures",
        {name: _content(cell) for name, cell in zip(names, cells_f)},
        {name: _content(cell) for name, cell in zip(names, cells_g)},
        "the closure's variable %s",
    )
    if verdict:
        return verdict, [reason]
    if not _cells_correspond(cells_f, cells_g) or len(set(names)) != len(names):
        return "unproven", ["the closures share their variables in another way"]
    apart = [name for name, a, b in zip(names, cells_f, cells_g) if a is not b]
    if apart:
        what = "no variables" if len(apart) == len(names) else "not these: %s" % ", ".join(apart)
        ignored.append("ignored: the closures hold the same values now, but share %s" % what)
    if f.__globals__ is not g.__globals__:
        for one in (f, g):
            if type(one.__globals__) is not dict:
                kind = _type_name(one.__globals__)
                return "unproven", ["the globals are of type %s, which may compute values" % kind]
            if type(_builtins(one)) is not dict:
                return "unproven", ["the builtins are no dictionary"]
        if _imports_relatively(f.__code__) or _imports_relatively(g.__code__):
            if _same(_package(f.__globals__), _package(g.__globals__)) is not True:
                return "unproven", ["the packages, from which relative imports start, are others"]
        used = sorted(global_names(f.__code__) | global_names(g.__code__))
        asks = _what_reads_all(f, used) | _what_reads_all(g, used)
        if asks and _globals_differ(f, g):
            return "unproven", [
                "the globals hold other values, and the code may read any of them (%s)"
                % ", ".join(sorted(asks))
            ]
        loaded, called = _loaded_names(f.__code__), _called_builtins(f.__code__)
        loaded |= _loaded_names(g.__code__)
        called |= _called_builtins(g.__code__)
        verdict, reason = _compare_values(
            "globals",
            {name: _global(f, name) for name in loaded},
            {name: _global(g, name) for name in loaded},
            "the global %s",
        )
        if verdict:
            return verdict, [reason]
        verdict, reason = _compare_values(
            "builtins",
            {name: _builtin(f, name) for name in called},
            {name: _builtin(g, name) for name in called},
            "the builtin %s",
        )
        if verdict:
            return verdict, [reason]
        ignored.append(
            "ignored: the globals are two dictionaries, equal now in the names that the code uses; "
            "what it calls may read others"
        )
    if any(_annotated(one) or plain_dict(one.__dict__) for one in (f, g)):
        ignored.append("ignored: annotations and attributes of the functions")
    if any(getattr(one, "__type_params__", ()) for one in (f, g)):
        ignored.append("ignored: type parameters of the functions")
    return "", ignored


def _globals_differ(f: types.FunctionType, g: types.FunctionType) -> bool:
    return _builtins(f) is not _builtins(g) or any(
        _same(f.__globals__.get(name, _MISSING), g.__globals__.get(name, _MISSING)) is not True
        for name in set(f.__globals__) | set(g.__globals__)
    )


def _what_reads_all(function: types.FunctionType, used: List[str]) -> Set[str]:
    """Names of what the function may read any of its globals with, as it names them."""
    found = {named for name in used for named in _named(name)}
    if not function.__code__.co_flags & _OPTIMIZED:
        found.update(set(_GIVE_LOCALS).intersection(used))
    consts = [value for one in code_objects(function.__code__) for value in one.co_consts]
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    values = [(name, _global(function, name)) for name in used]
    values += [(name, _content(cell)) for name, cell in cells]
    values += default_values(function).items()
    found.update(named for value in consts for named in _readers_in(value))
    return found.union(name for name, value in values if _readers_in(value))


def _named(text: str) -> List[str]:
    """What gives all globals that a name or a text names."""
    return [one.lstrip(".[") for one in _NAMED.findall(text)]


def _readers_in(value: Any) -> List[str]:
    """Names of what reads any global: a value that is one of _READERS or names such in a text, or
    that holds one where no method has to be called to see it. A value that holds too many others
    is taken for one that does.
    """
    pending, seen = [value], set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if len(seen) > _MOST_VALUES or any(one is reader for reader in _READERS):
            return ["a constant"]
        kind = type(one)
        named = _named(one.decode("latin-1") if kind is bytes else text_of(one))
        if named:
            return named
        if kind is dict:
            pending.extend(one.keys())
            pending.extend(one.values())
        elif is_one_of(kind, (tuple, list, set, frozenset)):
            pending.extend(one)
        elif kind is functools.partial:
            pending.extend((one.func, one.args, one.keywords))
        elif is_one_of(kind, (types.MethodType, types.MethodWrapperType)):
            pending.append(one.__self__)
            pending.append(getattr(one, "__func__", None))
    return []


def _package(names: Dict[str, Any]) -> Any:
    """From what `import` computes the package of relative imports (importlib._bootstrap)."""
    package, spec = names.get("__package__"), names.get("__spec__")
    if type(spec) is importlib.machinery.ModuleSpec:
        held = vars(spec)
        name, places = held.get("name"), held.get("submodule_search_locations")
        spec = name if places is not None or type(name) is not str else name.rpartition(".")[0]
    if package is None and spec is None:
        return names.get("__name__"), "__path__" in names
    return package, spec


def left_out(a: Any, b: Any, layers: List[str]) -> List[str]:
    """What two callables have around the code that runs, in words."""
    ignored = []
    bound = [getattr(one, "__self__", None) for one in (a, b) if type(one) is types.MethodType]
    if bound and (len(bound) == 1 or bound[0] is not bound[1]):
        ignored.append("ignored: the objects that the methods are bound to")
    if layers:
        around = ", ".join(sorted(set(layers)))
        ignored.append("ignored: what is around the functions: %s" % around)
    others = [one for one in (a, b) if not layers and not issubclass(type(one), _PLAIN)]
    if others:
        kinds = sorted({_type_name(one) for one in others})
        ignored.append("ignored: the state of the objects: %s" % ", ".join(kinds))
    return ignored


_PLAIN = (types.CodeType, types.FunctionType, types.MethodType)
_OPTIMIZED = 1  # code of a function: its locals are no dictionary
_HAS_DOCSTRING = 0x4000000  # 3.14 on; before, a first constant that is a string is the docstring


def other_names(a: Any, b: Any) -> List[str]:
    """Names, docstrings and modules that differ, of functions or code objects, in words."""
    ignored = []
    code_a, code_b = getattr(a, "__code__", a), getattr(b, "__code__", b)
    pairs = [("names", code_a.co_name, code_b.co_name)]
    if isinstance(a, types.FunctionType) and isinstance(b, types.FunctionType):
        pairs = [("names", a.__name__, b.__name__)]
        pairs.append(("qualified names", a.__qualname__, b.__qualname__))
        pairs.append(("modules", a.__module__, b.__module__))
        docstrings = a.__doc__, b.__doc__
    else:
        docstrings = _docstring(code_a), _docstring(code_b)
    for what, one, other in pairs:
        if type(one) is not type(other) or one != other:
            ignored.append("ignored: the %s %s and %s" % (what, _shown(one), _shown(other)))
    if docstrings[0] is not docstrings[1] and _same(*docstrings) is not True:
        ignored.append("ignored: the docstrings")
    return ignored


def _docstring(code: types.CodeType) -> Any:
    if sys.version_info >= (3, 14) and not code.co_flags & _HAS_DOCSTRING:
        return None
    first = code.co_consts[0] if code.co_consts else None
    return first if code.co_flags & 2 and type(first) is str else None


def _annotated(function: types.FunctionType) -> bool:
    if hasattr(function, "__annotate__"):  # 3.14 on: reading __annotations__ would evaluate them
        if function.__annotate__ is not None:
            return True
    return bool(function.__annotations__)


def global_names(code: types.CodeType) -> Set[str]:
    """Names among which are all globals that `code` and the code objects in it use."""
    return {name for one in code_objects(code) for name in one.co_names}


def _loaded_names(code: types.CodeType) -> Set[str]:
    """The globals whose values decide what `code` and the code objects in it do: those that they
    load or delete. A name may be one of an attribute alone.
    """
    found: Set[str] = set()
    for one in code_objects(code):
        names, units = one.co_names, one.co_code
        for at in range(0, len(units) - 1, 2):
            shift = _READ_GLOBALS.get(units[at])
            if shift is None:
                continue
            if at and units[at - 2] == opcode.EXTENDED_ARG:  # a jump may lead behind it
                found.update(names)
            elif units[at + 1] >> shift < len(names):
                found.add(names[units[at + 1] >> shift])
    return found


def _imports_relatively(code: types.CodeType) -> bool:
    """Whether an import may be relative: its level, which is loaded before the names, is not 0."""
    for one in code_objects(code):
        units = one.co_code
        labels = set(dis.findlabels(units))  # type: ignore[arg-type]
        ran: List[Tuple[int, int, bool]] = []
        arg, reached = 0, False
        for at in range(0, len(units) - 1, 2):
            arg, reached = arg << 8 | units[at + 1], reached or at in labels
            if units[at] == opcode.EXTENDED_ARG:
                continue
            ran.append((units[at], arg, reached))
            arg, reached = 0, False
        for place, (op, _, _) in enumerate(ran):
            if op != _IMPORT:
                continue
            if place < 2 or ran[place][2] or ran[place - 1][2]:
                return True
            op, arg, _ = ran[place - 2]
            level = one.co_consts[arg : arg + 1] if op == _LOAD_CONST else (arg,)
            if op not in (_LOAD_CONST, _LOAD_INT) or not level or _same(level[0], 0) is not True:
                return True
    return False


def _called_builtins(code: types.CodeType) -> Set[str]:
    """The builtins that statements of `code` and of the code objects in it call."""
    ran = {op for one in code_objects(code) for op in one.co_code[::2]}
    return {name for op, name in _CALLED_BY.items() if opcode.opmap[op] in ran}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return _MISSING


def _global(function: types.FunctionType, name: str) -> Any:
    value = function.__globals__.get(name, _MISSING)
    return _builtin(function, name) if value is _MISSING else value


def _builtin(function: types.FunctionType, name: str) -> Any:
    return _builtins(function).get(name, _MISSING)


def _builtins(function: types.FunctionType) -> Any:
    if hasattr(function, "__builtins__"):  # 3.10 on: as they were when the function was made
        return function.__builtins__
    found = function.__globals__.get("__builtins__", {})
    return vars(found) if isinstance(found, types.ModuleType) else found


def _cells_correspond(cells_f: Tuple[Any, ...], cells_g: Tuple[Any, ...]) -> bool:
    """Whether variables that are one cell on one side are one on the other side.

    A cell of both sides is the same variable on both.
    """
    order_f = {id(cell): place for place, cell in reversed(list(enumerate(cells_f)))}
    order_g = {id(cell): place for place, cell in reversed(list(enumerate(cells_g)))}
    if [order_f[id(cell)] for cell in cells_f] != [order_g[id(cell)] for cell in cells_g]:
        return False
    return all(
        a is b or (id(a) not in order_g and id(b) not in order_f) for a, b in zip(cells_f, cells_g)
    )


def _compare_values(what: str, first: Any, second: Any, one: str) -> Tuple[str, str]:
    if set(first) != set(second):
        return "different", "%s of %s, but the other has those of %s" % (
            what,
            ", ".join(sorted(first)) or "nothing",
            ", ".join(sorted(second)) or "nothing",
        )
    for name in sorted(first):
        a, b = first[name], second[name]
        same = _same(a, b)
        if same is True:
            continue
        place = one % name
        if same is None:
            return "unproven", "%s is another object" % place
        return "different", "%s is %s, but the other's is %s" % (place, _shown(a), _shown(b))
    alike = _alike(first, second)
    if alike:
        return "unproven", "%s and %s are one object on one side alone" % tuple(
            one % name for name in alike
        )
    return "", ""


def _alike(first: Dict[str, Any], second: Dict[str, Any]) -> Optional[Tuple[str, str]]:
    """Two names that have one object on one side, and two equal ones on the other."""
    seen: Tuple[Dict[int, str], Dict[int, str]] = ({}, {})
    for name in sorted(first):
        known = [names.setdefault(id(v[name]), name) for names, v in zip(seen, (first, second))]
        if known[0] != known[1]:
            return min(known), name
    return None


def _same(a: Any, b: Any) -> Any:
    """True, False, or None where nobody knows: two objects that are no literals."""
    pending = [(a, b)]
    seen: Set[Tuple[int, int]] = set()  # tuples share what they hold
    while pending:
        x, y = pending.pop()
        if x is y:
            continue
        if x is _MISSING or y is _MISSING:
            return False
        if type(x) is tuple and type(y) is tuple and len(x) == len(y):
            if (id(x), id(y)) not in seen:
                seen.add((id(x), id(y)))
                pending.extend(zip(x, y))
            continue
        if not is_one_of(type(x), _LITERALS) or not is_one_of(type(y), _LITERALS):
            return None if type(x) is type(y) else False
        if type(x) is not type(y):
            return False
        if type(x) in (float, complex) and repr(x) == repr(y):
            if x != y:
                return None  # a NaN is no other NaN; who has both may tell them apart
            continue
        if x != y or type(x) in (float, complex):  # repr tells 0.0 from -0.0
            return False
    return True


def _type_name(value: Any) -> str:
    return str(type.__dict__["__qualname__"].__get__(type(value)))


def _shown(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    items = value if type(value) is tuple else (value,)
    if len(items) > _MOST_SHOWN or not all(is_one_of(type(one), _LITERALS) for one in items):
        return "of type %s" % _type_name(value)
    for one in items:
        if type(one) is int and one.bit_length() > _MOST_BITS:
            return "an integer of %d bits" % one.bit_length()  # CPython may refuse to write it
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
