"""From a node of the captured graph to the nodes and the kernel that it became, and back."""

import pytest


def panes(screen, dumps, name, route, *roles):
    """The panes of one compile with these texts, by their roles."""
    page = screen.page
    screen.at_start(
        "localStorage.setItem('depyf.panes', '[%s]')" % ",".join('"%s"' % role for role in roles)
    )
    screen.open(dumps / name / "index.html", route)
    found = page.locator(".pane")
    assert found.count() == len(roles)
    for position, role in enumerate(roles):
        assert found.nth(position).locator("select").input_value() == role
    return [found.nth(position) for position in range(len(roles))]


def point(pane, text):
    hover(pane.locator(".ln", has_text=text).first)


def hover(line):
    """Moves the pointer onto a line, again where the page moved the line away under it."""
    line = line.element_handle()
    for _ in range(3):
        line.hover()
        line.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        if line.evaluate("(line) => line.matches(':hover')"):
            return
    raise AssertionError("the pointer does not stay on the line %r" % line.text_content())


def lit(pane):
    return "\n".join(
        pane.locator(".ln.lit").all_text_contents()
    )  # what is scrolled away has no inner text


@pytest.mark.parametrize("name", ["toy", "provenance"])
def test_a_node_lights_its_node_and_its_kernel(screen, dumps, name):
    # abs_1, add and x are of one line of the source
    captured, later, kernel, source = panes(
        screen, dumps, name, "compile/0/0", "Captured_Graph", "AFTER_POST_GRAD", "kernel", "source"
    )
    point(captured, " add: ")
    assert (
        "aten.add.Tensor" in lit(later)
        and "aten.abs" not in lit(later)
        and "aten.div" not in lit(later)
    )
    assert later.locator(".ln.near", has_text="aten.abs").count() == 1
    assert "cpp_fused" in lit(kernel) and "torch.abs(a) + 1" in lit(source)
    point(later, "aten.abs")
    assert "torch.abs(" in lit(captured) and "+ 1" not in lit(captured)
    point(kernel, "cpp_fused_")
    assert all(part in lit(captured) for part in ("torch.abs(", "+ 1", "l_a_ /"))


def test_what_comes_from_torchs_caches_is_linked_by_source_lines_and_says_so(
    screen, dumps, manifest
):
    entry = manifest("warm")["functions"][0]["entries"][0]
    if not any(event["result"] == "hit" for event in entry["cache"]):
        pytest.skip("this torch keeps no such cache")
    captured, later, kernel, source = panes(
        screen,
        dumps,
        "warm",
        "compile/0/0",
        "Captured_Graph",
        "AFTER_POST_GRAD",
        "kernel",
        "source",
    )
    assert (
        "does not record the relations between nodes" in screen.page.locator(".warm").inner_text()
    )
    point(source, "torch.abs(a) + 1")
    assert all(
        "aten.%s" % name in lit(later) for name in ("abs", "add", "div")
    ) and "aten.sum" not in lit(later)
    assert "cpp_fused" in lit(kernel) and "torch.abs(" in lit(captured)
    screen.open(dumps / "toy" / "index.html", "compile/0/0")
    assert screen.page.locator(".warm").count() == 0


def test_nodes_that_a_pass_put_in_belong_to_the_line_that_they_serve(screen, dumps):
    source, graph, kernel = panes(
        screen, dumps, "rewritten", "compile/0/0", "source", "AFTER_POST_GRAD", "kernel"
    )
    texts = graph.locator(".ln").all_text_contents()
    start = next(index for index, text in enumerate(texts) if "# No stacktrace" in text)
    name = texts[start + 1].split()[0].lstrip("0123456789").rstrip(":")
    point(source, "torch.softmax(scores")
    assert name + ":" in lit(graph) and "aten.exp" in lit(graph)
    assert "async_compile.cpp" in lit(kernel) and "aten.bmm" not in lit(graph)
    hover(kernel.locator(".ln", has_text="async_compile.cpp").first)
    assert "torch.softmax(scores" in lit(source) and "aten.exp" in lit(graph)


