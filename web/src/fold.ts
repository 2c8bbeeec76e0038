// Which boxes a graph is drawn as: its nodes, or runs of nodes of one module.
import { innerOf, operator } from "./graph";
import type { Graph, GraphNode } from "./types";

export interface Box {
  number: number;
  /** What a fold is opened by; empty for other boxes. */
  key: string;
  kind: "input" | "op" | "fold" | "output";
  title: string;
  /** What stands below the title: names, shapes, parameters. */
  lines: string[];
  /** Title and lines where some of them are cut or left out; else empty. */
  whole: string[];
  nodes: GraphNode[];
  /** Its lines that name a graph which its operation is given: the number of the line, and the name. */
  inner: Map<number, string>;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  from: Box;
  to: Box;
  /** The edges of the graph that it stands for: a node and one that reads it. */
  pairs: [string, string][];
  /** A node that writes into a value and one that reads that value next. An edge of these alone is dashed. */
  writes: [string, string][];
  /** What is drawn; empty where the edge is too long to be followed, and is named in the box instead. */
  path: string;
}

export interface Drawing {
  boxes: Box[];
  edges: Edge[];
  /** Whether boxes stand for several nodes. */
  folded: boolean;
  /** Whether there are too many boxes for one more fold to be opened. */
  full: boolean;
  /** Whether parameters, and inputs, stand in the boxes of what reads them. */
  held: { parameters: boolean; inputs: boolean };
}

/** A run of operations, which is drawn as one box or as the parts that it is split into. */
interface Part {
  title: string;
  nodes: GraphNode[];
  /** How many names of the module's path are the same in all of it. */
  depth: number;
  /** Which of several parts of one title it is in, for its own parts too; "" where there is one. */
  which: string;
}

/** Boxes that are drawn at first; that may be drawn at once; parts that one fold may open into; lines in a box. */
export const FEW = 36;
export const MOST = 400;
const PARTS = 24;
const LINES = 6;
const WIDEST = 40;

const keyOf = (part: Part): string =>
  part.nodes.length > 1 ? part.nodes[0].name + "+" + part.nodes.length : "";

/** Runs of neighbours that are alike: since a graph's nodes are in the order in which they run, no cycle arises. */
function runs(nodes: GraphNode[], alike: (node: GraphNode) => string): GraphNode[][] {
  const found: GraphNode[][] = [];
  let last: string | null = null;
  for (const node of nodes) {
    const name = alike(node);
    if (name === last) found[found.length - 1].push(node);
    else found.push([node]);
    last = name;
  }
  return found;
}

const pathOf = (node: GraphNode, depth: number): string =>
  node.module.split(".").slice(0, depth).join(".");
const placeOf = (node: GraphNode): string =>
  node.place ? node.place.file.split("/").pop() + ":" + node.place.line : "";

/** The lines of a module's own code that a run of it is from. */
function linesOf(nodes: GraphNode[]): string {
  const lines = nodes.flatMap((node) => (node.place ? [node.place.line] : []));
  const [first, last] = [Math.min(...lines), Math.max(...lines)];
  if (!lines.length) return ": " + operator(nodes[0].target);
  return first === last ? ", line " + first : ", lines " + first + " to " + last;
}

/** What a run at a depth of modules is called: a module's own operations are not the module. */
function titleOf(nodes: GraphNode[], depth: number): string {
  const path = pathOf(nodes[0], depth);
  const isOwn = path.split(".").length < depth;
  return path ? path + (isOwn ? linesOf(nodes) : "") : placeOf(nodes[0]) || nodes[0].name;
}

/** Parts with which of the parts of the same title each is. */
function told(parts: Part[], which: string): Part[] {
  const counts = new Map<string, number>();
  const seen = new Map<string, number>();
  for (const { title } of parts) counts.set(title, (counts.get(title) ?? 0) + 1);
  return parts.map((part) => {
    const count = counts.get(part.title) ?? 1;
    const at = (seen.get(part.title) ?? 0) + 1;
    seen.set(part.title, at);
    const own = count > 1 ? which + " (" + at + " of " + count + ")" : which;
    return { ...part, title: part.title + own, which: own };
  });
}

