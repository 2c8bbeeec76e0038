"""Where the numbers go that a compiled function is given: into functions of math, into operators,
into what Python decides. Read from the source, through assignments and the program's own functions.
"""

import ast
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Sequence,
    Set,
    Tuple,
)

from depyf.advice import uses


class Use(NamedTuple):
    """Where numbers of the compiled function go."""

    #: one of those below
    kind: str
    #: the function as the program spells it, "" for what is no call
    called: str
    #: the numbers
    names: FrozenSet[str]
    file: str
    line: int


#: a function of math that torch has, too, for a tensor
MATH = "math"
#: another function of math, numpy or scipy
OUTSIDE = "outside"
#: a branch, a range, a text, another number: Python needs the value
NEEDED = "needed"
#: a function or a method, of torch's as a rule
OPERATOR = "operator"

#: stands among the `names` of a use for what a function of math gives
RESULT = "math()"
#: functions of math that torch has under the same name
_OF_TORCH = frozenset(
    "acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2 "
    "sin sinh sqrt tan tanh".split()
)
#: functions of Python that give a number where they are given numbers, a tensor where a tensor
_OF_BOTH = ("abs", "max", "min", "pow", "sum")
#: and those that need a number
_NEED_NUMBERS = ("bool", "float", "int", "range", "repr", "round", "str")
#: how deep calls are followed
_DEEPEST = 8

_Names = FrozenSet[str]
#: the numbers that a function has, by its names for them -> those that they are computed from
_Known = Dict[str, _Names]
Place = Tuple[str, int]


def number_uses(
    place: Place,
    numbers: Iterable[str],
    stacks: Sequence[Sequence[Place]] = (),
    fixed: Iterable[str] = (),
) -> List[Use]:
    """What a program does with numbers that a function is given, or with what it computes from
    numbers alone.

    Args:
        place: (file, line) where the function, or the rest of it, begins.
        numbers: names of numbers, as the function has them: `t`, `self.scale`.
        stacks: (file, line) of frames that torch met, outermost first: what a line calls.
        fixed: names of numbers that stay as they are, as those of a configuration do.
    """
    function = uses.function_starting_at(*place) or uses.function_around(*place)
    called: Dict[Place, Set[Place]] = {}
    for stack in stacks:
        for outer, inner in zip(stack, stack[1:]):
            called.setdefault(outer, set()).add(inner)
    found: Dict[Use, None] = {}
    known: _Known = {one: frozenset() for one in fixed}
    known.update((one, frozenset((one,))) for one in numbers)
    work = [(place[0], function, known, 0)]
    seen = set()
    while work:
        file, function, known, depth = work.pop()
        tree = uses.parsed(file)
        state = file, getattr(function, "lineno", 0), frozenset(known.items())
        if tree is None or function is None or state in seen or depth > _DEEPEST:
            continue
        seen.add(state)
        reader = _Reader(tree, file, called, dict(known))
        reader.read(function)
        found.update((one, None) for one in reader.found)
        work += [inner + (depth + 1,) for inner in reader.calls]
    return sorted(found, key=lambda one: (one.file, one.line))


