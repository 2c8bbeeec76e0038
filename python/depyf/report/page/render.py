"""Rendering: the page's data from runs, and the text that the template makes of it."""

import json
import re
from typing import Any, List, Optional, Tuple

from depyf import advise
from depyf.files import write_atomically
from depyf.report import collectives, flow, overview, runtime, words
from depyf.report.page.front import (
    bar_of,
    cause_rows,
    figures,
    function_rows,
    phases,
    time_of,
    title_of_run,
)
from depyf.report.page.sources import functions_with_source
from depyf.report.page.template import page_template
from depyf.report.page.view import view_of
from depyf.report.texts import Pool, packed, visible
from depyf.schema import Document

#: characters of all texts beyond which texts that are rarely read are only linked
_EMBEDDED = 96 * 1024 * 1024
#: characters of all texts up to which they stand in the page as text, which needs no scripts
_PLAIN = 256 * 1024


def write(path: str, text: str) -> None:
    """Writes the page in one step, so that a reader never sees half of it."""
    write_atomically(path, text, "backslashreplace")


#: how JSON in ASCII writes what `visible` names, and other characters
_MAY_BE_ODD = re.compile(r"\\[urbf]|\x7f")


def _visible_all(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _visible_all(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible_all(one) for one in value]
    return value


def _data(value: Any) -> str:
    """JSON of which each string can be shown: ASCII without a NUL, whatever the strings hold."""
    text = json.dumps(value, separators=(",", ":"), default=repr)
    if _MAY_BE_ODD.search(text) is None:
        return text
    return json.dumps(_visible_all(value), separators=(",", ":"), default=repr)


def render(runs: List[Document], folder: str, advice: Optional[advise.Advice] = None) -> str:
    """The page's text.

    Args:
        runs: documents of `depyf.report.document`; more than one are ranks.
        folder: where the page will stand, to which links to plain files are relative.
        advice: the changes of the runs, where they are known.
    """
    if advice is None:
        advice = advise.Advice(runs[0], overview.nodes_of(runs))
    nodes = advice.nodes
    profiles = runtime.profiles_of(runs, nodes)
    pool = Pool()
    parents = functions_with_source(runs)
    budget = [_EMBEDDED]
    views = [view_of(node, pool, parents, folder, budget) for node in nodes]
    plain = pool.size() <= _PLAIN
    said = Pool()  # torch's own words, which the template meets

    def packs() -> List[Tuple[str, List[Tuple[int, str]]]]:
        return [
            ("text", [] if plain else packed(pool.texts)),
            ("raw", packed(said.texts)),
            ("graph", packed([_data(value) for value in pool.values])),
            ("compile", packed([_data(view["data"]) for view in views])),
        ]

    causes = cause_rows(advice)
    avoidable = overview.avoidable(nodes, advice.spared())
    total = sum(node.seconds for node in nodes)
    slowest = sorted(nodes, key=lambda node: -node.seconds)
    return page_template().render(
        title=title_of_run(runs),
        runs=runs,
        first=runs[0],
        names_its_value=words.names_its_value,
        exception=lambda run: words.of_exception(run.get("raised_at") or {}),
        nodes=nodes,
        views=views,
        texts=pool.texts,
        plain=plain,
        packs=packs,
        number_of=lambda text: said.add(str(text) or " "),
        causes=causes,
        avoidable=avoidable,
        avoidable_overlap=overview.overlap(avoidable).lstrip(", ").capitalize(),
        profiles=profiles,
        flows=flow.draw(nodes),
        again=next((one for one in nodes if "~" in one.key and one.reset), None),
        kernels=any(node.kernels for node in nodes),
        tiles=figures(nodes),
        total=total,
        times=[bar_of(node, slowest[0].seconds) for node in slowest if node.seconds][:25],
        timed=sum(1 for node in nodes if node.seconds),
        phases=phases(nodes, total),
        phase_words={name: (label, what) for name, label, what in overview.PHASES},
        functions=function_rows(nodes),
        problems=[dict(problem, run=run) for run in runs for problem in run.get("problems") or ()],
        unavailable=sorted(
            {item for run in runs for item in (run.get("unavailable") or {}).items()}
        ),
        ranks=overview.divergence(runs) if len(runs) > 1 else [],
        meetings=collectives.meetings(runs) if len(runs) > 1 else [],
        met=[collectives.counted(collectives.of_run(run)) for run in runs] if len(runs) > 1 else [],
        seen=set(),
        when=time_of(runs[0]),
    )
