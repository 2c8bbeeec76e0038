"""Rendering: the page's data from runs, the template around it, the policy over it."""

import base64
import datetime
import functools
import hashlib
import io
import json
import os
import re
from operator import itemgetter
from typing import Any, Dict, Iterable, List, Optional, Tuple

from depyf import advise, schema, summary
from depyf.files import write_atomically
from depyf.report import collectives, flow, graphs, overview, runtime, words
from depyf.report.base import MARK, ReportError
from depyf.report.overview import Node
from depyf.report.texts import Pool, packed, visible
from depyf.report.words import outcome, short
from depyf.schema import Document
from depyf.trace.guard_text import state_in_words, state_of, tensor_in_words

#: what the template or the script reads of one thing, by name
Row = Dict[str, Any]
#: file and name -> functions whose source is known
Parents = Dict[Tuple[Any, Any], List[Document]]

_ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "assets")

#: stage -> what it is called on the page; their order is that of `depyf.schema`
_TITLES = {
    "Captured_Graph": "Graph: captured",
    "BEFORE_PRE_GRAD": "Graph: before pre-grad passes",
    "AFTER_PRE_GRAD": "Graph: after pre-grad passes",
    "Joint_graph": "Graph: joint",
    "BEFORE_JOINT": "Graph: before joint passes",
    "AFTER_JOINT": "Graph: after joint passes",
    "Forward_graph": "Graph: forward (AOT)",
    "Backward_graph": "Graph: backward (AOT)",
    "BEFORE_POST_GRAD": "Graph: before post-grad passes",
    "AFTER_POST_GRAD": "Graph: after post-grad passes",
    "kernel": "Kernels",
}
_VERDICTS = {
    "exact": ("✓", "proven exact", "good"),
    "equivalent": ("✓", "proven equivalent", "good"),
    "unproven": ("≠", "not proven, torch's own bytecode runs", "bad"),
    "different": ("≠", "not proven, torch's own bytecode runs", "bad"),
    "refused": ("≡", "kept as torch made it", "mild"),
}
#: characters of all texts beyond which texts that are rarely read are only linked
_EMBEDDED = 96 * 1024 * 1024
#: runs before anything is drawn, so that what is for readers without scripts, and rows beyond the
#: first ones, are never laid out
FIRST = 'document.documentElement.classList.add("js")'
#: characters of all texts up to which they stand in the page as text, which needs no scripts
_PLAIN = 256 * 1024
_EVENTS = 400
#: links of one compile to its callers, and to what it calls: with hundreds of entries each would
#: link to each
_LINKS = 32


def write(path: str, text: str) -> None:
    """Writes the page in one step, so that a reader never sees half of it."""
    write_atomically(path, text, "backslashreplace")


def _asset(name: str) -> str:
    with io.open(os.path.join(_ASSETS, name), encoding="utf-8") as stream:
        return stream.read()


def _hash(text: str) -> str:
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode(
        "ascii"
    )


def _finalized(value: Any) -> Any:
    # most values are markup, or texts of no class of their own
    if type(value) is str:
        return value if value.isprintable() else visible(value)
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value)
    return value


@functools.lru_cache(maxsize=None)
def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "the report needs Jinja2; install it with `pip install jinja2`"
        ) from error
    try:
        # compiling the template takes longer than filling it in: Jinja2 keeps what it compiled
        cache = jinja2.FileSystemBytecodeCache()
    except (OSError, RuntimeError):  # there is no such folder, or it is not the user's alone
        cache = None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS),
        bytecode_cache=cache,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters.update(seconds=_seconds, place=_place, base=os.path.basename)
    environment.filters.update(short=_short)
    environment.filters.update(cache=_asked_caches)
    environment.filters.update(each=runtime.short_time, bytes=runtime.short_bytes)
    environment.globals.update(source_line=source_line)
    try:
        script, style = _asset("page.js"), _asset("page.css")
    except FileNotFoundError:
        raise ReportError("this depyf was installed without its page: build it with pip")
    from markupsafe import Markup

    policy = (
        "default-src 'none'; script-src %s; style-src %s; img-src data:; "
        "base-uri 'none'; form-action 'none'" % (_hash(FIRST) + " " + _hash(script), _hash(style))
    )
    environment.globals.update(
        script=Markup(script),
        style=Markup(style),
        first_script=Markup(FIRST),
        policy=policy,
        icon=_icon(),
        outcome=outcome,
        mark=Markup(MARK),
    )
    try:
        return environment.get_template("page.html")
    except OSError:  # the cache cannot be written
        environment.bytecode_cache = None
        return environment.get_template("page.html")