/** What a fold opens into: parts by module, else by source line, else its nodes; many of them are joined again. */
export function split(part: Part): Part[] {
  const deepest = part.nodes.reduce(
    (most, node) => Math.max(most, node.module.split(".").length),
    0,
  );
  let depth = part.depth + 1;
  let found = runs(part.nodes, (node) => pathOf(node, depth));
  while (found.length === 1 && depth < deepest) {
    depth++;
    found = runs(part.nodes, (node) => pathOf(node, depth));
  }
  let parts = found.map((nodes) => ({
    title: titleOf(nodes, depth),
    nodes,
    depth,
    which: "",
  }));
  if (found.length === 1) {
    found = runs(part.nodes, placeOf);
    if (found.length === 1) found = part.nodes.map((node) => [node]);
    parts = found.map((nodes) => ({
      title: placeOf(nodes[0]) || nodes[0].name,
      nodes,
      depth,
      which: "",
    }));
  }
  parts = told(parts, part.which);
  if (parts.length <= FEW) return parts;
  const step = Math.ceil(parts.length / PARTS);
  const joined: Part[] = [];
  for (let at = 0; at < parts.length; at += step) {
    const together = parts.slice(at, at + step);
    const first = together[0].title;
    const last = together[together.length - 1].title;
    joined.push({
      title: first === last ? first : first + " … " + last,
      nodes: together.flatMap((one) => one.nodes),
      depth: part.depth,
      which: part.which,
    });
  }
  return joined;
}

/** The names of the modules right inside a part. */
const insideOf = (part: Part): Set<string> =>
  new Set(part.nodes.map((node) => node.module.split(".")[part.depth] ?? "").filter(Boolean));

const targetsOf = (part: Part): string => part.nodes.map((node) => node.target).join();

/** Whether two parts look as modules of one class: all modules that one is made of are in the other, or else both do the same. */
function areAlike(one: Part, other: Part): boolean {
  const [fewer, more] = [insideOf(one), insideOf(other)].sort((a, b) => a.size - b.size);
  if (!more.size) return targetsOf(one) === targetsOf(other);
  return fewer.size > 0 && [...fewer].every((name) => more.has(name));
}

/** The parts of a graph that are drawn: few at first, and what was opened. */
function choose(
  ops: GraphNode[],
  open: Set<string>,
  all: boolean,
): { parts: Part[]; full: boolean } {
  if (all || ops.length <= FEW)
    return {
      parts: ops.map((node) => ({ title: node.name, nodes: [node], depth: 0, which: "" })),
      full: false,
    };
  let parts = split({ title: "", nodes: ops, depth: 0, which: "" });
  while (parts.length < FEW / 2) {
    const largest = parts.reduce((one, other) =>
      other.nodes.length > one.nodes.length ? other : one,
    );
    if (largest.nodes.length === 1) break;
    // layers of one class are all boxes, or all opened
    const opened = parts.flatMap((one) =>
      one === largest || (one.nodes.length > 1 && areAlike(one, largest)) ? split(one) : [one],
    );
    if (opened.length > FEW) break;
    parts = opened;
  }
  let full = false;
  const shown: Part[] = [];
  const work = [...parts].reverse();
  for (let part = work.pop(); part; part = work.pop()) {
    const inside = open.has(keyOf(part)) ? split(part) : [];
    if (inside.length && shown.length + work.length + inside.length > MOST) full = true;
    if (!inside.length || full) shown.push(part);
    else work.push(...inside.reverse());
  }
  return { parts: shown, full };
}

/** Names that begin alike differ at their ends: what is too long is cut in its middle. */
const isLong = (text: string): boolean => text.length > WIDEST;
const clip = (text: string): string =>
  isLong(text) ? text.slice(0, WIDEST / 2 - 1) + "…" + text.slice(text.length - WIDEST / 2) : text;
