"""A run as HTML for a notebook: lists select a function, a compile and one of its texts.

It is plain HTML with a few lines of script and no widgets, so that it works in JupyterLab,
Notebook, VS Code, Colab and in the output of nbconvert. Without scripts, every text is a section
that unfolds.
"""

import uuid
from html import escape
from typing import Any, Dict, Iterator, List, Tuple

from depyf import summary
from depyf.model import sorted_artifacts
from depyf.report import words
from depyf.terminal import shown
from depyf.trace.names import resume_title

#: characters of one text, and of all together, that go into a notebook; files of a dump are always
#: complete
TEXT_LIMIT = 200000
TOTAL_LIMIT = 4000000

_STYLE = """
#ID { font-size: 13px; line-height: 1.45; margin: .3em 0 }
#ID pre { max-height: 32em; overflow: auto; white-space: pre; margin: .4em 0; padding: .6em .8em;
    font: 12px/1.45 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 4px;
    background: transparent; color: inherit }
#ID .depyf-summary { white-space: pre-wrap; overflow-wrap: anywhere }
#ID select { font: inherit; margin: 0 1em .3em .3em; max-width: 24em; color: inherit;
    background: Canvas; color: CanvasText }
#ID .depyf-picked > summary { display: none }
#ID .depyf-pickers[hidden], #ID details[hidden] { display: none }
"""

# Moves no text around: it fills three lists from what is there and shows the one part that they
# name.
_SCRIPT = """
(function () {
  var script = document.currentScript;
  var found = script && script.closest && script.closest('.depyf-run');
  var root = found || document.getElementById('ID');
  if (!root || root.dataset.ready) return;
  root.dataset.ready = '1';
  var parts = Array.prototype.slice.call(root.querySelectorAll('details'));
  var lists = Array.prototype.slice.call(root.querySelectorAll('select'));
  var keys = ['function', 'entry', 'artifact'];
  function fill(list, key, parts) {
    var before = list.value, seen = {};
    list.textContent = '';
    parts.forEach(function (part) {
      var id = part.dataset[key];
      if (seen[id]) return;
      seen[id] = true;
      var option = document.createElement('option');
      option.value = id;
      option.textContent = part.dataset[key + 'Name'];
      list.appendChild(option);
    });
    var names = Array.prototype.map.call(list.options, function (one) { return one.value; });
    list.value = names.indexOf(before) >= 0 ? before : names[0];
  }
  function update() {
    var left = parts;
    keys.forEach(function (key, position) {
      fill(lists[position], key, left);
      left = left.filter(function (part) { return part.dataset[key] === lists[position].value; });
    });
    parts.forEach(function (part) {
      var picked = part === left[0];
      part.hidden = !picked;
      part.open = picked;
    });
  }
  parts.forEach(function (part) { part.classList.add('depyf-picked'); });
  lists.forEach(function (list) { list.addEventListener('change', update); });
  root.querySelector('.depyf-pickers').hidden = false;
  update();
})();
"""


def _text(value: Any) -> str:
    return escape(shown(value))


def _texts(function: Any, entry: Any) -> Iterator[Tuple[str, str]]:
    """(name, text) for everything that can be picked of one compile, what most look for first."""
    if entry.source:
        yield "decompiled code (%s)" % entry.verdict, entry.source
    if function is not None and function.source:
        yield "source", function.source
    if entry.failure:
        yield "why it was not compiled", entry.failure
    if entry.breaks:
        yield "graph breaks", "\n\n".join(_break(one) for one in entry.breaks)
    if entry.reasons:
        yield "why it recompiled", "\n\n".join(_reason(one) for one in entry.reasons)
    if entry.guards:
        lines = []
        for guard in entry.guards:
            lines.append(guard.text + ("  # " + guard.comment if guard.comment else ""))
        yield "guards (%d)" % len(entry.guards), "\n".join(lines)
    for artifact in sorted_artifacts(entry):
        if artifact.kind == "json":
            continue
        name = artifact.stage.replace("_", " ")
        yield name + (" %d" % artifact.index if artifact.index else ""), artifact.text
    for stage, reason in entry.missing.items():
        yield stage.replace("_", " ") + " (not made)", reason
    if entry.original_bytecode:
        yield "bytecode before", entry.original_bytecode
    if entry.transformed_bytecode:
        yield "bytecode after", entry.transformed_bytecode


