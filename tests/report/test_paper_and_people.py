"""The page on paper, from the keyboard, for a screen reader, and to eyes that need contrast."""

import re

import pytest

from depyf import report

#: every kind of view: what follows # in the address
VIEWS = [
    "",
    "compile/0/0",
    "compile/0/0/code/kernel",
    "compile/0/0/why",
    "compile/0/0/graph",
    "compile/0/0/guards",
    "compile/0/0/time",
    "compile/0/0/bytecode",
    "compile/0/0/files",
    "search/torch",
]

# ---- paper ---------------------------------------------------------------------------------------


def printed(page, path):
    """What stands on paper: the text of a PDF without its spaces, since lines are broken there, and
    the number of pages.
    """
    pypdf = pytest.importorskip("pypdf")
    page.pdf(path=str(path), print_background=True)
    pages = pypdf.PdfReader(str(path)).pages
    return "".join("".join(one.extract_text().split()) for one in pages), len(pages)


def squeezed(text):
    return "".join(text.split())


def test_paper_holds_all_of_a_view(screen, dumps, manifest, tmp_path):
    page = screen.open(dumps / "toy" / "index.html")
    text, _ = printed(page, tmp_path / "overview.pdf")
    assert (
        squeezed("if b.sum() < 0:") in text
        and "Whathelps" in text
        and "__compiled_fn_1" in text
        and "Theprintedview" in text
    )
    function = next(one for one in manifest("toy")["functions"] if one["name"] == "toy_example")
    entry = function["entries"][0]
    graph = next(one for one in entry["artifacts"] if one["stage"] == "Captured_Graph")
    kernel = next(one for one in entry["artifacts"] if one["stage"] == "kernel")
    page.evaluate(
        "localStorage.setItem('depyf.panes', JSON.stringify(['source', 'code', 'Captured_Graph', 'kernel']))"
    )
    screen.go("compile/0/0")
    text, pages = printed(page, tmp_path / "code.pdf")
    # each line of each text: nothing is cut off at an edge, or hidden in a box that scrolls
    for source in (
        function["source"],
        entry["source"],
        *((dumps / "toy" / one["path"]).read_text() for one in (graph, kernel)),
    ):
        for line in source.splitlines():
            assert squeezed(line) in text, line
    assert pages > 2
    screen.go("compile/0/0/why")
    text, _ = printed(page, tmp_path / "why.pdf")
    assert squeezed(entry["breaks"][0]["text"].splitlines()[-1]) in text  # folded on the screen
    assert page.locator("#panel details[open]").count() == 0  # and again afterwards
    screen.go("compile/0/0/guards")
    text, _ = printed(page, tmp_path / "guards.pdf")
    for guard in entry["guards"]:
        assert squeezed(guard["kind"]) in text
    screen.go("compile/0/0/time")
    text, _ = printed(page, tmp_path / "time.pdf")
    assert "entire_frame_compile" in text


def test_paper_holds_what_was_not_built_yet(screen, dumps, tmp_path):
    page = screen.open(dumps / "training" / "index.html", "compile/0/0/guards")
    count = int(page.locator("#panel [role=status]").inner_text().split()[0])
    text, _ = printed(page, tmp_path / "guards.pdf")
    assert (
        count > 300
        and text.count("TENSOR_MATCH")
        == page.evaluate("""() =>
        [...document.querySelectorAll(".guards .g-kind")].filter((cell) => cell.textContent === "TENSOR_MATCH").length""")
    )
    folded = page.locator(".guards details > summary").all_text_contents()
    rows = page.locator(".guards tbody tr").count()
    assert rows - len(folded) + sum(int(one.split()[0]) for one in folded) == count


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_paper_and_all_is_dark_on_light(browser, pictures, dumps, scheme):
    context = browser.new_context(viewport={"width": 720, "height": 950}, color_scheme=scheme)
    try:
        page = context.new_page()
        page.goto((dumps / "toy" / "index.html").as_uri())
        page.emulate_media(media="print", color_scheme=scheme)
        for view in VIEWS:
            page.evaluate(
                "(view) => new Promise((done) => { location.hash = view; setTimeout(done, 150); })",
                view,
            )
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert page.evaluate("document.documentElement.scrollWidth") <= 720, view
            hidden = page.evaluate("""() => [...document.querySelectorAll("main *")].filter((one) => {
                const style = getComputedStyle(one);
                return one.checkVisibility() && !one.classList.contains("hidden") && style.overflowY !== "visible" && one.scrollHeight > one.clientHeight + 2 && one.clientHeight > 0 && !(one instanceof SVGElement) && one.tagName !== "SELECT";
            }).map((one) => one.className)""")
            assert not hidden, (view, hidden)
            assert not poor(page), view
            assert (
                page.evaluate("getComputedStyle(document.body).backgroundColor")
                == "rgb(255, 255, 255)"
            )
            if scheme == "dark" and pictures:
                page.screenshot(
                    path=str(
                        pictures / ("paper_%s.png" % (re.sub(r"\W+", "_", view) or "overview"))
                    )
                )
            page.evaluate("dispatchEvent(new Event('afterprint'))")
    finally:
        context.close()