def source_line(place: str, node: Node, source: Tuple[int, int]) -> Optional[int]:
    """The line of "file:line" where it is one of the source that the page shows of a compile.

    Args:
        source: the numbers of the source's first line and of the line behind its last one.
    """
    path, _, number = place.rpartition(":")
    if not path or not number.isdecimal():
        return None
    file = str(node.place[0])  # that of a profile is relative to where the program ran
    if file != path and not file.endswith("/" + path):
        return None
    return int(number) if source[0] <= int(number) < source[1] else None


def load() -> None:
    """Loads Jinja2 and the template, so that the first page takes no longer than the others."""
    _template()


def _icon() -> str:
    picture = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
        "<rect width='16' height='16' rx='4' fill='#0f766e'/><path d='M4 5h8M4 8h5M4 11h7' "
        "stroke='#fff' stroke-width='1.6' stroke-linecap='round'/></svg>"
    )
    return "data:image/svg+xml;base64," + base64.b64encode(picture.encode("ascii")).decode("ascii")


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


def _seconds(value: float) -> str:
    """Seconds as people say them."""
    if value >= 100:
        return "%d s" % round(value)
    if value >= 1:
        return "%.1f s" % value
    if value >= 0.001:
        return "%d ms" % round(value * 1000)
    return "0 ms" if value <= 0 else "<1 ms"


def _place(pair: Tuple[str, int]) -> str:
    filename, line = pair
    if filename.startswith("<eval_with_key>"):
        return "traced by torch"
    name = os.path.basename(filename) or filename
    return "%s:%d" % (name, line) if line else name


#: a path as a text has it, up to the file's name
_FOLDERS = re.compile(r"(?<!\S)(?:[A-Za-z]:)?[\\/](?:[^\s\\/:]+[\\/])+(?=[^\s\\/]+:\d+)")


def _short(text: str) -> str:
    """A text with the names of files in place of their paths."""
    return _FOLDERS.sub("", text)


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
    parents = _parents(runs)
    budget = [_EMBEDDED]
    views = [_view(node, pool, parents, folder, budget) for node in nodes]
    plain = pool.size() <= _PLAIN
    said = Pool()  # torch's own words, which the template meets

    def packs() -> List[Tuple[str, List[Tuple[int, str]]]]:
        return [
            ("text", [] if plain else packed(pool.texts)),
            ("raw", packed(said.texts)),
            ("graph", packed([_data(value) for value in pool.values])),
            ("compile", packed([_data(view["data"]) for view in views])),
        ]

    causes = _causes(advice)
    avoidable = overview.avoidable(nodes)
    total = sum(node.seconds for node in nodes)
    slowest = sorted(nodes, key=lambda node: -node.seconds)
    return _template().render(
        title=_title(runs),
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
        tiles=_tiles(nodes),
        total=total,
        times=[_bar(node, slowest[0].seconds) for node in slowest if node.seconds][:25],
        timed=sum(1 for node in nodes if node.seconds),
        phases=_phases(nodes, total),
        phase_words={name: (label, what) for name, label, what in overview.PHASES},
        functions=_functions(nodes),
        problems=[dict(problem, run=run) for run in runs for problem in run.get("problems") or ()],
        unavailable=sorted(
            {item for run in runs for item in (run.get("unavailable") or {}).items()}
        ),
        ranks=overview.divergence(runs) if len(runs) > 1 else [],
        meetings=collectives.meetings(runs) if len(runs) > 1 else [],
        met=[collectives.counted(collectives.of_run(run)) for run in runs] if len(runs) > 1 else [],
        seen=set(),
        when=_when(runs[0]),
    )