class _Reader:
    """Reads one function; `found` are its uses, `calls` the functions of the program that it hands
    numbers to, each as (file, function, what that knows).
    """

    def __init__(
        self, tree: ast.Module, file: str, called: Dict[Place, Set[Place]], known: _Known
    ) -> None:
        self.tree, self.file, self.called, self.known = tree, file, called, known
        self.imported = uses.imported(tree)
        self.found: List[Use] = []
        self.calls: List[Tuple[str, Any, _Known]] = []

    def read(self, function: Any) -> None:
        nodes: List[Any] = [one for one in ast.walk(function) if hasattr(one, "lineno")]
        nodes.sort(key=lambda one: (one.lineno, one.col_offset))
        for _ in range(2):  # what a round of a loop assigns, the next one reads
            del self.found[:], self.calls[:]
            for node in nodes:
                self._look_at(node)
                for target, value in _assigned(node):
                    name = uses.path_of(target)
                    held = self.number(value)
                    if isinstance(node, ast.AugAssign) and held is not None:
                        before = self.number(target)
                        held = held | before if before is not None else None
                    if name and held is not None:
                        self.known[name] = held
                    else:
                        self.known.pop(name, None)

    def number(self, node: Any) -> Any:
        """The numbers from which one is computed; None for what may be no number."""
        if isinstance(node, ast.Constant):
            of_number = isinstance(node.value, (int, float))
            return frozenset() if of_number else None
        if isinstance(node, (ast.Name, ast.Attribute)):
            path = uses.path_of(node)
            if uses.of_module(self.tree, path).startswith("math."):
                return frozenset()  # math.pi
            return self.known.get(path)
        parts: List[Any] = []
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            parts = [node.operand]
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.Compare):
            parts = [node.left] + node.comparators
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, ast.Call) and not node.keywords and node.args:
            name = getattr(node.func, "id", "")
            if not (
                name in _OF_BOTH + _NEED_NUMBERS
                or self.module_of(node).partition(".")[0] == "math"
                or any(self.functions(node))
            ):
                return None
            if self.module_of(node).startswith("math."):
                return self._all_held(node.args) | {RESULT}  # takes numbers alone
            parts = node.args
        held = [self.number(one) for one in parts]
        if not held or any(one is None for one in held):
            return None
        return frozenset().union(*held)

    def held(self, node: Any) -> _Names:
        """The numbers that go into an expression, wherever they stand in it."""
        whole = self.number(node)
        if whole is not None:
            return frozenset(whole)
        return self._all_held(_inside(node))

    def _all_held(self, nodes: Iterable[Any]) -> _Names:
        return frozenset().union(*map(self.held, nodes))

    def module_of(self, call: ast.Call) -> str:
        """The function that a call calls, as its module names it; a method as it is spelt."""
        path = uses.path_of(call.func)
        return uses.of_module(self.tree, path) if path.partition(".")[0] in self.imported else path

    def _look_at(self, node: Any) -> None:
        if isinstance(node, ast.Call):
            self._look_at_call(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            if self.number(node.left) is None:
                self._use(OPERATOR, "**", self.number(node.right) or frozenset(), node)
        elif isinstance(node, ast.FormattedValue):
            self._use(NEEDED, "", self.number(node.value) or frozenset(), node)
        for test in uses.tests_of(node):
            for one in _conditions(test):
                self._use(NEEDED, "", self.number(one) or frozenset(), test)
        if isinstance(node, ast.Subscript):
            self._use(NEEDED, "", self.number(uses.unwrapped(node.slice)) or frozenset(), node)

    def _look_at_call(self, call: ast.Call) -> None:
        given = list(call.args) + [one.value for one in call.keywords]
        whole = self.module_of(call)
        module, _, name = whole.rpartition(".")
        spelt = uses.path_of(call.func)
        names = frozenset().union(*[self.number(one) or frozenset() for one in given])
        if module == "math":
            names = self._all_held(given)
            in_torch = name in _OF_TORCH and len(given) == 1 or name == "pow" and len(given) == 2
            self._use(MATH if in_torch else OUTSIDE, spelt, names, call)
        elif whole.partition(".")[0] in uses.OF_PYTHON:
            self._use(OUTSIDE, spelt, names, call)
        elif not module and name in _NEED_NUMBERS:
            self._use(NEEDED, "", names, call)
        elif module or name not in _OF_BOTH:
            functions = list(self.functions(call))
            for file, function in functions:
                self._hand_on(call, file, function)
            if not functions:
                called = spelt or getattr(call.func, "attr", "")
                inside = frozenset().union(*map(self.held, _of_containers(given)))
                self._use(OPERATOR, called, names | inside, call)

    def _use(self, kind: str, called: str, names: _Names, node: Any) -> None:
        if names - {RESULT}:
            self.found.append(Use(kind, called, names, self.file, int(node.lineno)))

    def functions(self, call: ast.Call) -> Iterator[Tuple[str, Any]]:
        """(file, function) of the program's own that a call may mean: the only one of that name in
        the file, or what torch met in this call.
        """
        name = getattr(call.func, "attr", None) or getattr(call.func, "id", "")
        found = uses.only_named(self.tree, name)
        if name == "apply" and isinstance(call.func, ast.Attribute):
            found = uses.forward_of(self.tree, uses.path_of(call.func.value)) or found
        if found is not None:
            yield self.file, found
            return
        for line in range(call.lineno, uses.last_line(call) + 1):
            for file, at in sorted(self.called.get((self.file, line), ())):
                function = uses.function_around(file, at)
                if function is not None and function.name in (name, "forward", "__call__"):
                    yield file, function

    def _hand_on(self, call: ast.Call, file: str, function: Any) -> None:
        given = uses.given_by(call, function)
        known = {name: self.number(value) for name, value in given.items()}
        for name, value in given.items():  # the attributes of an object that is handed on
            begin = uses.path_of(value) + "."
            known.update(
                (name + one[len(begin) - 1 :], held)
                for one, held in self.known.items()
                if begin != "." and one.startswith(begin)
            )
        if uses.path_of(call.func).startswith("self."):  # the same object
            known.update(
                (name, held) for name, held in self.known.items() if name.startswith("self.")
            )
        held = {name: one for name, one in known.items() if one is not None}
        if any(held.values()):
            self.calls.append((file, function, held))


def _assigned(node: Any) -> Iterator[Tuple[Any, Any]]:
    return uses.stores_of(node) if isinstance(node, ast.stmt) else iter(())


def _inside(node: Any) -> List[Any]:
    return [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]


def _of_containers(given: List[Any]) -> List[Any]:
    """The elements of the lists and tuples that a call is given."""
    kinds = (ast.List, ast.Tuple)
    return [one for each in given if isinstance(each, kinds) for one in each.elts]


def _conditions(test: Any) -> List[Any]:
    """The single conditions of one that `and`, `or` and `not` join."""
    if isinstance(test, ast.BoolOp):
        return [one for each in test.values for one in _conditions(each)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _conditions(test.operand)
    if isinstance(test, ast.Compare) and any(
        isinstance(one, (ast.Is, ast.IsNot)) for one in test.ops
    ):
        return []  # which object it is, no value decides
    return [test]


def to_be_tensors(found: Sequence[Use], name: str) -> Tuple[List[str], List[Use]]:
    """(the fewest numbers that make a tensor of what each function of math is given, those
    functions), of the ones that a number goes into, and of the ones with which they share numbers.
    """
    of_math = [one for one in found if one.kind == MATH]
    names, met = {name}, []
    while True:
        lines = {(one.file, one.line) for one in of_math if one.names & names}
        met = [one for one in of_math if (one.file, one.line) in lines]
        more = {each for one in met for each in one.names} - names - {RESULT}
        if not more:
            groups = [one.names - {RESULT} for one in met]
            return sorted(_fewest(sorted(names), groups)), met
        names |= more


def _fewest(names: List[str], groups: List[_Names]) -> List[str]:
    """Names of which each group has one; those that are in most groups first."""
    wanted: List[str] = []
    left = list(groups)
    while left:
        best = max(names, key=lambda one: (sum(one in group for group in left), names[::-1]))
        wanted.append(best)
        left = [group for group in left if best not in group]
    return wanted
