import { eachLine } from "./steps";
import type { Graph, GraphNode, Place, Result, Steps } from "./types";

// ---- what became what: lines of the texts of one compile that belong together ----

export const STAGE_LINE = /^\s*# File: (.+?):(\d+)(?: in ([^,]+))?, code: (.*)$/;
export const NODE_LINE = /^\s+(\w+)(?:: "([^"]*)")? = (.*)$/;
export const DELETED = /(?:;\s+[\w\s=,]*= None)?;?\s*$/; // names that are set to None at the end of a node's line
export const ARGUMENT = /(\w+): "([^"]*)"/g;

// A graph as torch prints it: its nodes with line, shape, target, the nodes they read, and the source line above them.
export function* readGraph(lines: string[]): Steps<Graph> {
  const nodes = new Map<string, GraphNode>(),
    order: GraphNode[] = [];
  let place: Place | null = null,
    inSignature = false,
    returning = false;
  const results: Result[] = [];
  const put = (node: GraphNode) => {
    nodes.set(node.name, node);
    order.push(node);
  };
  yield* eachLine(lines, (line, index) => {
    const begin = line.trimStart(),
      comment = begin[0] === "#";
    if (begin.startsWith("def forward(")) inSignature = true;
    if (inSignature) {
      for (const match of line.matchAll(ARGUMENT))
        put({
          name: match[1],
          shape: match[2],
          target: "",
          kind: "arg",
          reads: [],
          line: index,
          place: null,
        });
      if (/\)(?:\s*->.*)?:\s*$/.test(line)) inSignature = false;
      return;
    }
    const file = comment ? STAGE_LINE.exec(line) : null;
    if (file) {
      place = { file: file[1], line: Number(file[2]), code: file[4], at: index };
      return;
    }
    if (begin.startsWith("# No stacktrace")) {
      place = null;
      return;
    }
    if (/^return\b/.test(begin) && order.length) {
      returning = true;
      results.push({
        name: "output",
        shape: "",
        target: "return",
        kind: "out",
        reads: [],
        outputs: [],
        line: index,
        place: null,
        lines: [index],
      });
    }
    const result = results[0];
    if (returning && result) {
      const words =
        line
          .replace(/#.*$/, "")
          .replace(/^\s*return\b/, "")
          .match(/[A-Za-z_]\w*/g) || [];
      if (!result.lines.includes(index)) result.lines.push(index);
      for (const word of words) {
        if (nodes.has(word)) {
          result.reads.push(word);
          result.outputs.push(word);
        } else if (word === "None") result.outputs.push(null);
      }
      return;
    }
    const match = comment ? null : NODE_LINE.exec(line);
    if (!match) return;
    match[3] = match[3].replace(DELETED, "");
    const alias = nodes.get(match[3].trim());
    if (alias && alias.kind === "arg") {
      nodes.set(match[1], Object.assign({}, alias, { alias: alias.name }));
      return;
    }
    const open = match[3].indexOf("(");
    const call = /^[\w.]+\(/.test(match[3]);
    const reads: string[] = [];
    for (const word of match[3].slice(call ? open : 0).match(/[A-Za-z_]\w*/g) || [])
      if (nodes.has(word) && !reads.includes(word)) reads.push(word);
    put({
      name: match[1],
      shape: match[2] || "",
      target: call ? match[3].slice(0, open) : match[3],
      kind: "op",
      reads,
      line: index,
      place,
    });
  });
  const result = results[0] ?? null;
  if (result) order.push(result);
  return { nodes, order, result };
}
