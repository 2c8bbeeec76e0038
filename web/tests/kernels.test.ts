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
    targets: nodes.map(
      ([, target]) => target && "torch.ops." + (/^prims/.test(target) ? "" : "aten.") + target,
    ),
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

/** The same with what each node was made of. */
function tracedGraph(nodes: [string, string, string[], string][], outputs: string[]) {
  const graph = graphOf(
    nodes.map(([name, target, reads]) => [name, target, reads]),
    outputs,
  );
  for (const [name, , , origin] of nodes) {
    const node = graph.nodes.get(name);
    if (node && origin) node.origins = [origin];
  }
  return graph;
}
const triton = (name: string, parameters: string, comment: string[]) => [
  ...comment,
  name + " = async_compile.triton('" + name + "', '''",
  "@triton.jit",
  "def " + name + "(" + parameters + "):",
  "    pid = tl.program_id(0)",
  "''', device_str='cuda')",
];
const nodesAt = (lines: string[], graph: ReturnType<typeof graphOf>) => {
  const blocks = finish(readKernels(lines, graph, {}));
  return (text: string) => {
    const line = lines.findIndex((one) => one.includes(text));
    return [...(blocks.find((one) => one.from <= line && line <= one.to)?.nodes ?? [])].sort();
  };
};

test("each call of a kernel computes what stands beside it", () => {
  const graph = tracedGraph(
    [
      ["x", "", [], ""],
      ["neg", "neg.default", ["x"], "silu"],
      ["exp", "exp.default", ["neg"], "silu"],
      ["mul", "mul.Tensor", ["exp", "x"], "mul"],
      ["mm", "mm.default", ["mul", "x"], "linear"],
      ["neg_1", "neg.default", ["mm"], "silu_1"],
      ["exp_1", "exp.default", ["neg_1"], "silu_1"],
      ["mul_1", "mul.Tensor", ["exp_1", "mm"], "mul_1"],
    ],
    ["mul_1"],
  );
  const lines = [
    ...triton("triton_poi_fused_mul_silu_0", "in_out_ptr0, xnumel, XBLOCK", [
      "# Topologically Sorted Source Nodes: [silu, mul], Original ATen: [aten.silu, aten.mul]",
      "# Source node to ATen node mapping:",
      "#   mul => mul",
      "#   silu => exp, neg",
    ]),
    "    def call(self, args):",
    "        # Topologically Sorted Source Nodes: [silu, mul], Original ATen: [aten.silu, aten.mul]",
    "        stream0 = get_raw_stream(0)",
    "        triton_poi_fused_mul_silu_0.run(buf0, 8, stream=stream0)",
    "        extern_kernels.mm(buf0, x, out=buf1)",
    "        # Topologically Sorted Source Nodes: [mul_1, silu_1], Original ATen: [aten.mul, aten.silu]",
    "        stream0 = get_raw_stream(0)",
    "        triton_poi_fused_mul_silu_0.run(buf1, 8, stream=stream0)",
    "        return (buf1, )",
  ];
  const at = nodesAt(lines, graph);
  expect(at("mul_silu_0.run(buf0")).toEqual(["exp", "mul", "neg"]);
  expect(at("mul_silu_0.run(buf1")).toEqual(["exp_1", "mul_1", "neg_1"]);
  expect(at("async_compile.triton")).toEqual(["exp", "exp_1", "mul", "mul_1", "neg", "neg_1"]);
});

test("a kernel of the user computes the node that calls it", () => {
  const called = "triton_kernel_wrapper_mutation";
  const graph = tracedGraph(
    [
      ["x", "", [], ""],
      ["empty", "empty.memory_format", [], "out"],
      [called, called, ["x", "empty"], called],
    ],
    ["empty"],
  );
  const lines = [
    ...triton("add_kernel_0", "x_ptr, out_ptr, n, BLOCK: tl.constexpr", [
      "# Original path: program.py:60",
    ]),
    "        # Topologically Sorted Source Nodes: [" + called + "], Original ATen: []",
    "        add_kernel_0.run(x, buf0, 1000, 8, 1, 1, stream=stream0)",
    "        return (buf0, )",
  ];
  expect(nodesAt(lines, graph)("add_kernel_0.run")).toEqual([called]);
});

test("kernels that write to inputs compute what is written there", () => {
  const graph = graphOf(
    [
      ["step", "", []],
      ["p", "", []],
      ["g", "", []],
      ["_foreach_add", "_foreach_add_.Scalar", ["step"]],
      ["_foreach_mul", "_foreach_mul.List", ["g", "step"]],
      ["getitem", "getitem", ["_foreach_mul"]],
      ["copy_", "copy_.default", ["p", "getitem"]],
    ],
    [],
  );
  const lines = [
    ...triton("triton_for_fused_0", "in_ptr0, out_ptr0", []),
    ...triton("triton_for_fused_1", "in_ptr0, in_ptr1, in_ptr2, out_ptr0", []),
    "        triton_for_fused_0.run(step, step, stream=stream0)",
    "        triton_for_fused_1.run(p, g, step.item(), p, stream=stream0)",
    "        return ()",
  ];
  const at = nodesAt(lines, graph);
  expect(at("fused_0.run")).toEqual(["_foreach_add"]);
  expect(at("fused_1.run")).toEqual(["_foreach_mul", "copy_", "getitem"]);
});

test("copies between devices, seeds and parts of a buffer have their nodes", () => {
  const graph = graphOf(
    [
      ["x", "", []],
      ["seeds", "prims.inductor_seeds.default", []],
      ["device_put", "prims.device_put.default", ["x"]],
      ["sin", "sin.default", ["device_put"]],
      ["cos", "cos.default", ["device_put"]],
      ["cat", "cat.default", ["sin", "cos"]],
      ["mm", "mm.default", ["cat", "seeds"]],
    ],
    ["mm"],
  );
  const lines = [
    ...kernel("cat_0", "'const float*', 'float*', 'float*'"),
    "        aten.randint.low_out(-9223372036854775808, 9223372036854775807, [1], out=buf0)",
    "        buf1.copy_(x, False)",
    "        buf4 = empty_strided_cpu((4, 4), (4, 1), torch.float32)",
    "        buf2 = reinterpret_tensor(buf4, (4, 2), (4, 1), 0)  # alias",
    "        buf3 = reinterpret_tensor(buf4, (4, 2), (4, 1), 2)  # alias",
    "        cpp_fused_cat_0(buf1, buf2, buf3)",
    "        extern_kernels.mm(buf4, buf0, out=buf5)",
    "        return (buf5, )",
  ];
  const at = nodesAt(lines, graph);
  expect(at("low_out")).toEqual(["seeds"]);
  expect(at("copy_(x")).toEqual(["device_put"]);
  expect(at("cat_0(buf1")).toEqual(["cat", "cos", "sin"]);
});

test("commas inside brackets and strings part nothing", () => {
  expect(commaParts("a, f(b, (1, )), [2, 3], 'x, y', ")).toEqual([
    "a",
    "f(b, (1, ))",
    "[2, 3]",
    "'x, y'",
  ]);
});