def _title(runs: List[Document]) -> str:
    if runs[0].get("program", "").endswith((".py", ".pyc")):
        return os.path.basename(runs[0]["program"])
    for run in runs:
        for function in run.get("functions", ()):
            if not function.get("is_resume") and function.get("filename"):
                return os.path.basename(function["filename"])
    return runs[0].get("label") or "torch.compile"


def _when(run: Document) -> str:
    started = run.get("started")
    if not isinstance(started, (int, float)) or started <= 0:
        return ""
    try:
        # strftime would call that of the module `time`, which may be the program's own
        moment = datetime.datetime.fromtimestamp(started).timetuple()
        return "%04d-%02d-%02d %02d:%02d" % moment[:5]
    except (OverflowError, OSError, ValueError):
        return ""


def _causes(advice: advise.Advice) -> List[Dict[str, Any]]:
    """What to look at first, with figures and in the order of the changes of `depyf.advise`; then
    that for which there is no change.
    """
    ranks = advice.ranked()
    rows = overview.alike(advice.causes)
    for row in rows:
        known = [ranks[id(one)] for one in row["places"] if id(one) in ranks]
        first = min(known, key=lambda one: one[0]) if known else (0, "", "")
        row["rank"], row["saved"], row["gone"] = first
    return sorted(rows, key=lambda row: row["rank"] or len(advice.causes) + 1)


def _tiles(nodes: List[Node]) -> List[Row]:
    entries = [node.entry for node in nodes]
    breaks = sum(len(node.breaks) for node in nodes)
    # the number has a place of its own
    lines = {
        summary.place_of_break(*one)
        for node in nodes
        for one in zip(node.entry["breaks"], node.breaks)
    }
    said = summary.graph_breaks(breaks, len(lines)).split(" ", 1)[1]
    recompiles = sum(1 for node in nodes if node.reasons and not node.is_limit)
    hits = sum(
        1 for entry in entries for event in entry.get("cache") or () if event.get("result") == "hit"
    )
    failed = sum(1 for entry in entries if entry.get("failure"))
    made = [node for node in nodes if node.entry.get("name")]
    replaced = sum(1 for node in made if node.entry.get("replaced"))
    proven = sum(1 for node in made if node.entry.get("verdict") in ("exact", "equivalent"))
    tiles = [
        {
            "mark": "▣",
            "number": len(nodes),
            "label": "compile" if len(nodes) == 1 else "compiles",
            "tone": "",
        },
        {
            "mark": "✂",
            "number": breaks,
            "label": said,
            "tone": "warn" if breaks else "",
        },
        {
            "mark": "↻",
            "number": recompiles,
            "label": "recompile" if recompiles == 1 else "recompiles",
            "tone": "warn" if recompiles else "",
        },
    ]
    if failed:
        came = "compile that made no code" if failed == 1 else "compiles that made no code"
        tiles.append({"mark": "✕", "number": failed, "label": came, "tone": "bad"})
    if hits:
        tiles.append(
            {
                "mark": "⤓",
                "number": hits,
                "label": "hit%s in torch's caches of compiled graphs" % ("" if hits == 1 else "s"),
                "tone": "",
            }
        )
    if made:
        tiles.append(
            {
                "mark": "✓" if proven == len(made) else "✕",
                "number": "%d of %d" % (proven, len(made)),
                "label": "proven the same" + (", %d replaced" % replaced if replaced else ""),
                "tone": "good" if proven == len(made) else "warn",
            }
        )
    return tiles


