import { expect, test } from "vitest";
import { readGraph } from "../src/graph";
import { finish } from "../src/steps";

const GRAPH = `class GraphModule(torch.nn.Module):
    def forward(self, L_a_: "f32[10]", L_b_: "f32[10]"):
        l_a_ = L_a_
         # File: toy.py:5 in toy, code: x = a / (torch.abs(a) + 1)
        abs_1: "f32[10]" = torch.abs(l_a_)
        add: "f32[10]" = abs_1 + 1;  abs_1 = None
        return (add,)
`.split("\n");

test("a graph's text has nodes, places, shapes and what they read", () => {
  const graph = finish(readGraph(GRAPH));
  expect(graph.order.map((node) => node.name)).toEqual(["L_a_", "L_b_", "abs_1", "add", "output"]);
  expect(graph.nodes.get("add")?.reads).toEqual(["abs_1"]);
  expect(graph.nodes.get("abs_1")?.place).toMatchObject({ file: "toy.py", line: 5 });
  expect(graph.result?.outputs).toEqual(["add"]);
});
