"""What to change in a program: rows of plain words and advice, each with a pair of programs.

`breaks.ROWS` are about graph breaks and failures, `recompiles.ROWS` about guards that failed.
Advice is only what has a pair: a program that shows the problem, and the same program after the
advice, in which it is gone and the results are equal; tests/torch/test_advice.py runs them. All
else that helps is torch's own hint and is shown as such.
"""

import re
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterable,
    Mapping,
    NamedTuple,
    Optional,
    Pattern,
    Sequence,
    Tuple,
)


class Help(NamedTuple):
    """One piece of advice, with a pair of programs that leave `result`."""

    #: may hold `{name}`, which the row's `names` fill in
    text: str
    before: str
    after: str
    #: what `depyf run --advise` proposes as code, or ""
    patch: str


class Row(NamedTuple):
    """What is said of one kind of graph break, failure or guard."""

    key: str
    #: torch's numbers of graph breaks
    ids: Tuple[str, ...]
    #: finds it in torch's name for it
    reason: Optional[Pattern[str]]
    #: finds it in all that torch says
    where: Optional[Pattern[str]]
    #: has named groups
    names: Optional[Pattern[str]]
    #: what happened, in plain words
    words: str
    help: Tuple[Help, ...]


#: names that torch makes up, which stand in no source of the program's
_TORCHS = re.compile(
    r"(?<![\w.])(___\w+"
    r"|__(nested|resume|compiled_fn|builtins_dict|import|transformed|gen_rand)_\w+)"
)


def keep_to_program(said: Dict[str, Any]) -> None:
    """Takes out advice with a name of torch's: no line of a program can be changed by it.

    Args:
        said: of a break, a recompile or a failure; its `help` and `patches` stay of equal length.
    """
    kept = [number for number, one in enumerate(said["help"]) if not _TORCHS.search(one)]
    if len(kept) < len(said["help"]):
        patches = said.get("patches") or ()
        said["patches"] = [patches[number] for number in kept if number < len(patches)]
        said["help"] = [said["help"][number] for number in kept]


#: rows of what torch does by design: nothing to mend, so they follow all else
NORMAL = ("optimizer's break", "optimizer's state", "training mode")

#: rows for which torch's own hint would mislead: as a custom operator, two calls of what gives
#: another result each time may be merged into one, and with trace_autograd_ops a backward pass may
#: compute no gradients
WITHOUT_HINTS = NORMAL + (
    "backward",
    "gradient",
    "gradient of a gradient",
    "packed sequence",
    "item that decides",
    "item that picks the largest",
    "item that orders",
    "item that is printed",
    "item as an index",
    "item in a list",
    "item in a dict",
    "item that updates a number",
    "item beside a counter",
    "item beside a number",
    "item in a function of math",
    "item in a list by a hook",
    "list of any length",
    "index into numpy's array",
    "distinct values that decide",
    "bool of a size",
    "member of a tensor",
    "drawn by Python",
    "element drawn by Python",
    "number drawn by Python",
    "branch on a drawn number",
    "loop by a drawn number",
    "clock",
    "clock that decides",
)

#: rows that say what helps, but of a recompile that is normal: no change that is worth most
NO_ACTION = (
    "size 0 or 1",
    "size from 2",
    "number 0 or 1",
    "number that chooses",
    "condition of a library",
    "cache state",
    "text that chooses",
    "class of a module",
    "number of modules",
    "value of objects in turn",
    "another optimizer",
)

#: rows of what is one of a few, so that an entry is for one of them
OF_A_FEW = (
    "given or None",
    "none",
    "flag",
    "text",
    "text that chooses",
    "value",
    "member of a set",
    "value of each object",
    "class of a module",
    "number of modules",
    "what a set holds",
    "requires_grad",
)

#: rows of recompiles because of the mode in which a function is called
MODES = ("global state", "setting", "inference mode", "training mode")

#: how the advice begins for a branch with a side that raises, prints, leaves a loop
OUTSIDE = "If a side raises,"
#: for one with a side that prints beside what it computes
PRINTS = "If a side prints or logs"
#: and for one with a side that makes a list
OF_LIST = "If a side makes a list"


#: what ends each piece of advice that names torch.where
OF_WHERE = (
    " torch.where computes both sides, and a NaN in the side that is not taken reaches the "
    "gradient."
)


def helps(text: str, before: str, after: str, patch: str = "") -> Help:
    """One piece of advice with its pair; what holds wherever torch.where is, is told with each."""
    text += OF_WHERE if "torch.where" in text else ""
    return Help(text, before.strip("\n") + "\n", after.strip("\n") + "\n", patch)


_SETTING = re.compile(r"\btorch\._dynamo\.config\.(\w+) = (?:True|False)\b")


def settings_in(text: str) -> FrozenSet[str]:
    """The settings of torch that a piece of advice or a patch changes, by their names."""
    return frozenset(_SETTING.findall(text))


def row(
    key: str,
    words: str,
    help: Iterable[Help],
    ids: Iterable[str] = (),
    reason: str = "",
    where: str = "",
    names: str = "",
) -> Row:
    """One row; see `Row`."""
    patterns = [re.compile(text, re.IGNORECASE) if text else None for text in (reason, where)]
    found = re.compile(names) if names else None
    return Row(key, tuple(ids), patterns[0], patterns[1], found, words, tuple(help))


def filled(text: str, names: Mapping[str, str]) -> Optional[str]:
    """The text with `{name}` replaced by the name; None where one of the names is not known."""
    wanted = re.findall(r"\{(\w+)\}", text)
    if any(not names.get(name) for name in wanted):
        return None
    for name in wanted:
        text = text.replace("{%s}" % name, names[name])
    return text


#: how names begin that torch does not spell as programs do: methods of hidden objects, and modules
#: in C behind public ones
_HIDDEN = (
    (re.compile(r"^<unknown module>\.Random\."), "random."),
    (re.compile(r"^<unknown module>\."), ""),
    (re.compile(r"^(posix|nt)\.(?=\w+\.?$)"), "os."),
    (re.compile(r"\.__(new|init)__$"), ""),  # a program calls the class
    (re.compile(r"^_(?!thread\b)([a-z]+\.)"), r"\1"),
)


def _spelt(name: str) -> str:
    """A name as a program spells it: `random.random` where torch says
    `<unknown module>.Random.random`, `warnings.warn` where it says `_warnings.warn`, `tqdm` where
    it says `tqdm.__new__`.
    """
    for pattern, spelt in _HIDDEN:
        name = pattern.sub(spelt, name)
    return name


def find(
    rows: Sequence[Row], number: str, reason: str, said: str, hints: str = ""
) -> Tuple[Optional[Row], Dict[str, str]]:
    """(row, names) of the first row that fits, or (None, {}).

    Args:
        rows: where to look, in order.
        number: torch's number of the break such as "GB0170", "" where it has none.
        reason: torch's name for it.
        said: all that torch says of it, the name included, and the line of source after "> ".
        hints: torch's hints, in which names may stand, too.
    """
    for one in rows:
        known = number in one.ids if number else False
        if not known and not (one.reason is not None and one.reason.search(reason)):
            continue
        if one.where is not None and not one.where.search(said):
            continue
        match = one.names.search(said + "\n" + hints) if one.names is not None else None
        names = {}
        for key, value in match.groupdict().items() if match else ():
            if value:
                names[re.sub(r"\d+$", "", key)] = _spelt(value.rstrip("."))
        return one, names
    return None, {}
