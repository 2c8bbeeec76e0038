"""Drawn graphs are the graphs: each edge is one of `gm.graph`, none is missing, and none lies on a
box.
"""

import json
import os

import pytest

from depyf import report
from depyf.report import graphs

TEXT = """class GraphModule(torch.nn.Module):
    def forward(self, L_a_: "f32[10][1]cpu", L_self_modules_0_parameters_weight_: "f32[10]"):
        l_a_ = L_a_
        l_self_modules_0_parameters_weight_ = L_self_modules_0_parameters_weight_

         # File: toy.py:5 in toy, code: y = a.sum(dim=0)
        sum_1: "f32[]" = l_a_.sum(dim = 0);  l_a_ = None
        dim: "b8[]" = sum_1 == sum_1
        mul: "f32[10]" = torch.mul(input = sum_1, other = l_self_modules_0_parameters_weight_)
        pad: "f32[10]" = torch.pad(mul, "dim", "sum_1");  mul = None
        return (pad, None, dim)

    class cond_true(torch.nn.Module):
        def forward(self, sum_1):
            abs_1: "f32[]" = torch.abs(sum_1)
            return (abs_1,)
"""


def edges(graph):
    names = [row[0] for row in graph["nodes"]]
    return {(names[read], row[0]) for row in graph["nodes"] for read in row[6]}


def test_a_text_is_read_with_receivers_and_without_keywords_and_strings():
    graph = graphs.graph(TEXT)
    assert edges(graph) == {
        ("l_a_", "sum_1"),
        ("sum_1", "dim"),
        ("sum_1", "mul"),
        ("l_self_modules_0_parameters_weight_", "mul"),
        ("mul", "pad"),
        ("pad", "output"),
        ("dim", "output"),
    }
    rows = {row[0]: row for row in graph["nodes"]}
    assert rows["abs_1"][1] == graphs.INNER
    assert rows["l_self_modules_0_parameters_weight_"][1] == graphs.PARAMETER
    assert graph["targets"][rows["sum_1"][2]] == ".sum"
    assert graph["shapes"][rows["l_a_"][3]] == "f32[10]"
    assert graph["modules"][rows["mul"][4]] == "0"
    assert graph["places"][rows["sum_1"][5]] == ["toy.py", 5, "toy", "y = a.sum(dim=0)"]
    assert graph["outputs"] == ["pad", None, "dim"]
    assert TEXT.split("\n")[rows["pad"][7]].strip().startswith("pad: ")


WRITES = """class GraphModule(torch.nn.Module):
    def forward(self, L_perm_: "i64[3]"):
        l_perm_ = L_perm_
        inv_perm: "i64[3]" = torch.empty_like(l_perm_)
        inv_perm[l_perm_] = 1;  setitem = inv_perm;  setitem = None
        add_: "i64[3]" = inv_perm.add_(1);  add_ = None
        body_0 = self.body_0
        wrap = torch.ops.higher_order.wrap(body_0, inv_perm)
        return (wrap,)

    class body_0(torch.nn.Module):
        def forward(self, x: "i64[3]"):
            inner_0 = self.inner_0
            sin: "i64[3]" = torch.sin(x)
            cond = torch.ops.higher_order.cond(sin, inner_0)
            return (cond,)

        class inner_0(torch.nn.Module):
            def forward(self, x: "i64[3]"):
                cos: "i64[3]" = torch.cos(x)
                return (cos,)
"""


def test_a_text_tells_of_writes_and_of_the_graphs_inside():
    graph = graphs.graph(WRITES)
    names = [row[0] for row in graph["nodes"]]
    told = {(names[one], names[at]) for one, _, readers in graph["writes"] for at in readers}
    assert told == {("setitem", "add_"), ("add_", "wrap")}
    assert [names[one] for row in graph["writes"] for one in row[1]] == ["inv_perm"] * 2
    assert graph["nodes"][names.index("setitem")][7] == 4
    (body,) = graph["inner"].values()
    assert edges(body) == {("x", "sin"), ("sin", "cond"), ("inner_0", "cond"), ("cond", "output")}
    (inner,) = body["inner"].values()
    (cos,) = [row for row in inner["nodes"] if row[0] == "cos"]
    assert WRITES.split("\n")[cos[7]].strip().startswith("cos: ")