def _asked_caches(entry: Document) -> List[Tuple[Document, str]]:
    """(an answer of one of torch's caches, of which graph) for each of a compile."""
    events = entry.get("cache") or []
    backward = any(one.get("stage") == "Backward_graph" for one in entry.get("artifacts") or ())
    return list(zip(events, words.graphs_asked_for(events, backward)))


def _phases(nodes: List[Node], total: float) -> List[Row]:
    sums = {
        name: sum(node.phases.get(name, 0.0) for node in nodes) for name, _, _ in overview.PHASES
    }
    bar, x = [], 0.0
    for name, label, what in overview.PHASES:
        if sums[name] > 0:
            width = 1000.0 * sums[name] / total
            bar.append(
                {
                    "name": name,
                    "label": label,
                    "what": what,
                    "seconds": sums[name],
                    "x": round(x, 2),
                    "width": round(width, 2),
                }
            )
            x += width
    return bar


def _bar(node: Node, longest: float) -> Row:
    parts, x = [], 0.0
    for name, _, _ in overview.PHASES:
        if name in node.phases:
            width = 1000.0 * node.phases[name] / longest
            parts.append({"name": name, "x": round(x, 2), "width": round(max(width, 0.5), 2)})
            x += width
    return {"node": node, "parts": parts}


def _functions(nodes: List[Node]) -> List[Row]:
    """Rows of the list of functions, by the time that their compiles took."""
    rows: Dict[int, Row] = {}
    for node in nodes:
        identity = id(node.function) if node.function is not None else id(node)
        row = rows.setdefault(
            identity,
            {
                "first": node,
                "nodes": [],
                "seconds": 0.0,
                "breaks": 0,
                "recompiles": 0,
                "run_seconds": 0.0,
                "run_calls": 0,
                "ran": None,
            },
        )
        row["nodes"].append(node)
        row["seconds"] += node.seconds
        row["breaks"] += len(node.breaks)
        row["recompiles"] += bool(node.reasons) and not node.is_limit
        for one in node.runtime:
            row["run_seconds"] += one["seconds"]
            row["run_calls"] += one["entry"]["calls"]
            row["ran"] = row["ran"] or node
    return sorted(rows.values(), key=lambda row: -row["seconds"])


def _parents(runs: List[Document]) -> Parents:
    """File and name -> functions whose source is known, for the resume functions made of them."""
    found: Parents = {}
    for run in runs:
        for function in run.get("functions", ()):
            if (
                not function.get("is_resume")
                and function.get("source")
                and function.get("source_origin") == "file"
            ):
                found.setdefault((function.get("filename"), function.get("name")), []).append(
                    function
                )
    return found


def _source_of(node: Node, parents: Parents) -> Tuple[str, int, str]:
    """The source of a compile, its first line's number, and where the text is from."""
    function = node.function
    if function is None:
        return "", 0, ""
    if node.is_resume:
        candidates = parents.get((function.get("filename"), node.title), ())
        line = node.resumes_at
        fitting = [
            one
            for one in candidates
            if one["firstlineno"] <= line < one["firstlineno"] + one["source"].count("\n") + 1
        ]
        if fitting:
            parent = max(fitting, key=lambda one: one["firstlineno"])
            return parent["source"], parent["firstlineno"], "file"
    if function.get("source_origin") == "file":
        return function.get("source") or "", int(function.get("firstlineno") or 1), "file"
    if not function.get("source"):
        return _named_lines(node)
    return function.get("source") or "", 1, function.get("source_origin") or ""


_NAMED = re.compile(r"^\s*# File: (.+?):(\d+)(?: in [^,]+)?, code: (.*)$", re.MULTILINE)


