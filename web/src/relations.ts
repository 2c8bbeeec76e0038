import { readKernels } from "./kernels";
import { finish } from "./steps";
import { graphOf, linesOf, textOf } from "./texts";
import type { Graph, GraphNode, LineTable, Place, Relations, Steps, Text, View } from "./types";

// Nodes that torch's passes put in without saying what for: they belong to the line that all that they are read for
// belongs to.
export function inserted(graph: Graph): GraphNode[] {
  const readers = new Map<string, GraphNode[]>(),
    found: GraphNode[] = [];
  for (const node of graph.order)
    for (const name of node.reads) {
      const known = readers.get(name);
      if (known) known.push(node);
      else readers.set(name, [node]);
    }
  for (const node of [...graph.order].reverse()) {
    if (node.kind !== "op" || node.place || node.group !== undefined) continue;
    const by = readers.get(node.name) || [],
      groups = new Set(by.map((reader) => reader.group));
    if (groups.size !== 1 || groups.has(undefined)) continue;
    node.group = by[0].group;
    if (!node.origins?.length)
      node.origins = [...new Set(by.flatMap((reader) => reader.origins ?? []))];
    found.push(node);
  }
  return found;
}

export const relationCache = new Map<string, Relations>();
export function relations(view: View): Relations {
  const found = relationCache.get(view.key) ?? finish(relate(view));
  relationCache.set(view.key, found);
  return found;
}
export function* relate(view: View): Steps<Relations> {
  const ids = new Map<string, number>(),
    places: Place[] = [],
    of: LineTable = new Map(),
    near: LineTable = new Map();
  const names: Relations["names"] = new Map(),
    graphs = new Map<number, Graph>();
  const id = (file: string, line: number, code?: string): number => {
    const name = file + ":" + line;
    let found = ids.get(name);
    if (found === undefined) {
      found = places.length;
      ids.set(name, found);
      places.push({ file, line, code: code || "" });
    }
    return found;
  };
  const put = <T>(
    table: Map<number, Map<number, Set<T>>>,
    number: number,
    line: number,
    value: T,
  ) => {
    const lines = table.get(number) ?? new Map<number, Set<T>>();
    table.set(number, lines);
    const values = lines.get(line) ?? new Set<T>();
    lines.set(line, values);
    values.add(value);
  };
  const link = (number: number, line: number, group: number, into?: LineTable) =>
    put(into ?? of, number, line, group);
  const hasText = (text: Text): text is Text & { text: number } => text.text !== null;
  const find = (role: string) => view.texts.filter(hasText).find((text) => text.role === role);
  const captured = find("Captured_Graph"),
    capturedGraph = captured ? graphOf(captured) : null;
  const traced = (name: unknown): name is string =>
    typeof name === "string" && capturedGraph !== null && capturedGraph.nodes.has(name);
  const provenance = (number: number): Record<string, Record<string, unknown> | undefined> => {
    const text = find("inductor_provenance_tracking_node_mappings" + (number ? "." + number : ""));
    try {
      return (text && JSON.parse(textOf(text.text).replace(/^\s*(#.*\n)*/, ""))) || {};
    } catch {
      return {};
    }
  };
  // Names mean the same in all texts of one run of Inductor: the graphs before and after its passes, and what it generated.
  const spaceOf = (role: string): string => {
    const match = /^(?:BEFORE_POST_GRAD|AFTER_POST_GRAD|kernel)(?:\.(\d+))?$/.exec(role);
    if (match) return "p" + (match[1] ?? 0);
    if (role === "Forward_graph" && !find("Forward_graph.1")) return "p0";
    return role === "Backward_graph" && !find("Backward_graph.1") && !find("AFTER_POST_GRAD.2")
      ? "p1"
      : "";
  };
  const token = (number: number, line: number, name: string) => put(names, number, line, name);
  for (const text of view.texts.filter(hasText)) {
    if (text.kind !== "graph" || graphs.has(text.text)) continue;
    const graph = text === captured ? capturedGraph : graphOf(text),
      space = spaceOf(text.role);
    if (!graph) continue;
    graphs.set(text.text, graph);
    const origins = new Map<string, unknown[]>(
      Object.entries(text.origins || {}).map(([name, origin]) => [name, [origin]]),
    );
    const after = /^AFTER_POST_GRAD(?:\.(\d+))?$/.exec(text.role);
    if (after)
      for (const [name, found] of Object.entries(provenance(Number(after[1] || 0)).postToPre || {}))
        if (Array.isArray(found)) origins.set(name, found);
    const same = text === captured || /^(BEFORE|AFTER)_PRE_GRAD$/.test(text.role);
    let steps = 0;
    for (const node of graph.order) {
      if (++steps % 500 === 0) yield undefined;
      node.origins = (same ? [node.name] : (origins.get(node.name) ?? [])).filter(traced);
      if (node.line < 0) continue;
      if (node.kind !== "output")
        for (const name of node.origins) token(text.text, node.line, "c:" + name);
      if (space && node.kind === "op") token(text.text, node.line, space + ":" + node.name);
      const place = node.place ?? capturedGraph?.nodes.get(node.origins[0] ?? "")?.place;
      if (!place) continue;
      node.group = id(place.file, place.line, place.code);
      link(text.text, node.line, node.group);
      if (node.place?.at !== undefined) link(text.text, node.place.at, node.group);
    }
    yield undefined;
    for (const node of inserted(graph)) {
      for (const name of node.origins ?? []) token(text.text, node.line, "c:" + name);
      if (node.group !== undefined) link(text.text, node.line, node.group);
    }
    if (graph.result)
      for (const name of graph.result.outputs) {
        const node = name && graph.nodes.get(name);
        if (node && node.group !== undefined)
          for (const line of graph.result.lines)
            if (name && linesOf(text.text)[line]?.includes(name)) link(text.text, line, node.group);
      }
  }
  for (const [index, text] of view.texts
    .filter(hasText)
    .filter((text) => text.kind === "kernel")
    .entries()) {
    const suffix = index ? "." + index : "";
    const beside =
      find("AFTER_POST_GRAD" + suffix) || find(index ? "Backward_graph" : "Forward_graph");
    const graph = (beside && graphs.get(beside.text)) ?? null;
    let steps = 0;
    for (const block of yield* readKernels(
      linesOf(text.text),
      graph,
      provenance(index).cppCodeToPost || {},
    )) {
      if (++steps % 500 === 0) yield undefined;
      const groups = new Set<number>(),
        found = new Set<string>();
      for (const name of block.nodes) {
        const node = graph?.nodes.get(name);
        if (!node) continue;
        found.add("p" + index + ":" + name);
        for (const origin of node.origins || []) found.add("c:" + origin);
        if (node.group !== undefined) groups.add(node.group);
      }
      if (!groups.size)
        for (const name of block.names) {
          const node = capturedGraph?.nodes.get(name) ?? graph?.nodes.get(name);
          if (traced(name)) found.add("c:" + name);
          if (node && node.group !== undefined) groups.add(node.group);
        }
      for (let line = block.from; line <= block.to; line++) {
        for (const group of groups) link(text.text, line, group);
        for (const name of found) token(text.text, line, name);
      }
    }
  }
  yield undefined;
  const code = find("code");
  if (code) {
    const all = new Set<number>();
    if (capturedGraph)
      for (const node of capturedGraph.order) if (node.group !== undefined) all.add(node.group);
    linesOf(code.text).forEach((line, index) => {
      if (
        (view.graph && line.includes(view.graph + "_")) ||
        (view.graph && line.includes(view.graph + "("))
      )
        for (const group of all) link(code.text, index, group, near);
      if (capturedGraph?.result)
        for (const match of line.matchAll(/\bgraph_out(?:_\d+)?\[(\d+)\]/g)) {
          const node = capturedGraph.nodes.get(
            capturedGraph.result.outputs[Number(match[1])] ?? "",
          );
          if (node) token(code.text, index, "c:" + node.name);
          if (node && node.group !== undefined) link(code.text, index, node.group);
        }
    });
    for (const [line, original] of view.lines)
      if (original && original !== view.line) link(code.text, line - 1, id(view.file, original));
  }
  const source = find("source");
  if (source && view.first)
    linesOf(source.text).forEach((_line, index) => {
      const found = ids.get(view.file + ":" + (view.first + index));
      if (found !== undefined) link(source.text, index, found);
    });
  return { of, near, names, places, graphs };
}