@pytest.mark.parametrize(
    "structure",
    [
        [],
        {"nodes": 1},
        {"nodes": [[]], "targets": [], "shapes": [], "modules": [], "places": []},
        {"nodes": [["x", "op", 0, 0, 0, 0, [5]]], "targets": [""], "shapes": [""], "modules": [""]},
        {
            "nodes": [["x", "op", 0, 0, 0, 0, [0]]],
            "targets": [""],
            "shapes": [""],
            "modules": [""],
            "places": [["", 0, ""]],
        },
    ],
)
def test_a_structure_that_is_none_is_replaced_by_the_text(structure):
    assert graphs.graph(TEXT, structure) == graphs.graph(TEXT)


def test_a_hostile_text_takes_time_in_proportion_to_its_length():
    line = '        x%d: "f32[]" = f(' + ";  " * 20000 + " = None\n"
    text = "class G:\n    def forward(self):\n" + "".join(line % n for n in range(10))
    assert len(graphs.graph(text)["nodes"]) == 10


PAIRS = """() => [...document.querySelectorAll(".ge[data-pairs]")].flatMap((edge) =>
  edge.dataset.pairs.split(" "))"""
# What of an edge lies inside of a box at which it does not end. The points are those of the lines
# and curves that web/src/layout.ts writes: the browser counts from the begin of a path for each.
CROSSED = """() => {
  const boxes = [...document.querySelectorAll(".gn")].map((one) => ({
    number: one.dataset.box, node: one.dataset.node, at: one.querySelector("rect").getBBox() }));
  const points = (path) => {
    const found = [];
    let x = 0, y = 0;
    const walk = (length, at) => {
      const steps = Math.ceil(length / 2);
      for (let step = 0; step <= steps; step++) found.push(at(steps ? step / steps : 0));
      [x, y] = at(1);
    };
    for (const [, letter, numbers] of path.matchAll(/([A-Za-z])([^A-Za-z]*)/g)) {
      const given = numbers.trim().split(/[ ,]+/).map(Number), [fromX, fromY] = [x, y];
      if (letter === "M") [x, y] = given;
      else if (letter === "V")
        walk(Math.abs(given[0] - y), (t) => [fromX, fromY + t * (given[0] - fromY)]);
      else if (letter === "C") {
        const [ax, ay, bx, by, toX, toY] = given;
        const along = (from, a, b, to, t) =>
          (1 - t) ** 3 * from + 3 * t * (1 - t) ** 2 * a + 3 * t * t * (1 - t) * b + t ** 3 * to;
        walk(Math.hypot(ax - x, ay - y) + Math.hypot(bx - ax, by - ay) + Math.hypot(toX - bx, toY - by),
          (t) => [along(fromX, ax, bx, toX, t), along(fromY, ay, by, toY, t)]);
      } else throw new Error("a path with " + letter);
    }
    return found;
  };
  const found = [];
  for (const edge of document.querySelectorAll(".ge"))
    for (const [x, y] of points(edge.getAttribute("d")))
      for (const {number, node, at} of boxes)
        if (number !== edge.dataset.from && number !== edge.dataset.to
            && x > at.x && x < at.x + at.width && y > at.y && y < at.y + at.height)
          found.push(edge.dataset.pairs + " on " + node);
  return found;
}"""
UNDER = """() => {
  const boxes = [...document.querySelectorAll(".gn")];
  return boxes.flatMap((one) => {
    const box = one.querySelector("rect").getBBox();
    return [...one.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]).filter(
      ([, at]) => at.x + at.width > box.x + box.width + 1 || at.y + at.height > box.y + box.height + 1);
  }).map(([text]) => text);
}"""


@pytest.fixture(scope="session")
def live(dumps):
    """Model -> stage -> edges that the graph itself has, as program.py wrote them."""
    return json.loads((dumps / "edges.json").read_text())


def drawn(page):
    return {tuple(pair.split(">")) for pair in page.evaluate(PAIRS)}


MODELS = (
    "methods linear convolution attention recurrent normalised conditional indexed nested residual"
).split()