/** What a parameter is called: `L_self_modules_layers_0_parameters_weight_` is `layers.0.weight`; `G`, a global. */
export function heldName(target: string): string {
  const match = /^[lLG]_\w+?_((?:dict_)?modules_.+?_)?(?:parameters|buffers)_(.+?)_?$/.exec(target);
  if (!match) return target;
  const path = (match[1] ?? "").replace(/^(?:dict_)?modules_/, "").replace(/_$/, "");
  return (path ? path.replace(/_modules_/g, ".") + "." : "") + match[2];
}
/** What an input is called by who wrote the program: `L_images_` is `images`, and `L_args_0_` is `args[0]`.
 *
 * Dynamo writes where a value comes from into the name, `L` for a local and `G` for a global one; `___stack0` and the like are values
 * that it keeps across a break.
 */
export function givenName(target: string): string {
  const held = heldName(target);
  if (held !== target) return held;
  // an attribute of a module: the name does not tell where the module's own name ends
  const inside = /^[lLG]_\w*?_?(?:dict_)?modules_(.+?)_?$/.exec(target)?.[1];
  if (inside) return inside.replace(/_modules_/g, ".");
  const group = /^(?:L_)?self_+param_groups_+(\d+)_+params_+(\d+)(_+grad)?_*$/.exec(target);
  if (group) return "group " + group[1] + ", parameter " + group[2] + (group[3] ? ".grad" : "");
  const state = /^self___state_list_dict_keys_L__self___state___(\d+)___([a-z]\w*)$/.exec(target);
  if (state) return "state of parameter " + state[1] + ", " + state[2];
  const path = /^[LG]_(\w+?)_$/.exec(target)?.[1];
  if (!path) return target;
  const item = /^(args|stack\d+)_(\d+)$/.exec(path);
  return item ? item[1] + "[" + item[2] + "]" : path.replace(/^_*(?=stack\d+$)/, "");
}
const inputName = (node: GraphNode): string => givenName(node.target) || node.name;

/** The inputs and parameters into which a graph writes: what it does besides what it returns. */
export function changedInputs(graph: Graph): GraphNode[] {
  const names = new Set(graph.order.flatMap((node) => node.writes ?? []));
  return graph.order.filter((node) => node.kind !== "op" && names.has(node.name));
}

/** The boxes and edges of a graph's picture.
 *
 * @param open - keys of the folds that were opened
 * @param all - whether each node is a box of its own
 */
