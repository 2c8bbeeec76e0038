import { expect, test } from "vitest";
import { expand, type GraphData, operator } from "../src/graph";

const TOY: GraphData = {
  nodes: [
    ["l_a_", "input", 0, 0, 0, -1, [], 1, -1],
    ["l_b_", "input", 1, 0, 0, -1, [], 1, -1],
    ["abs_1", "op", 2, 0, 0, 0, [0], 4, 3],
    ["sum_1", "op", 3, 1, 0, -1, [1], 5, -1],
    ["output", "output", 4, 1, 0, -1, [2, 3], 6, -1],
  ],
  targets: ["L_a_", "L_b_", "torch.abs", ".sum", "output"],
  shapes: ["f32[10]", ""],
  modules: [""],
  places: [["toy.py", 5, "toy", "x = a / (torch.abs(a) + 1)"]],
  outputs: ["abs_1", "sum_1"],
  output_lines: [6],
};

test("rows become nodes with what they read, shapes and places", () => {
  const graph = expand(TOY);
  expect(graph.order.map((node) => node.name)).toEqual([
    "l_a_",
    "l_b_",
    "abs_1",
    "sum_1",
    "output",
  ]);
  expect(graph.nodes.get("sum_1")?.reads).toEqual(["l_b_"]);
  expect(graph.nodes.get("abs_1")).toMatchObject({
    shape: "f32[10]",
    target: "torch.abs",
    place: { file: "toy.py", line: 5, at: 3 },
  });
  expect(graph.result?.outputs).toEqual(["abs_1", "sum_1"]);
});

test("operators have short names", () => {
  const names = ["torch.abs", ".sum", "torch._C._nn.linear", "aten.add.Tensor", "operator.add"];
  names.push("torch.ops.aten.mm.default", "a + 1");
  expect(names.map(operator)).toEqual(["abs", "sum", "linear", "add", "add", "mm", "a + 1"]);
});