# ---- contrast ------------------------------------------------------------------------------------

#: texts whose colour stands out too little from what is behind it: [ratio, colour, background, where, text]
CONTRAST = r"""() => {
  const parse = (text) => { const found = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number); return [found[0], found[1], found[2], found.length > 3 ? found[3] : 1]; };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const luminance = (colour) => { const [r, g, b] = colour.map((one) => { const part = one / 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => {
    const layers = [];
    for (let one = node; one; one = one.parentElement) {
      if (one instanceof SVGElement && one.parentElement instanceof SVGElement) {
        const rect = one.previousElementSibling instanceof SVGRectElement ? one.previousElementSibling : one.parentElement.querySelector(":scope > rect");
        if (rect && one.tagName === "text") layers.push(parse(getComputedStyle(rect).fill));
      } else layers.push(parse(getComputedStyle(one).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const seen = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || node.closest(".hidden, .skip, script, style, title, option")) continue;
    const style = getComputedStyle(node), svg = node instanceof SVGElement;
    const key = [node.tagName, node.getAttribute("class"), node.parentElement.getAttribute("class"), (node.closest(".ln, .gn, .box, td, li, p, .badge") || node).getAttribute("class"), style.color, style.fill].join("|");
    if (seen.has(key)) continue;
    const below = behind(node), colour = parse(svg ? style.fill : style.color);
    for (let one = node; one; one = one.parentElement) colour[3] *= Number(getComputedStyle(one).opacity);
    const [light, dark] = [luminance(over(colour, below)), luminance(below)].sort((a, b) => b - a);
    seen.set(key, [(light + 0.05) / (dark + 0.05), style.color, below.join(","), node.tagName + "." + (node.getAttribute("class") || node.parentElement.getAttribute("class")), text.data.trim().slice(0, 40)]);
  }
  return [...seen.values()].filter((one) => one[0] < 4.5);
}"""


def poor(page):
    return page.evaluate(CONTRAST)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(browser, dumps, scheme):
    context = browser.new_context(viewport={"width": 1500, "height": 950}, color_scheme=scheme)
    found = []
    try:
        page = context.new_page()
        for name, views in (
            ("toy", VIEWS),
            ("recompiles", ["", "compile/0/2/why", "compile/0/1/guards"]),
            ("training", ["compile/0/0/graph"]),
        ):
            page.goto((dumps / name / "index.html").as_uri())
            for view in views:
                page.evaluate(
                    "(view) => new Promise((done) => { location.hash = view; setTimeout(done, 250); })",
                    view,
                )
                found += [(name, view, *row) for row in poor(page)]
                for style in (
                    ("lit", "near", "pin") if "code" in view or view == "compile/0/0" else ()
                ):
                    page.evaluate(
                        "(style) => { for (const line of document.querySelectorAll('.ln')) line.classList.add('lit', style); }",
                        style,
                    )
                    page.wait_for_timeout(150)  # colours move
                    found += [(name, view, style, *row) for row in poor(page)]
                    page.evaluate(
                        "(style) => { for (const line of document.querySelectorAll('.ln')) line.classList.remove('lit', style); }",
                        style,
                    )
        page.goto(report.build(dumps / "ranks").as_uri())
        found += poor(page)
    finally:
        context.close()
    assert not found, "\n".join(map(str, found))


# ---- keyboard and screen reader ------------------------------------------------------------------