@pytest.mark.parametrize("name", MODELS)
def test_the_drawn_edges_are_those_of_the_graph(screen, dumps, live, name):
    page = screen.open(dumps / "models" / name / "index.html", "compile/0/0/graph")
    every = page.get_by_role("button", name="draw every node")
    if every.is_visible():
        every.click()
    wanted = {tuple(edge) for edge in live[name]["edges"]}
    held = set(live[name]["parameters"])
    found = drawn(page)
    assert found <= wanted
    # an edge from a parameter ends inside the box of the node that reads it
    assert found == {edge for edge in wanted if edge[0] not in held}
    assert page.evaluate(CROSSED) == []
    assert page.evaluate(UNDER) == []
    screen.picture("graph_" + name)


@pytest.mark.parametrize("name", ["llama", "training", "bert"])
def test_no_edge_of_a_model_lies_on_a_box_folded_or_opened(screen, dumps, manifest, name):
    page = screen.open(dumps / name / "index.html")
    (entry,) = manifest(name)["functions"][0]["entries"][:1]
    stages = [one for one in entry["artifacts"] if one["kind"] == "graph" and not one["index"]]
    assert len(stages) >= 2 or name == "bert"
    for artifact in stages:
        names = [row[0] for row in artifact["structure"]["nodes"]]
        wanted = {
            (names[read], row[0]) for row in artifact["structure"]["nodes"] for read in row[6]
        }
        assert wanted
        screen.go("compile/0/0/graph/" + artifact["stage"])
        for _ in range(3):
            assert page.evaluate(CROSSED) == []
            assert drawn(page) <= wanted
            folds = page.locator(".gn.fold")
            if not folds.count():
                break
            folds.last.dispatch_event("click")


def test_a_trace_log_has_the_receivers_of_methods(screen, dumps, tmp_path):
    log = next((dumps / "trace").glob("dedicated_log_torch_trace*"))
    page = screen.open(report.build(log, tmp_path / "log.html"), "compile/0/0/graph")
    assert ("l_b_", "sum_1") in drawn(page)


def test_a_model_of_a_thousand_layers_opens_in_a_few_boxes(screen, dumps, tmp_path):
    order, layers = ["x"], 1000
    text = (
        'class G(torch.nn.Module):\n    def forward(self, L_x_: "f32[2, 8]"):\n        x = L_x_\n'
    )
    rows = [["x", "input", 0, 0, 0, 0, []]]
    for layer in range(layers):
        for name in ("linear", "relu"):
            text += '        %s_%d: "f32[2, 8]" = torch.%s(%s)\n' % (name, layer, name, order[-1])
            rows.append(["%s_%d" % (name, layer), "op", 1, 0, layer + 1, 0, [len(rows) - 1]])
            order.append(rows[-1][0])
    structure = {
        "nodes": rows,
        "targets": ["L_x_", "torch.f"],
        "shapes": ["f32[2, 8]"],
        "modules": [""] + ["layers.%d" % layer for layer in range(layers)],
        "places": [["", 0, ""]],
    }
    artifact = {
        "stage": "Captured_Graph",
        "kind": "graph",
        "path": "graph.py",
        "structure": structure,
    }
    (tmp_path / "graph.py").write_text(text + "        return (%s,)\n" % order[-1])
    document = {
        "schema": "depyf.run",
        "functions": [{"name": "f", "entries": [{"compile_id": "0/0", "artifacts": [artifact]}]}],
    }
    (tmp_path / "depyf.json").write_text(json.dumps(document))
    page = screen.open(report.build(tmp_path), "compile/0/0/graph")
    assert 10 <= page.locator(".gn").count() <= 45
    assert "2000 operations" in page.locator(".filter").inner_text()
    for _ in range(4):
        page.locator(".gn.fold").first.dispatch_event("click")
    assert page.locator(".gn.op").count() >= 2
    assert page.evaluate(CROSSED) == []
    assert os.path.getsize(str(tmp_path / "index.html")) < 2 << 20


def dumped(folder, text, structure=None):
    """A dump of one compile with one captured graph."""
    artifact = {
        "stage": "Captured_Graph",
        "kind": "graph",
        "path": "graph.py",
        "structure": structure or {},
    }
    (folder / "graph.py").write_text(text)
    document = {
        "schema": "depyf.run",
        "functions": [{"name": "f", "entries": [{"compile_id": "0/0", "artifacts": [artifact]}]}],
    }
    (folder / "depyf.json").write_text(json.dumps(document))
    return report.build(folder)


