"""The differences of `depyf.difference` as an HTML page."""

from html import escape
from typing import Sequence

from depyf.difference import Difference
from depyf.terminal import short_path, shown

_STYLE = """
:root { color-scheme: light dark; --bg: #f5f6f8; --card: #fff; --fg: #1c2126; --dim: #57606a;
    --line: #dde1e6; --accent: #0f766e;
  --add: #dafbe1; --add-fg: #14602f; --del: #ffebe9; --del-fg: #a3211a; --hunk: #eef2fb }
@media (prefers-color-scheme: dark) { :root { --bg: #14181c; --card: #1b2026; --fg: #e4e8ec;
    --dim: #9ba5b0; --line: #333b44;
  --accent: #4fd1c0; --add: #12361f; --add-fg: #7fdc9d; --del: #4a1b1b; --del-fg: #ffa198;
    --hunk: #232c3d } }
body { font: 14.5px/1.5 system-ui, sans-serif; background: var(--bg); color: var(--fg);
    max-width: 76rem; margin: 0 auto; padding: 1rem }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem;
    margin-bottom: .6rem }
h1 { font-size: 1.2rem; margin: 0 } h2 { font: 650 1rem ui-monospace, monospace; margin: 0;
    overflow-wrap: anywhere }
.brand { font-weight: 750; letter-spacing: -.02em; background: var(--accent); color: var(--card);
    border-radius: 6px; padding: 1px 8px 2px }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
    padding: .8rem 1rem; margin-top: .8rem }
pre { border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; padding: .4rem 0;
    margin: .3rem 0 .6rem; font-size: 12.5px; tab-size: 4 }
pre span { display: block; min-height: 1.45em; width: max-content; min-width: calc(100% - 1.4rem);
    padding: 0 .7rem }
pre .add { background: var(--add) } pre .del { background: var(--del) } pre .hunk {
    background: var(--hunk); color: var(--dim) }
p { margin: .3rem 0; overflow-wrap: anywhere } summary { cursor: pointer; overflow-wrap: anywhere }
.place, .note { color: var(--dim); overflow-wrap: anywhere } .item { padding-left: 1.6em;
    text-indent: -1.6em }
.sign { font: bold 1em ui-monospace, monospace; display: inline-block; width: 1.6em;
    text-indent: 0 } .plus { color: var(--add-fg) } .minus { color: var(--del-fg) }
table { border-collapse: collapse; margin: .4rem 0 } th, td { padding: .1rem .9rem .1rem 0 }
th { text-align: left; font-weight: 500 } td, thead th { text-align: right;
    font-variant-numeric: tabular-nums } thead th { color: var(--dim) }
.phase th { padding-left: 1.2em; color: var(--dim) } .seconds th, .seconds td {
    border-top: 1px solid var(--line) }
@media print { body { background: none } section { border: 0; padding: 0 } pre {
    white-space: pre-wrap } pre span { width: auto } }
"""
_WORDS = {"+": ("appeared", "plus"), "-": ("vanished", "minus"), "~": ("changed", "both")}
_KINDS = {"+": " class=add", "-": " class=del", "@": " class=hunk"}


def page(results: Sequence[Difference]) -> str:
    """The differences as one self-contained HTML page: no scripts, nothing from any network."""

    def text(value: object) -> str:
        return escape(shown(value))

    def sign(one: str) -> str:
        return '<span class="sign %s">%s</span>' % (
            _WORDS[one][1],
            "&minus;" if one == "-" else one,
        )

    out = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src '
        "'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width"><title>depyf diff</title>',
        "<style>%s</style></head><body><header><span class=brand>depyf</span><h1>What "
        "changed</h1></header><main>" % _STYLE,
    ]
    for result in results:
        out.append(
            "<section><p>%s%s<br>%s%s</p>" % (sign("-"), text(result.a), sign("+"), text(result.b))
        )
        counts = [
            (word, sum(1 for change in result.changes if change.sign == one))
            for one, (word, _) in _WORDS.items()
        ]
        out.append(
            "<p><strong>%s</strong></p>"
            % (
                ", ".join("%d %s" % (count, word) for word, count in counts if count)
                or "No differences."
            )
        )
        if result.totals:
            rows = "".join(
                "<tr class=%s><th scope=row>%s</th>%s</tr>"
                % (
                    total.kind,
                    text(total.label),
                    "".join("<td>%s</td>" % text(cell) for cell in total.cells()[1:]),
                )
                for total in result.totals
            )
            out.append(
                "<table><thead><tr><th></th><th scope=col>&minus;</th><th scope=col>+</th>"
                "<th scope=col>change</th></tr></thead><tbody>%s</tbody></table>" % rows
            )
        out += ["<p class=note>%s</p>" % text(note) for note in result.notes]
        current = None
        for change in result.changes:
            if change.function != current or current is None:
                current = change.function
                out.append("</section><section><h2>%s</h2>" % text(current or "The run"))
                if change.place:
                    out.append(
                        "<p class=place>%s:%d</p>"
                        % (text(short_path(change.place[0])), change.place[1])
                    )
            head = "%s%s <span class=note>(%s)</span>" % (
                sign(change.sign),
                text(change.what),
                _WORDS[change.sign][0],
            )
            if not change.lines:
                out.append("<p class=item>%s</p>" % head)
                continue
            lines = [
                "<span%s>%s</span>" % (_KINDS.get(line[:1], ""), text(line) or " ")
                for line in change.lines
            ]
            opened = " open" if len(change.lines) <= 60 else ""
            out.append(
                "<details%s><summary>%s</summary><pre>%s</pre></details>"
                % (opened, head, "".join(lines))
            )
        out.append("</section>")
    out.append("</main></body></html>\n")
    return "\n".join(out)


def write_page(path: str, results: Sequence[Difference]) -> None:
    """Writes `page` to a file.

    Raises:
        OSError: it cannot be written.
    """
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(page(results))