#: what can be pressed, typed into or chosen, and is seen
CONTROLS = "a[href], button, select, input, summary, [tabindex='0'], [role=button]"
#: where the focus is: name, whether it is seen, whether that is marked
FOCUS = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  return {
    mark: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 || one.classList.contains("box"),
    seen: box.width > 0 && box.height > 0, number: Number(one.dataset.tour), name: one.getAttribute("aria-label") || one.textContent.trim().slice(0, 30),
  };
}"""


@pytest.mark.parametrize("view", VIEWS)
def test_tab_reaches_every_control_and_shows_where_it_is(screen, dumps, view):
    page = screen.open(dumps / "toy" / "index.html", view)
    page.wait_for_timeout(300)
    # of shapes in one picture, and of tabs, one is reached with Tab and the arrow keys lead to the
    # others
    expected = page.evaluate(
        """(controls) => {
          let number = 0;
          for (const one of document.querySelectorAll(controls)) if (one.checkVisibility() && !one.closest("[hidden]")) one.dataset.tour = number++;
          return [...document.querySelectorAll("[data-tour]")].filter((one) => one.tabIndex >= 0).map((one) => Number(one.dataset.tour));
        }""",
        CONTROLS,
    )
    page.evaluate("document.activeElement.blur()")
    visited = []
    for _ in range(len(expected) + 5):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None:
            continue
        if focus["number"] in visited:
            break
        assert focus["mark"] and focus["seen"] and focus["name"], focus
        visited.append(focus["number"])
    assert sorted(visited) == sorted(expected)
    rest = page.evaluate(
        """() => [...document.querySelectorAll("[data-tour]")].filter((one) => one.tabIndex < 0 && !one.matches("main, [role=tab], .gn, .flame rect")).map((one) => one.outerHTML.slice(0, 100))"""
    )
    assert not rest


def walk(tree):
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.get("children") or ())


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_has_a_role_and_a_name(screen, dumps, view):
    page = screen.open(dumps / "toy" / "index.html", view)
    page.wait_for_timeout(300)
    devtools = page.context.new_cdp_session(page)
    nodes = [
        node
        for node in devtools.send("Accessibility.getFullAXTree")["nodes"]
        if not node.get("ignored")
    ]
    roles = {}
    for node in nodes:
        role = node.get("role", {}).get("value")
        name = (node.get("name") or {}).get("value", "")
        roles.setdefault(role, []).append(name)
        if role in (
            "button",
            "link",
            "tab",
            "combobox",
            "searchbox",
            "textbox",
            "region",
            "tabpanel",
            "table",
            "group",
            "heading",
            "img",
            "image",
        ):
            exempt = (
                role in ("table", "group") and not name
            )  # data tables are named by what stands above them, details by their summary
            assert name.strip() or exempt, (view, role, node.get("properties"))
    for role in ("banner", "main", "search", "contentinfo", "heading"):
        assert role in roles, role
    if view.startswith("compile"):
        assert roles["tab"] and roles["tablist"] and roles["tabpanel"]
        selected = [
            node
            for node in nodes
            if node["role"]["value"] == "tab"
            and any(p["name"] == "selected" and p["value"]["value"] for p in node["properties"])
        ]
        assert len(selected) == 1


def test_the_first_tab_skips_to_the_content(screen, dumps):
    page = screen.open(dumps / "toy" / "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate("document.activeElement.id") == "content"
    assert page.locator("#overview").is_visible()


def test_focus_follows_what_is_shown(screen, dumps):
    page = screen.open(dumps / "toy" / "index.html")
    page.locator(".cause a.where").first.focus()
    page.keyboard.press("Enter")
    screen.until("document.activeElement.id === 'view-title'")
    page.go_back()
    screen.until("document.activeElement.id === 'content'")
    screen.go("compile/0/0/guards")
    page.locator("[role=tab][aria-selected=true]").focus()
    page.keyboard.press("ArrowRight")
    screen.until("location.hash.endsWith('/time') && document.activeElement.id === 'tab-time'")
    screen.go("compile/0/0")
    page.locator(".pane select").nth(1).focus()
    page.locator(".pane select").nth(1).select_option("before")
    assert page.evaluate("document.activeElement.value") == "before"
    page.get_by_role("button", name="2 panes").focus()
    page.keyboard.press("Enter")
    screen.until("document.querySelectorAll('.pane').length === 2")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "2 panes"
    page.locator(".code a").first.focus()  # a link in the text is followed, the line is not pinned
    target = page.evaluate("document.activeElement.getAttribute('href')")
    page.keyboard.press("Enter")
    screen.until("location.hash === '%s'" % target)


def test_shapes_are_walked_with_arrow_keys(screen, dumps):
    page = screen.open(dumps / "toy" / "index.html", "compile/0/0/graph")
    page.locator(".gn").first.focus()
    names = []
    for _ in range(page.locator(".gn").count()):
        names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.keyboard.press("ArrowDown")
    assert len(set(names)) == len(names) and any(name.startswith("abs_1") for name in names)
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert names[0].split(":")[0] in page.locator("#panel > p[role=status]").inner_text()
    screen.go("compile/0/0/time")
    bars = page.locator(".flame rect")
    count = bars.count()
    bars.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    screen.until("document.activeElement.closest('.flame') !== null")
    page.keyboard.press("Escape")
    assert page.locator(".flame rect").count() == count
    page = screen.open(dumps / "training" / "index.html", "compile/0/0/graph")
    before = page.locator(".gn").count()
    page.locator(".gn.fold").first.focus()
    page.keyboard.press(" ")
    assert page.locator(".gn").count() > before
    assert page.evaluate("document.activeElement.classList.contains('gn')")