MIDDLE = """([one, other]) => {
  const top = (name) => document.querySelector(".gn[data-node='" + name + "'] rect").getBBox().y;
  return top(one) < top(other);
}"""


def test_a_write_stands_above_what_reads_the_value_and_is_joined_to_it(screen, tmp_path):
    page = screen.open(dumped(tmp_path, WRITES), "compile/0/0/graph")
    dashed = page.evaluate("[...document.querySelectorAll('.ge.write')].map(e => e.dataset.writes)")
    assert set(dashed) == {"setitem>add_", "add_>wrap"}
    assert page.evaluate(MIDDLE, ["setitem", "add_"]) and page.evaluate(MIDDLE, ["add_", "wrap"])
    assert "a write into a value" in page.locator(".legend").inner_text()
    assert page.evaluate(CROSSED) == [] and page.evaluate(UNDER) == []


def test_a_graph_that_an_operation_is_given_opens_from_its_box(screen, tmp_path):
    page = screen.open(dumped(tmp_path, WRITES), "compile/0/0/graph")
    nodes = "[...document.querySelectorAll('.gn')].map((one) => one.dataset.node)"
    box = page.locator(".gn[data-node=wrap]")
    assert "▸ body_0: 2 operations" in box.text_content()
    assert "picture of its own" in page.locator(".legend").inner_text()
    box.dispatch_event("click")
    screen.until(nodes + ".includes('sin')")
    assert drawn(page) == {("x", "sin"), ("sin", "cond"), ("cond", "output")}
    page.locator(".gn[data-node=cond]").focus()
    page.keyboard.press("Enter")
    screen.until(nodes + ".includes('cos')")
    assert page.url.endswith("#compile/0/0/graph/Captured_Graph/body_0/inner_0")
    assert drawn(page) == {("x", "cos"), ("cos", "output")}
    page.locator(".way a", has_text="body_0").click()
    screen.until(nodes + ".includes('sin')")
    page.locator(".way a", has_text="the whole graph").click()
    screen.until(nodes + ".includes('wrap')")
    assert page.locator(".way").is_hidden()


def test_the_legend_says_where_parameters_are(screen, tmp_path):
    page = screen.open(dumped(tmp_path, TEXT), "compile/0/0/graph")
    words = page.locator(".legend").inner_text()
    assert "Parameters and buffers stand in the box of the operation that reads them" in words
    (tmp_path / "other").mkdir()
    page = screen.open(dumped(tmp_path / "other", WRITES), "compile/0/0/graph")
    assert "Parameters" not in page.locator(".legend").inner_text()


#: inputs of the first row that a graph's window does not show whole
OUTSIDE = """() => {
  const frame = document.querySelector(".picture").getBoundingClientRect();
  return [...document.querySelectorAll(".gn.input")].filter((one) => {
    const box = one.querySelector("rect").getBoundingClientRect();
    return box.left < frame.left || box.right > frame.right || box.top < frame.top
      || box.top > frame.top + 60;
  }).map((one) => one.dataset.node);
}"""


@pytest.mark.parametrize("width", [1400, 800])
def test_a_graph_opens_at_its_inputs(screen, tmp_path, width):
    """They stand at one side of what makes the picture wide."""
    text = 'class G(torch.nn.Module):\n    def forward(self, L_a_: "f32[2]", L_b_: "f32[2]"):\n'
    text += '        a = L_a_\n        b = L_b_\n        c: "f32[2]" = torch.add(a, b)\n'
    text += '        zeros: "f32[2]" = torch.zeros(2)\n'
    names = ["w%d" % number for number in range(22)]
    for name in names:
        text += '        %s: "f32[2, 1024, 4096]" = torch.narrow(zeros, 0)\n' % name
    text += "        return (c, %s)\n" % ", ".join(names)
    screen.page.set_viewport_size({"width": width, "height": 900})
    page = screen.open(dumped(tmp_path, text), "compile/0/0/graph")
    assert page.evaluate(OUTSIDE) == []
    # drawn for the height that it has
    shape = page.evaluate("""() => {
      const svg = document.querySelector(".picture svg"), box = svg.viewBox.baseVal;
      return box.width / box.height / (svg.clientWidth / svg.clientHeight);
    }""")
    assert 0.98 < shape < 1.02
