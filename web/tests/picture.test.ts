import { describe, expect, test } from "vitest";
import { arrange, type Box, type Edge, FEW, givenName, heldName, MOST } from "../src/fold";
import { expand, type GraphData, type Row } from "../src/graph";
import { layout } from "../src/layout";
import type { Graph, GraphNode } from "../src/types";

/** Numbers that look random and are the same for one seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A model of layers: each has two operations with a parameter each, and what it was given is added again. */
function model(layers: number): Graph {
  const nodes: Row[] = [["x", "input", 0, 0, 0, -1, [], 0, -1]];
  const modules = [""];
  let last = 0;
  for (let layer = 0; layer < layers; layer++) {
    modules.push("layers." + layer);
    const given = last;
    for (const name of ["linear", "relu"]) {
      nodes.push(["p_" + layer + name, "parameter", 0, 0, 0, -1, [], 0, -1]);
      nodes.push([name + layer, "op", 0, 0, layer + 1, -1, [last, nodes.length - 1], 0, -1]);
      last = nodes.length - 1;
    }
    nodes.push(["add" + layer, "op", 0, 0, layer + 1, -1, [last, given], 0, -1]);
    last = nodes.length - 1;
  }
  nodes.push(["output", "output", 0, 0, 0, -1, [last], 0, -1]);
  const data: GraphData = {
    nodes,
    targets: ["f"],
    shapes: ["f32[2]"],
    modules,
    places: [],
    outputs: [],
    output_lines: [],
  };
  return expand(data);
}

function random(seed: number, count: number): Graph {
  const draw = numbers(seed);
  const nodes: Row[] = [];
  for (let at = 0; at < count; at++) {
    const reads = new Set<number>();
    for (let more = Math.floor(draw() * 4); more > 0 && at; more--)
      reads.add(Math.floor(draw() * at));
    const kind = reads.size ? "op" : draw() < 0.5 ? "input" : "parameter";
    nodes.push(["n" + at, kind, at % 3, at % 2, 0, -1, [...reads].sort((a, b) => a - b), at, -1]);
  }
  nodes.push(["output", "output", 0, 0, 0, -1, [count - 1], count, -1]);
  return expand({
    nodes,
    targets: ["torch.relu", "a.very.long.operator_name_that_takes_space", ".sum"],
    shapes: ["f32[2, 3]", ""],
    modules: [""],
    places: [],
    outputs: [],
    output_lines: [],
  });
}

/** Points on a path of M, V and C, close to each other. */
function points(path: string): [number, number][] {
  const found: [number, number][] = [];
  let [x, y] = [0, 0];
  for (const [, kind, body] of path.matchAll(/([MVC])([^MVC]*)/g)) {
    const values = body.trim().split(/\s+/).map(Number);
    if (kind === "M") [x, y] = values;
    else {
      const [x1, y1, x2, y2, x3, y3] = kind === "C" ? values : [x, y, x, values[0], x, values[0]];
      for (let step = 0; step <= 40; step++) {
        const t = step / 40;
        const u = 1 - t;
        found.push([
          u ** 3 * x + 3 * u * u * t * x1 + 3 * u * t * t * x2 + t ** 3 * x3,
          u ** 3 * y + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t ** 3 * y3,
        ]);
      }
      [x, y] = [x3, y3];
    }
  }
  return found;
}
function crossings(boxes: Box[], edges: Edge[]): string[] {
  const found: string[] = [];
  for (const edge of edges)
    for (const [x, y] of edge.path ? points(edge.path) : [])
      for (const box of boxes)
        if (
          box !== edge.from &&
          box !== edge.to &&
          x > box.x &&
          x < box.x + box.width &&
          y > box.y &&
          y < box.y + box.height
        )
          found.push(edge.from.title + " to " + edge.to.title + " lies on " + box.title);
  return found;
}
function overlaps(boxes: Box[]): number {
  let found = 0;
  for (const one of boxes)
    for (const other of boxes)
      if (
        one.number < other.number &&
        one.x < other.x + other.width &&
        other.x < one.x + one.width &&
        one.y < other.y + other.height &&
        other.y < one.y + one.height
      )
        found++;
  return found;
}