def _named_lines(node: Node) -> Tuple[str, int, str]:
    """Where the source is not known: the lines of it that torch names, at their numbers."""
    filename = node.place[0]
    lines = {
        found["line"]: found["source"]
        for found in node.breaks
        if found["file"] == filename and found["line"]
    }
    for artifact in node.entry.get("artifacts") or ():
        if artifact.get("kind") == "graph":
            for name, line, code in _NAMED.findall(artifact.get("text") or ""):
                if name == filename:
                    lines[int(line)] = code
    if not lines or max(lines) - min(lines) > 2000:
        return "", 0, ""
    first = min(lines)
    return (
        "\n".join(lines.get(line, "") for line in range(first, max(lines) + 1)) + "\n",
        first,
        "lines",
    )


def _link(run: Document, path: Optional[str], folder: str) -> Optional[str]:
    """A file of the dump as a link that is relative to the page; None where it is not there."""
    if not path or os.path.basename(path) != path or not run.get("folder"):
        return None
    from urllib.parse import quote

    base = os.path.relpath(run["folder"], folder)
    relative = path if base == "." else os.path.join(base, path)
    return "/".join(quote(part) for part in relative.replace(os.sep, "/").split("/"))


def _title_of(artifact: Document) -> str:
    title = _TITLES.get(artifact["stage"])
    if title is None:
        title = artifact["stage"].replace("_", " ")
        if artifact.get("kind") == "graph":
            title = "Graph: " + title
    if artifact.get("index"):
        title += " %d" % (artifact["index"] + 1)
    if artifact.get("note"):
        title += " (%s)" % artifact["note"]
    return title


#: guards that each compile has, on how torch is set up
_AMBIENT = {
    "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None": (
        "no hooks for saved tensors are set"
    ),
    "___check_torch_function_mode_stack()": (
        "the modes that take over torch's functions are those of the compile"
    ),
    "utils_device.CURRENT_DEVICE == None": "no default device is set",
}


def _in_words(expression: str, text: str) -> str:
    """What a guard on a tensor, a type, an object or torch's state asks, for people; "" for guards
    that say it themselves.
    """
    if text in _AMBIENT:
        return _AMBIENT[text]
    state = state_in_words(state_of(text))
    if state:
        return "torch's settings: " + state
    said = tensor_in_words(expression)
    if said:
        name = re.match(r"__check_tensor\((.+?), ['\"]", expression)
        return "%s: %s" % (short(name.group(1)), said) if name else said
    return words.identity_in_words(text)


def _guard_lines(guards: Iterable[Document]) -> str:
    """Guards as lines of fields that a tab parts.

    The fields: kind, source, expression, torch's text where it differs, place, the same in words.
    """
    lines = []
    for guard in guards:
        text = str(guard.get("text") or "")
        expression = guard.get("expression")
        fields = (
            str(guard.get("kind") or ""),
            str(guard.get("source") or ""),
            str(expression or text),
            text if expression and expression != text else "",
            str(guard.get("comment") or ""),
            _in_words(str(expression or text), text),
        )
        line = "\t".join(fields)
        if line.count("\t") >= len(fields):
            line = "\t".join([field.replace("\t", " ") for field in fields])
        lines.append(line.replace("\r", " ").replace("\n", "⏎"))
    return "\n".join(lines)


_RANK_OF_STAGE = {stage: position for position, stage in enumerate(schema.STAGES)}