export function arrange(graph: Graph, open: Set<string>, all: boolean): Drawing {
  const ops = graph.order.filter((node) => node.kind === "op");
  const { parts, full } = choose(ops, open, all);
  const used = new Set(graph.order.flatMap((node) => node.reads));
  const inputs = graph.order.filter((node) => node.kind === "input" && used.has(node.name));
  const boxes: Box[] = [];
  const boxOf = new Map<string, Box>();
  const add = (
    kind: Box["kind"],
    key: string,
    title: string,
    lines: string[],
    nodes: GraphNode[],
    inner: Map<number, string> = new Map(),
  ) => {
    const shown =
      lines.length > LINES
        ? [...lines.slice(0, LINES - 1), "and " + (lines.length - LINES + 1) + " more"]
        : lines;
    const box = {
      number: boxes.length,
      key,
      kind,
      title: clip(title),
      lines: shown.map(clip),
      whole: lines.length > LINES || [title, ...lines].some(isLong) ? [title, ...lines] : [],
      nodes,
      inner: new Map([...inner].filter(([at]) => at < shown.length - (shown === lines ? 0 : 1))),
      x: 0,
      y: 0,
      width: 0,
      height: 0,
    };
    box.width = Math.max(
      60,
      20 + Math.max(7.4 * box.title.length, ...box.lines.map((line) => 6.5 * line.length)),
    );
    box.height = 26 + 13 * box.lines.length;
    boxes.push(box);
    for (const node of nodes) boxOf.set(node.name, box);
  };
  // many inputs, such as what a backward graph is given, would be a row that nobody can read: they stand in the boxes
  if (inputs.length <= PARTS)
    for (const node of inputs)
      add("input", "", inputName(node), node.shape ? [node.shape] : [], [node]);
  /** What operations write into, other than what was made among them. */
  const written = (nodes: GraphNode[]): string[] => {
    const own = new Set(nodes.map((node) => node.name));
    const names = new Set(nodes.flatMap((node) => node.writes ?? []));
    const found = [...names].filter((name) => !own.has(name)).map((name) => callOf(name));
    if (!found.length) return [];
    return ["writes " + (found.length > 2 ? found.length + " values" : found.join(", "))];
  };
  const callOf = (name: string): string => {
    const node = graph.nodes.get(name);
    return node && node.kind !== "op" ? inputName(node) : name;
  };
  const heldIn = (nodes: GraphNode[]): GraphNode[] => {
    const names = new Set(nodes.flatMap((node) => node.reads));
    return [...names].flatMap((name) => {
      const node = graph.nodes.get(name);
      if (node && graph.inner.has(node.target.replace(/^self\./, ""))) return [];
      return node && !boxOf.has(name) && (node.kind === "parameter" || node.kind === "input")
        ? [node]
        : [];
    });
  };
  for (const part of parts) {
    const inside = heldIn(part.nodes);
    const last = part.nodes[part.nodes.length - 1];
    if (part.nodes.length === 1) {
      const lines = [last.name + (last.shape ? ": " + last.shape : ""), ...written(part.nodes)];
      const graphs = new Map<number, string>();
      for (const [name, inner] of innerOf(graph, last)) {
        const count = inner.order.filter((node) => node.kind === "op").length;
        graphs.set(lines.length, name);
        lines.push("▸ " + name + ": " + count + (count === 1 ? " operation" : " operations"));
      }
      for (const node of inside)
        lines.push(shortName(node, last) + (node.shape ? " " + node.shape : ""));
      add("op", "", operator(last.target), lines, part.nodes, graphs);
    } else {
      const parameters = inside.length
        ? ", " + inside.length + " parameter" + (inside.length === 1 ? "" : "s")
        : "";
      const lines = [part.nodes.length + " operations" + parameters];
      if (last.shape) lines.push("→ " + last.shape);
      lines.push(...written(part.nodes));
      add("fold", keyOf(part), part.title, lines, part.nodes);
    }
  }
  if (graph.result) {
    const inside = heldIn([graph.result]);
    const changed = changedInputs(graph).map(inputName);
    const lines = inside.map((node) => inputName(node));
    if (changed.length) lines.push("writes to:", ...changed);
    add("output", "", "output", lines, [graph.result]);
  }
  const edges = new Map<string, Edge>();
  const join = (name: string, to: Box, node: GraphNode, kind: "pairs" | "writes") => {
    const from = boxOf.get(name);
    if (!from || from === to) return;
    const id = from.number + ">" + to.number;
    const edge = edges.get(id) ?? { from, to, pairs: [], writes: [], path: "" };
    edges.set(id, edge);
    edge[kind].push([name, node.name]);
  };
  for (const to of boxes)
    for (const node of to.nodes) {
      for (const name of node.reads) join(name, to, node, "pairs");
      for (const name of node.behind ?? []) join(name, to, node, "writes");
    }
  return {
    boxes,
    edges: [...edges.values()],
    folded: parts.some((part) => part.nodes.length > 1),
    full,
    held: {
      parameters: heldIn(graph.order).some((node) => node.kind === "parameter"),
      inputs: inputs.length > PARTS,
    },
  };
}

/** A parameter's name in the box of a node of its own module: the last part of its path. */
function shortName(node: GraphNode, reader: GraphNode): string {
  const name = inputName(node);
  return reader.module && name.startsWith(reader.module + ".")
    ? name.slice(reader.module.length + 1)
    : name;
}
