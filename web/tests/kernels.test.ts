import { expect, test } from "vitest";
import { expand, type GraphData } from "../src/graph";
import { commaParts, readKernels } from "../src/kernels";
import { finish } from "../src/steps";

/** A graph of nodes with what each reads; the last one names what is returned. */
function graphOf(nodes: [string, string, string[]][], outputs: (string | null)[]) {
  const number = (name: string) => nodes.findIndex((node) => node[0] === name);
  const data: GraphData = {
    nodes: nodes.map(([name, target, reads], at) => [
      name,
      target ? "op" : "input",
      at,
      0,
      0,
      -1,
      reads.map(number),
      at,
      -1,
    ]),
    targets: nodes.map(([, target]) => target && "torch.ops.aten." + target),
    shapes: [""],
    modules: [""],
    places: [],
    outputs,
    output_lines: [nodes.length],
  };
  const returned = outputs.flatMap((name) => (name ? number(name) : []));
  data.nodes.push(["output", "output", -1, 0, 0, -1, returned, nodes.length, -1]);
  return expand(data);
}
const kernel = (name: string, signature: string) => [
  "cpp_fused_" + name + " = async_compile.cpp_pybinding([" + signature + "], r'''",
  "void kernel() {}",
  "''')",
];

test("kernels are told apart by what is returned and what library calls read", () => {
  const graph = graphOf(
    [
      ["tangents", "", []],
      ["weight", "", []],
      ["x", "", []],
      ["mul", "mul.Tensor", ["tangents"]],
      ["sub", "sub.Tensor", ["mul", "tangents"]],
      ["permute", "permute.default", ["weight"]],
      ["mm", "mm.default", ["sub", "permute"]],
      ["sum_1", "sum.dim_IntList", ["sub"]],
      ["view", "reshape.default", ["sum_1"]],
      ["where", "where.self", ["mm"]],
      ["permute_1", "permute.default", ["where"]],
      ["mm_1", "mm.default", ["permute_1", "x"]],
      ["sum_2", "sum.dim_IntList", ["where"]],
      ["view_1", "reshape.default", ["sum_2"]],
    ],
    ["mm_1", "view_1", null, "view"],
  );
  const lines = [
    ...kernel("sub_0", "'const float*', 'float*'"),
    ...kernel("sum_where_1", "'const float*', 'const float*', 'float*', 'float*'"),
    ...kernel("sum_2", "'const float*', 'float*'"),
    "    def call(self, args):",
    "        buf0 = empty_strided_cpu((2, 4), (4, 1), torch.float32)",
    "        cpp_fused_sub_0(tangents, buf0)",
    "        extern_kernels.mm(buf0, reinterpret_tensor(weight, (4, 2), (1, 4), 0), out=buf1)",
    "        buf3 = buf1; del buf1  # reuse",
    "        cpp_fused_sum_where_1(buf0, buf3, buf2, buf4)",
    "        extern_kernels.mm(reinterpret_tensor(buf4, (4, 2), (1, 4), 0), x, out=buf5)",
    "        cpp_fused_sum_2(buf4, buf6)",
    "        return (buf5, reinterpret_tensor(buf6, (4, ), (1, ), 0), None, reinterpret_tensor(buf2, (2, ), (1, ), 0), )",
  ];
  const blocks = finish(readKernels(lines, graph, {}));
  const at = (line: number) => [...(blocks.find((one) => one.to === line)?.nodes ?? [])].sort();
  expect(at(11)).toEqual(["mul", "sub"]);
  expect(at(12)).toEqual(["mm"]);
  expect(at(14)).toEqual(["sum_1", "view", "where"]);
  expect(at(15)).toEqual(["mm_1"]);
  expect(at(16)).toEqual(["sum_2", "view_1"]);
});

test("commas inside brackets and strings part nothing", () => {
  expect(commaParts("a, f(b, (1, )), [2, 3], 'x, y', ")).toEqual([
    "a",
    "f(b, (1, ))",
    "[2, 3]",
    "'x, y'",
  ]);
});