class _Texts:
    """The texts of one compile, each as a tab of the page, in the order in which they are added."""

    #: texts that the page holds however large they are
    _ALWAYS = ("source", "code", "Captured_Graph")

    def __init__(self, run: Document, pool: Pool, folder: str, budget: List[int]) -> None:
        self.rows: List[Row] = []
        self._run = run
        self._pool = pool
        self._folder = folder
        self._budget = budget  # characters that the page can still take, of all compiles

    def add(
        self,
        role: str,
        title: str,
        text: Optional[str],
        kind: str = "python",
        path: Optional[str] = None,
        torch_path: Optional[str] = None,
    ) -> Optional[Row]:
        """Adds a text, or a link to its file where the page cannot take it.

        Returns:
            Its row, None where there is neither text nor file.
        """
        number = None
        if text and (self._budget[0] >= len(text) or role in self._ALWAYS):
            self._budget[0] -= len(text)
            number = self._pool.add(text)
        link = _link(self._run, path, self._folder)
        if number is None and not link:
            return None
        row = {
            "role": role,
            "title": title,
            "text": number,
            "link": link,
            "path": path,
            "torch": torch_path,
            "kind": kind,
        }
        self.rows.append(row)
        return row

    def add_artifact(self, artifact: Document) -> None:
        """Adds what torch made in one stage."""
        kind = {"graph": "graph", "kernel": "kernel", "json": "json"}.get(
            str(artifact.get("kind")), "text"
        )
        path, text = artifact.get("path"), artifact.get("text")
        if kind == "text" and path and path.endswith(".py"):
            kind = "python"
        role = artifact["stage"] + (".%d" % artifact["index"] if artifact.get("index") else "")
        row = self.add(role, _title_of(artifact), text, kind, path, artifact.get("torch_path"))
        if row is None:
            return
        number = row["text"]
        if kind == "graph" and number is not None:
            structure = artifact["structure"]
            row["graph"] = self._pool.add_data(
                ("graph", number), lambda: graphs.graph(visible(text), structure)
            )
        if artifact.get("origins"):
            row["origins"] = artifact["origins"]


_SOURCE_TITLES = {"file": "Source", "lines": "Source (lines that torch names)"}


def _texts_of(
    node: Node, source: str, origin: str, pool: Pool, folder: str, budget: List[int]
) -> List[Row]:
    """The texts of one compile, in the order in which the page shows them.

    Args:
        source, origin: of its function, as `_source_of` says.
        pool, folder, budget: as for `_view`.
    """
    entry = node.entry
    texts = _Texts(node.run, pool, folder, budget)
    texts.add("source", _SOURCE_TITLES.get(origin, "Source (decompiled)"), source)
    texts.add("code", "What Python runs now", entry.get("source"), path=entry.get("path"))
    artifacts = sorted(
        entry.get("artifacts") or (),
        key=lambda one: (_RANK_OF_STAGE.get(one["stage"], 99), one["stage"], one.get("index") or 0),
    )
    for artifact in artifacts:
        texts.add_artifact(artifact)
    own = (node.function or {}).get("source")
    if own and own != source:
        texts.add("resume", "Resume function (decompiled)", own)
    texts.add("before", "Bytecode before", entry.get("original_bytecode"), "bytecode")
    texts.add("after", "Bytecode after", entry.get("transformed_bytecode"), "bytecode")
    return texts.rows


def _script_data(node: Node, texts: List[Row], guards: Optional[int], first_line: int) -> Row:
    """What the page's script knows of one compile (`View` in web/src/types.ts).

    Args:
        texts: its rows; guards: the number of the text of its guards.
        first_line: of the source in its file, 0 where it was not read from there.
    """
    entry = node.entry
    callers = sorted(node.callers, key=lambda one: one is not node.parent)[:_LINKS]
    return {
        "key": node.key,
        "id": entry.get("compile_id"),
        "rank": node.run.get("rank"),
        "name": node.title,
        "file": node.place[0],
        "line": node.place[1],
        "resumes": node.resumes_at,
        "first": first_line,
        "number": node.number,
        "of": node.of,
        "siblings": [one.key for one in node.siblings],
        "failed": _failed(node),
        "graph": entry.get("graph_name"),
        "callers": [one.key for one in callers] + ([node.outer.key] if node.outer else []),
        "calls": [
            [(one.function or {}).get("global_name"), one.key] for one in node.children[:_LINKS]
        ],
        "warm": _warm(entry),
        "failure": _failure_in_head(node),
        "reset": node.reset,
        "breaks": [
            {"what": one["what"], "why": one["why"], "file": one["file"], "line": one["line"]}
            for one in node.breaks
        ],
        "texts": texts,
        "guards": guards,
        "guard_count": len(entry.get("guards") or ()),
        "lines": [[row[0], row[1]] for row in entry.get("line_map") or () if len(row) >= 2],
        "events": _events(entry),
        "phases": [
            [label, node.phases[name], name]
            for name, label, _ in overview.PHASES
            if name in node.phases
        ],
    }