describe("a picture", () => {
  for (let seed = 1; seed <= 12; seed++)
    test("of random graph " + seed + " has no edge on a box and no box on another", () => {
      const { boxes, edges } = arrange(random(seed, 10 + 6 * seed), new Set(), true);
      layout(boxes, edges);
      expect(crossings(boxes, edges)).toEqual([]);
      expect(overlaps(boxes)).toBe(0);
      expect(edges.every((edge) => edge.path)).toBe(true);
    });

  test("has each edge of the graph, or its end inside the box that reads it", () => {
    const graph = random(5, 60);
    const { boxes, edges } = arrange(graph, new Set(), true);
    const drawn = new Set(edges.flatMap((edge) => edge.pairs.map((pair) => pair.join(">"))));
    const own = new Set(boxes.flatMap((box) => box.nodes.map((node) => node.name)));
    for (const node of graph.order)
      for (const name of node.reads) expect(drawn.has(name + ">" + node.name)).toBe(own.has(name));
  });

  test("of a model of a thousand layers has few boxes, each of which opens", () => {
    const graph = model(1000);
    const open = new Set<string>();
    let { boxes, edges, folded } = arrange(graph, open, false);
    expect(folded && boxes.length > 5 && boxes.length <= FEW + 2).toBe(true);
    for (let step = 0; step < 6; step++) {
      const fold = boxes.find((box) => box.kind === "fold");
      if (!fold) break;
      open.add(fold.key);
      const before = boxes.length;
      ({ boxes, edges } = arrange(graph, open, false));
      expect(boxes.length).toBeGreaterThan(before);
      expect(boxes.length).toBeLessThanOrEqual(MOST + 2);
    }
    expect(boxes.some((box) => box.kind === "op")).toBe(true);
    layout(boxes, edges);
    expect(crossings(boxes, edges)).toEqual([]);
  });

  test("of a long graph names edges that are too long to be followed", () => {
    const graph = model(120);
    for (const node of graph.order) if (node.name.startsWith("add")) node.reads.push("relu0");
    const { boxes, edges } = arrange(graph, new Set(), true);
    layout(boxes, edges);
    const named = edges.filter((edge) => !edge.path);
    expect(named.length).toBeGreaterThan(50);
    for (const edge of named) expect(edge.to.lines).toContain("← " + edge.from.title);
    expect(crossings(boxes, edges)).toEqual([]);
  });
});

test("parameters are called by their modules", () => {
  expect(heldName("L_self_modules_layers_modules_3_modules_inner_parameters_weight_")).toBe(
    "layers.3.inner.weight",
  );
  expect(heldName("L_self_parameters_weight_")).toBe("weight");
  expect(heldName("G_model_modules_moe_modules_router_parameters_weight_")).toBe(
    "moe.router.weight",
  );
  expect(heldName("L_a_")).toBe("L_a_");
});

test("the operands of an operation stand in their order", () => {
  const graph = expand({
    nodes: [
      ["a", "input", 0, 0, 0, -1, [], 0, -1],
      ["b", "input", 0, 0, 0, -1, [], 1, -1],
      ["matmul", "op", 1, 0, 0, -1, [0, 1], 2, -1],
      ["add", "op", 1, 0, 0, -1, [2], 3, -1],
      ["output", "output", 0, 0, 0, -1, [3], 4, -1],
    ],
    targets: ["", "operator.matmul"],
    shapes: [""],
    modules: [""],
    places: [],
    outputs: ["add"],
    output_lines: [4],
  });
  const { boxes, edges } = arrange(graph, new Set(), true);
  layout(boxes, edges);
  const left = (title: string) => boxes.find((box) => box.title === title)?.x ?? -1;
  expect(left("a")).toBeLessThan(left("b"));
  expect(Math.min(...boxes.map((box) => box.x))).toBeGreaterThanOrEqual(0);
});

