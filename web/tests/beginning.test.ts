import { expect, test } from "vitest";
import { beginning } from "../src/beginning";

test("a graph begins at its first operation, behind parameters and their names", () => {
  const lines = [
    "import torch",
    "class GraphModule(torch.nn.Module):",
    '    def forward(self, L_x_: "f32[2][1]cpu",',
    '                L_w_: "f32[2][1]cpu"):',
    "        l_x_ = L_x_",
    '        l_w_: "f32[2]" = L_w_;  L_w_ = None',
    "",
    "        # File: a.py:3 in f, code: return x * w",
    '        mul: "f32[2][1]cpu" = l_x_ * l_w_',
    "        return (mul,)",
  ];
  expect(beginning("graph", lines)).toBe(7);
  expect(beginning("python", lines)).toBe(0);
});

test("generated code begins at its first kernel, with what it was made of", () => {
  const lines = [
    "import torch",
    "aten = torch.ops.aten",
    "",
    "# kernel path: /tmp/k.py",
    "# Topologically Sorted Source Nodes: [y], Original ATen: [aten.sin]",
    "cpp_fused_sin_0 = async_compile.cpp_pybinding(['const float*'], r'''",
    "''')",
    "def call(args):",
  ];
  expect(beginning("kernel", lines)).toBe(3);
  expect(
    beginning(
      "kernel",
      lines.filter((line) => !line.includes("async")),
    ),
  ).toBe(6);
  expect(beginning("kernel", ["import torch"])).toBe(0);
});