def _failure_in_head(node: Node) -> str:
    """What a compile that failed came to, in a few words; "" of others."""
    if node.failure is None or not node.entry.get("failure"):
        return ""
    said = "recompile limit reached, " if node.is_limit else "compile failed, "
    return said + words.outcome(node.failure)


def _view(node: Node, pool: Pool, parents: Parents, folder: str, budget: List[int]) -> Row:
    """All that the page shows of one compile: JSON for the script, values for the template."""
    entry = node.entry
    known = len(pool.texts)
    source, first_line, origin = _source_of(node, parents)
    texts = _texts_of(node, source, origin, pool, folder, budget)
    guards = entry.get("guards") or ()
    guard_text = pool.add(_guard_lines(guards)) if guards else None
    path = (node.function or {}).get("path")
    full = _link(node.run, path, folder)
    verdict = _VERDICTS.get(str(entry.get("verdict")), _VERDICTS["refused"])
    shown_from = first_line if origin in ("file", "lines") else 0
    return {
        "node": node,
        "entry": entry,
        "data": _script_data(node, texts, guard_text, shown_from),
        "verdict": verdict if entry.get("name") else None,
        "texts": texts,
        "guards": guard_text,
        "guard_count": len(guards),
        "source_lines": (shown_from, shown_from + len(source.splitlines()) if shown_from else 0),
        "own": "%d %d" % (known, len(pool.texts)),
        "full": full,
        "full_name": path,
        "missing": _missing(entry),
        "stack": [
            re.sub(r": *$", "", frame)
            for frame in node.stack
            if "/torch/_dynamo/" not in frame and "/torch/nn/modules/module.py" not in frame
        ],
    }


def _warm(entry: Document) -> str:
    """The caches of a compile of which torch no longer knows what its nodes were made of, or ""."""
    artifacts = entry.get("artifacts") or ()
    if any(
        one["origins"] or one["stage"] == "inductor_provenance_tracking_node_mappings"
        for one in artifacts
    ):
        return ""
    if not any(one["kind"] == "kernel" for one in artifacts):
        return ""
    return " and ".join(
        sorted({event["cache"] for event in entry.get("cache") or () if event["result"] == "hit"})
    )


def _failed(node: Node) -> List[Row]:
    """The guards of this entry that failed later: what torch said when it compiled again."""
    found = []
    for later in node.siblings[node.number :]:
        for reason in later.reasons:
            if reason["tried"] == str(node.entry.get("compile_id")):
                tensor = reason["name"] if reason["failed"].startswith("tensor '") else ""
                found.append(
                    {
                        "guard": reason["failed"],
                        "tensor": tensor,
                        "words": reason["words"],
                        "key": later.key,
                    }
                )
    return found


def _missing(entry: Document) -> Dict[str, List[str]]:
    """Reason -> stages that are missing for it."""
    found: Dict[str, List[str]] = {}
    for stage, reason in (entry.get("missing") or {}).items():
        found.setdefault(str(reason), []).append(_TITLES.get(stage, stage.replace("_", " ")))
    return found


def _events(entry: Document) -> List[List[Any]]:
    """torch's longest compile events: name, start, length (microseconds) and depth."""
    events = [
        row for row in entry.get("events") or () if isinstance(row, (list, tuple)) and len(row) >= 3
    ]
    if not events:
        return []
    kept = sorted(events, key=itemgetter(2), reverse=True)[:_EVENTS]
    start = min(map(itemgetter(1), kept))
    kept.sort(key=itemgetter(1))
    rows: List[List[Any]] = []
    open_until: List[float] = []
    for row in kept:
        name, begin, length = row[:3]
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        rows.append([str(name), round(begin - start), round(length), len(open_until)])
        open_until.append(begin + length)
    return rows
