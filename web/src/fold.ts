import type { Graph, GraphNode } from "./types";

export interface Box {
  key?: string;
  name: string;
  sub: string;
  kind: "arg" | "op" | "fold" | "out";
  members: string[];
  nodes: GraphNode[];
  shape?: string;
  number: number;
  // where it is drawn
  layer: number;
  order: number;
  weight: number;
  want: number;
  x: number;
  y: number;
  width: number;
  height: number;
  in: Box[];
  out: Box[];
}
export interface Edge {
  from: Box;
  to: Box;
  shape: string;
}
type Fold = { key?: string; name?: string; nodes: GraphNode[] };

export function moduleOf(name: string): string {
  const match = /^[lL]_self_(?:dict_)?modules_(.+?)(?:_parameters_|_buffers_)/.exec(name);
  return match ? match[1].replace(/_modules_/g, ".") : "";
}
export const FEW_FOLDS = 24,
  MOST_FOLDS = 100;
// Boxes: nodes, or, where there are many, runs of nodes of one module or one source line, so that no cycle can arise.
export function fold(
  graph: Graph,
  open: Set<string>,
  limit: number,
): { boxes: Box[]; edges: Edge[]; folded: boolean } {
  const ops = graph.order.filter((node) => node.kind === "op");
  const used = new Set(
    graph.order.flatMap((node) => node.reads.map((name) => graph.nodes.get(name)?.alias || name)),
  );
  const boxes: Box[] = [],
    where = new Map<string, Box>();
  const add = (
    given: Pick<Box, "key" | "name" | "sub" | "kind" | "members" | "nodes" | "shape">,
  ) => {
    const box: Box = {
      ...given,
      number: boxes.length,
      layer: 0,
      order: 0,
      weight: 0,
      want: 0,
      x: 0,
      y: 0,
      width: 0,
      height: 0,
      in: [],
      out: [],
    };
    boxes.push(box);
    for (const name of box.members) where.set(name, box);
  };
  const many = ops.length > limit;
  for (const node of graph.order)
    if (node.kind === "arg" && used.has(node.name) && !(many && moduleOf(node.name)))
      add({ name: node.name, sub: node.shape, kind: "arg", members: [node.name], nodes: [node] });
  const box = (key: string | undefined, name: string | undefined, nodes: GraphNode[]) => {
    const last = nodes[nodes.length - 1],
      members = nodes.map((node) => node.name);
    if (nodes.length === 1)
      add({ name: last.name, sub: last.target, kind: "op", members, nodes, shape: last.shape });
    else
      add({
        key,
        name: name ?? "",
        sub: nodes.length + " operations",
        kind: "fold",
        members,
        nodes,
        shape: last.shape,
      });
  };
  const folds: Fold[] = [],
    owners = new Map<GraphNode, string>();
  let last: Fold | null = null;
  let module = "";
  for (const node of many ? ops : []) {
    module = node.reads.map((name) => moduleOf(name)).find(Boolean) || module;
    owners.set(node, module);
  }
  // modules are told apart as deep inside each other as gives a picture of few boxes
  const within = (node: GraphNode, depth: number) =>
    (owners.get(node) ?? "").split(".").slice(0, depth).join(".");
  const runs = (depth: number) =>
    ops.filter((node, at) => !at || within(node, depth) !== within(ops[at - 1], depth)).length;
  let depth = 4;
  while (many && depth > 2 && runs(depth) > FEW_FOLDS) depth--;
  for (const node of ops) {
    if (!many) {
      box("", "", [node]);
      continue;
    }
    const top = within(node, depth);
    const key = top
      ? "module " + top
      : node.place
        ? node.place.file.split("/").pop() + ":" + node.place.line
        : "other";
    if (open.has(key)) {
      last = null;
      folds.push({ nodes: [node] });
      continue;
    }
    if (last && last.key === key) {
      last.nodes.push(node);
      continue;
    }
    last = { key, name: top || key, nodes: [node] };
    folds.push(last);
  }
  // where that leaves more than can be looked at, neighbours are folded together
  const step = Math.ceil(folds.length / MOST_FOLDS);
  for (let at = 0; at < folds.length; at += step) {
    const together = folds.slice(at, at + step),
      key = "from " + together[0].nodes[0].name + " by " + step;
    if (step === 1 || open.has(key) || together.length === 1) {
      for (const one of together) box(one.key, one.name, one.nodes);
      continue;
    }
    const names = together.map((one) => one.name || one.nodes[0].name);
    box(
      key,
      names[0] + " … " + names[names.length - 1],
      together.flatMap((one) => one.nodes),
    );
  }
  if (graph.result)
    add({ name: "output", sub: "", kind: "out", members: ["output"], nodes: [graph.result] });
  const edges = new Map<string, Edge>();
  for (const box of boxes)
    for (const node of box.nodes)
      for (const name of node.reads) {
        const real = graph.nodes.get(name),
          from = where.get(real?.alias || name);
        if (!from || from === box) continue;
        const id = from.number + ">" + box.number;
        if (!edges.has(id)) edges.set(id, { from, to: box, shape: real ? real.shape : "" });
      }
  return { boxes, edges: [...edges.values()], folded: many };
}