test("what reads a value that was written into is drawn below the write, joined to it", () => {
  const graph = expand({
    nodes: [
      ["perm", "input", 0, 0, 0, -1, [], 0, -1],
      ["inv_perm", "op", 1, 0, 0, -1, [0], 1, -1],
      ["setitem", "op", 2, 0, 0, -1, [1, 0], 2, -1],
      ["add", "op", 3, 0, 0, -1, [1], 3, -1],
      ["output", "output", 0, 0, 0, -1, [3], 4, -1],
    ],
    targets: ["", "torch.empty_like", "operator.setitem", "operator.add"],
    shapes: [""],
    modules: [""],
    places: [],
    outputs: ["add"],
    output_lines: [4],
    writes: [[2, [1], [3]]],
  });
  const { boxes, edges } = arrange(graph, new Set(), true);
  layout(boxes, edges);
  const box = (title: string) => boxes.find((one) => one.title === title) as Box;
  expect(box("setitem").lines).toContain("writes inv_perm");
  expect(box("add").y).toBeGreaterThan(box("setitem").y + box("setitem").height);
  const write = edges.find((edge) => edge.from === box("setitem"));
  expect(write).toMatchObject({ to: box("add"), pairs: [], writes: [["setitem", "add"]] });
  expect(write?.path).toBeTruthy();
});

test("the output of a graph that updates what it is given says what that is", () => {
  const graph = expand({
    nodes: [
      ["weight", "parameter", 0, 0, 0, -1, [], 0, -1],
      ["state", "input", 1, 0, 0, -1, [], 0, -1],
      ["sqrt", "op", 3, 0, 0, -1, [1], 1, -1],
      ["add_", "op", 4, 0, 0, -1, [0, 1], 2, -1],
      ["neg_", "op", 5, 0, 0, -1, [2], 3, -1],
      ["output", "output", 2, 0, 0, -1, [], 4, -1],
    ],
    targets: [
      "self___param_groups_0__params___1",
      "self___state_list_dict_keys_L__self___state___1___exp_avg",
      "",
      "torch.sqrt",
      "torch._foreach_add_",
      ".neg_",
    ],
    shapes: [""],
    modules: [""],
    places: [],
    outputs: [],
    output_lines: [],
    writes: [
      [3, [0, 1], [5]],
      [4, [2], []],
    ],
  });
  const { boxes } = arrange(graph, new Set(), true);
  expect(boxes.find((one) => one.title === "output")?.lines).toEqual([
    "writes to:",
    "group 0, parameter 1",
    "state of parameter 1, exp_avg",
  ]);
});

test("an operation that is given graphs names them in its box, and they have nodes of their own", () => {
  const tables = { shapes: [""], modules: [""], places: [], outputs: [], output_lines: [] };
  const body = (target: string): GraphData => ({
    ...tables,
    nodes: [
      ["y", "input", 0, 0, 0, -1, [], 0, -1],
      ["inside", "op", 1, 0, 0, -1, [0], 1, -1],
    ],
    targets: ["", target],
  });
  const graph = expand({
    ...tables,
    nodes: [
      ["x", "input", 0, 0, 0, -1, [], 0, -1],
      ["true_0", "parameter", 1, 0, 0, -1, [], 1, -1],
      ["false_0", "parameter", 2, 0, 0, -1, [], 2, -1],
      ["cond", "op", 3, 0, 0, -1, [0, 1, 2], 3, -1],
    ],
    targets: ["", "cond_true_0", "self.cond_false_0", "torch.ops.higher_order.cond"],
    inner: { cond_true_0: body("torch.sin"), cond_false_0: body("torch.cos") },
  });
  const box = arrange(graph, new Set(), true).boxes.find((one) => one.title === "cond");
  expect(box?.lines).toEqual(["cond", "▸ cond_true_0: 1 operation", "▸ cond_false_0: 1 operation"]);
  expect([...(box?.inner ?? [])]).toEqual([
    [1, "cond_true_0"],
    [2, "cond_false_0"],
  ]);
  const inner = graph.inner.get("cond_false_0") as Graph;
  expect(arrange(inner, new Set(), true).boxes.map((one) => one.title)).toEqual(["y", "cos"]);
});

