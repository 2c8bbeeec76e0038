"""Who writes a model; it knows none of them."""

from typing import TYPE_CHECKING, Any, Callable, List, Optional

if TYPE_CHECKING:
    from depyf.model.entry import Entry
    from depyf.model.facts import GraphBreak
    from depyf.model.run import Function, Run


class Writers:
    """What the methods of a run, function and entry call; `depyf.torch` sets all of them."""

    dump: Callable[["Run", str], str]
    page: Callable[["Run", Optional[str]], Any]
    run_html: Callable[["Run"], str]
    function_html: Callable[["Function"], str]
    entry_html: Callable[["Entry"], str]
    advice: Callable[["GraphBreak"], List[str]]