def test_a_node_lights_what_its_gradient_became(screen, dumps):
    captured, forward, backward = panes(
        screen,
        dumps,
        "training",
        "compile/0/0",
        "Captured_Graph",
        "Forward_graph",
        "Backward_graph",
    )
    relu = captured.locator(".ln", has_text="= torch.relu(").first
    hover(relu)
    assert lit(captured) == relu.text_content()
    assert lit(forward).count("aten.relu") == 1 and "aten.addmm" not in lit(forward)
    assert "aten.where" in lit(backward) or "threshold_backward" in lit(backward)
    assert "aten.mm" not in lit(backward)
    # and from the gradient back to what it is the gradient of
    hover(backward.locator(".ln.lit").first)
    assert lit(captured).count("torch.relu(") == 1 and "_nn.linear" not in lit(captured)


@pytest.mark.parametrize(
    "name", ["llama", "bert", "transformers_models_llama", "transformers_models_bert"]
)
def test_a_model_of_layers(screen, dumps, manifest, name):
    if not (dumps / name).is_dir():
        pytest.skip("transformers is not installed")
    page = screen.open(dumps / name / "index.html")
    screen.picture(name)
    tiles = " ".join(page.locator("#overview .tiles").inner_text().split())
    entries = [entry for function in manifest(name)["functions"] for entry in function["entries"]]
    assert ("%d compile" % len(entries)) in tiles and all(
        entry["verdict"] in ("exact", "equivalent") for entry in entries
    )
    if "bert" in name:
        assert (
            "1 recompile" in tiles and "was 12, is 13" in page.locator(".cause").first.inner_text()
        )
    screen.go("compile/0/0")
    screen.picture(name + "_code")
    names = page.locator(".pane select").first.locator("option").all_inner_texts()
    assert "Graph: captured" in names and ("Graph: backward (AOT)" in names) == ("llama" in name)
    screen.go("compile/0/0/graph")
    assert 5 <= page.locator(".gn").count() <= 120  # large ones are folded
    screen.picture(name + "_graph")
    screen.go("compile/0/0/guards")
    assert page.locator(".guards tbody tr").count() > 10


IN_VIEW = """(pane) => {
  const box = pane.querySelector('.code').getBoundingClientRect();
  return [...pane.querySelectorAll('.ln.lit')].filter((line) => {
    const at = line.getBoundingClientRect();
    return at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
  }).length;
}"""


def test_a_kernels_definition_and_its_call_show_each_other_and_all_they_were_made_of(screen, dumps):
    page = screen.page
    page.set_viewport_size({"width": 1500, "height": 480})
    source, graph, kernel = panes(
        screen, dumps, "toy", "compile/0/0", "source", "AFTER_POST_GRAD", "kernel"
    )
    kernel.locator(".ln", has_text="async_compile.cpp_pybinding(").first.click()
    page.wait_for_timeout(300)
    assert all(pane.evaluate(IN_VIEW) for pane in (source, graph, kernel))
    page.locator(".belongs button", has_text="here line").click()
    page.wait_for_timeout(300)
    call = kernel.locator(".ln.lit", has_text="cpp_fused_").last
    assert "async_compile" not in call.inner_text() and kernel.evaluate(IN_VIEW)
    call.click()
    page.wait_for_timeout(300)
    assert all(pane.evaluate(IN_VIEW) for pane in (source, graph, kernel))


def test_a_line_that_belongs_to_nothing_says_so_and_lights_nothing(screen, dumps):
    _, kernel = panes(screen, dumps, "toy", "compile/0/0", "source", "kernel")
    page = screen.page
    kernel.locator(".ln", has_text="async_compile.cpp_pybinding(").first.click()
    assert page.locator(".ln.lit").count() > 0
    kernel.locator(".ln", has_text="async_compile.wait(").first.click()
    assert page.locator(".ln.lit").count() == 0
    words = page.locator(".belongs").inner_text()
    assert words.startswith("Nothing is known to belong to Kernels line ")
    assert page.locator("#say").inner_text() == words
    page.keyboard.press("Escape")
    assert not page.locator(".belongs").is_visible()


def test_a_node_of_the_picture_links_to_the_lines_that_belong_to_it(screen, dumps):
    page = screen.open(dumps / "toy" / "index.html", "compile/0/0/graph")
    page.locator(".gn.op").first.click()
    detail = page.locator("#panel p[role=status]")
    assert "belongs to Source line 14" in detail.inner_text()
    detail.locator("a", has_text="Kernels line").click()
    page.locator(".pane .ln.pin").wait_for()
    assert "cpp_fused" in page.locator(".ln.pin").inner_text()
    page.wait_for_timeout(300)
    source = page.locator(".pane").first
    assert source.evaluate(IN_VIEW) and "torch.abs(a)" in lit(source)