def advice(found: Any) -> List[str]:
    """What helps against a `depyf.model.GraphBreak`."""
    return list(words.of_break(found.to_json())["help"])


def _break(found: Any) -> str:
    said = words.of_break(found.to_json())
    lines = [
        "%s:%d" % (said["file"], said["line"]) if said["line"] else "",
        said["source"] and "    " + said["source"],
        "called from %s:%d: %s" % said["caller"] if said["caller"][1] else "",
        said["via"],
        said["why"],
        said["then"],
    ]
    lines += ["What helps: " + hint for hint in said["help"]]
    lines += ["torch's hint: " + hint for hint in said["hints"]]
    return "\n".join([line for line in lines if line] + ["", "torch's message:", said["raw"]])


def _reason(text: str) -> str:
    said = words.of_reason(text)
    lines = ["%s: %s" % (said["tried"], said["words"]) if said["tried"] else said["words"]]
    lines += ["What helps: " + hint for hint in said["help"]]
    return "\n".join(lines + ["", "torch's message:", text])


def run_html(run: Any) -> str:
    """A run as HTML.

    Args:
        run: a `depyf.model.Run`.
    """
    pairs = [(function, entry) for function in run.functions for entry in function.entries]
    return _html(
        summary.summary(run.to_json(), run.folder),
        pairs + [(None, entry) for entry in run.unattributed],
    )


def function_html(function: Any) -> str:
    """A `depyf.model.Function` as HTML, with the texts of its compiles."""
    return _html(repr(function), [(function, entry) for entry in function.entries])


def entry_html(entry: Any) -> str:
    """A `depyf.model.Entry` as HTML, with its texts."""
    return _html(repr(entry), [(None, entry)])


def _function_name(function: Any, entry: Any) -> str:
    if function is None:
        return entry.metrics.get("co_name") or entry.name.partition("_for_")[2] or "no function"
    title = resume_title(function.name, function.qualname, function.firstlineno)
    return title or "%s  line %d" % (function.title, function.firstlineno)


def _html(head: str, pairs: List[Tuple[Any, Any]]) -> str:
    name = "depyf-" + uuid.uuid4().hex[:12]
    out: List[str] = [
        '<div class="depyf-run" id="%s"><style>%s</style>' % (name, _STYLE.replace("ID", name)),
        '<pre class="depyf-summary">%s</pre>' % _text(head),
        '<div class="depyf-pickers" hidden>',
    ]
    for label in ("function", "compile", "shows"):
        out.append("<label>%s <select></select></label>" % label)
    out.append("</div>")
    total = 0
    positions: Dict[Any, int] = {}
    for number, (function, entry) in enumerate(pairs):
        function_name = _function_name(function, entry)
        position = positions.setdefault(
            id(function) if function is not None else function_name, len(positions)
        )
        for kind, (title, text) in enumerate(_texts(function, entry)):
            room = max(0, min(TEXT_LIMIT, TOTAL_LIMIT - total))
            if len(text) > room:
                text = text[
                    :room
                ] + "\n... cut here at %d of %d characters; run.dump(folder) writes all" % (
                    room,
                    len(text),
                )
            total += min(len(text), room)
            out.append(
                '<details data-function="%d" data-entry="%d" data-artifact="%s" '
                'data-function-name="%s"'
                ' data-entry-name="%s" data-artifact-name="%s"><summary>%s, %s: %s</summary>'
                '<pre tabindex="0">%s</pre></details>'
                % (
                    position,
                    number,
                    _text(title.partition(" (")[0]) or kind,
                    _text(function_name),
                    _text(entry.compile_id),
                    _text(title),
                    _text(function_name),
                    _text(entry.compile_id),
                    _text(title),
                    _text(text),
                )
            )
    if pairs:
        out.append("<script>%s</script>" % _SCRIPT.replace("ID", name))
    out.append("</div>")
    return "\n".join(out)
