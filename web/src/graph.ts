// Graphs, from the rows that python/depyf/report/graphs.py writes.
import type { Graph, GraphNode, Place, Result } from "./types";

/** Name, kind, numbers of target, shape, module and place, numbers of the nodes read, line, line of the place's comment. */
export type Row = [
  string,
  GraphNode["kind"],
  number,
  number,
  number,
  number,
  number[],
  number,
  number,
];

export interface GraphData {
  nodes: Row[];
  targets: string[];
  shapes: string[];
  modules: string[];
  /** File, line, function and code. */
  places: [string, number, string, string][];
  outputs: (string | null)[];
  output_lines: number[];
  /** A writer, the nodes whose values it writes into, and those that read them next. */
  writes?: [number, number[], number[]][];
  /** The graphs that operations are given, by name. */
  inner?: Record<string, GraphData>;
}

/** A graph with its nodes by name. */
export function expand(data: GraphData): Graph {
  const nodes = new Map<string, GraphNode>();
  const order: GraphNode[] = [];
  let result: Result | null = null;
  for (const [name, kind, target, shape, module, place, reads, line, at] of data.nodes) {
    const where = data.places[place];
    const node: GraphNode = {
      name,
      kind,
      target: data.targets[target] ?? "",
      shape: data.shapes[shape] ?? "",
      module: data.modules[module] ?? "",
      reads: reads.map((number) => data.nodes[number][0]),
      line,
      place: where ? placeOf(where, at) : null,
    };
    order.push(node);
    if (kind === "output") {
      result = { ...node, outputs: data.outputs, lines: data.output_lines };
      order[order.length - 1] = result;
    }
    if (kind !== "inner") nodes.set(name, order[order.length - 1]);
  }
  for (const [writer, into, readers] of data.writes ?? []) {
    order[writer].writes = into.map((number) => order[number].name);
    for (const reader of readers) {
      const node = order[reader];
      node.behind = [...(node.behind ?? []), order[writer].name];
    }
  }
  const inner = new Map(
    Object.entries(data.inner ?? {}).map(([name, one]): [string, Graph] => [name, expand(one)]),
  );
  return { nodes, order, result, inner };
}

/** The graphs that a node's operation is given, by name; `self.body_0` stands in a text, `body_0` in a live graph. */
export function innerOf(graph: Graph, node: GraphNode): [string, Graph][] {
  return node.reads.flatMap((name) => {
    const target = graph.nodes.get(name)?.target.replace(/^self\./, "") ?? "";
    const found = graph.inner.get(target);
    return found ? [[target, found] as [string, Graph]] : [];
  });
}

function placeOf([file, line, , code]: GraphData["places"][0], at: number): Place {
  return { file, line, code, at: at < 0 ? undefined : at };
}

/** The operator's name for people: `torch._C._nn.linear` is `linear`, `aten.add.Tensor` is `add`. */
export function operator(target: string): string {
  const parts = target.split(".").filter(Boolean);
  const aten = parts.indexOf("aten");
  if (aten >= 0 && parts.length > aten + 1) return parts[aten + 1];
  if (parts.length > 2 && parts[0] !== "torch" && /^(default|Tensor|Scalar)/.test(parts[2]))
    return parts[1];
  return /^[\w.]+$/.test(target) ? (parts[parts.length - 1] ?? target) : target;
}