test("operations without edges stand below the others, in rows", () => {
  const graph = model(3);
  const loose = Array.from({ length: 20 }, (_, at) => "set_grad_enabled" + at);
  const op = graph.nodes.get("linear0") as GraphNode;
  graph.order.splice(1, 0, ...loose.map((name) => ({ ...op, name, reads: [] })));
  const { boxes, edges } = arrange(graph, new Set(), true);
  layout(boxes, edges);
  const isLoose = (box: Box) => loose.includes(box.nodes[0].name);
  const end = Math.max(...boxes.filter((box) => !isLoose(box)).map((box) => box.y + box.height));
  const below = boxes.filter(isLoose);
  expect(below.every((box) => box.y > end)).toBe(true);
  expect(new Set(below.map((box) => box.y)).size).toBeGreaterThan(1);
  expect(overlaps(boxes)).toBe(0);
  expect(crossings(boxes, edges)).toEqual([]);
});

test("an input is called as in the program", () => {
  const names = {
    L_images_: "images",
    L_kwargs_input_ids_: "kwargs_input_ids",
    L_args_0_: "args[0]",
    L_self_modules_layers_modules_0_modules_norm_eps: "layers.0.norm_eps",
    L_stack0_: "stack0",
    G_table_: "table",
    L_self_parameters_weight_: "weight",
    primals_1: "primals_1",
    s0: "s0",
    "": "",
  };
  for (const [target, name] of Object.entries(names)) expect(givenName(target)).toBe(name);
});

/** Operations of modules in turn, `layer.part line`, each of which reads the one before it. */
function ofModules(...runs: string[]): Graph {
  const nodes: Row[] = [["x", "input", 0, 0, 0, -1, [], 0, -1]];
  const modules = [""];
  const places: GraphData["places"] = [];
  for (const run of runs) {
    const [module, line] = run.split(" ");
    modules.push(module);
    places.push(["/a/net.py", Number(line ?? 1), "forward", "code"]);
    for (const name of ["a", "b", "c", "d"])
      nodes.push([
        name + nodes.length,
        "op",
        0,
        0,
        modules.length - 1,
        places.length - 1,
        [nodes.length - 1],
        0,
        -1,
      ]);
  }
  nodes.push(["output", "output", 0, 0, 0, -1, [nodes.length - 1], 0, -1]);
  return expand({
    nodes,
    targets: ["torch.f"],
    shapes: [""],
    modules,
    places,
    outputs: [],
    output_lines: [],
  });
}

const layer = (name: string, ...more: string[]): string[] =>
  ["norm", "conv", "norm2", "conv2", ...more].map((part) => name + "." + part);
const folds = (graph: Graph, ...open: string[]): string[] =>
  arrange(graph, new Set(open), false)
    .boxes.filter((box) => box.kind === "fold")
    .map((box) => box.title);

test("modules of one class are all boxes, or all opened", () => {
  const names = ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9"];
  const many = names.flatMap((name) => layer(name, ...(name === "d2" ? ["skip"] : [])));
  expect(folds(ofModules(...many))).toEqual(names);
  const few = ofModules(...layer("d1"), ...layer("d2", "skip"), "head.linear", "tail.linear");
  expect(folds(few)).toEqual([...layer("d1"), ...layer("d2", "skip"), "head", "tail"]);
});

test("a part of a module does not have the module's title alone", () => {
  const own = ["d2.norm", "d2 23", "d2.conv", "d2 24", "d2 25"];
  const others = Array.from({ length: 10 }, (_, at) => "m" + at);
  const titles = folds(ofModules(...own, ...layer("d3"), ...others));
  expect(titles).toContain("d2, line 23");
  expect(titles).toContain("d2, lines 24 to 25");
  const again = ofModules(...Array.from({ length: 6 }, () => ["cell", "out", "cell.x"]).flat());
  expect(new Set(folds(again)).size).toBe(folds(again).length);
});

test("names that begin alike differ where they are cut, and stand whole in the box", () => {
  const graph = ofModules("m");
  const names = ["weight", "bias"].map((end) => "G_" + "_long_name".repeat(6) + "_" + end);
  for (const name of names)
    graph.nodes.set(name, { ...graph.order[0], name, target: name, kind: "parameter" });
  graph.order[1].reads = names;
  const box = arrange(graph, new Set(), true).boxes[0];
  expect(box.lines[1].endsWith("name_weight")).toBe(true);
  expect(box.lines[2]).not.toBe(box.lines[1]);
  expect(box.whole.slice(2)).toEqual(names);
});
