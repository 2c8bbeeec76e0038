import { eachLine } from "./steps";
import type { Graph, GraphNode, Steps } from "./types";

interface Comment {
  names: string[];
  exact: string[];
  at: number;
}
interface Kernel {
  name: string;
  from: number;
  to: number;
  comment: Comment | null;
  cppOutputs: boolean[] | null;
  nodes: Set<string>;
}
interface Call {
  at: number;
  from: number;
  kernel: Kernel | null;
  library: string;
  target: string | undefined;
  args: string[];
  /** What a library call is given, in its order. */
  operands: Operand[];
  comment: Comment | null;
  nodes: Set<string>;
}
interface Operand {
  name: string;
  /** Whether the call is given a view of it. */
  viewed: boolean;
}
type Buffers = Map<string, string | null>;
interface Calls {
  definitions: Map<string, Kernel>;
  calls: Call[];
  buffers: Buffers;
}
/** Lines of generated code with the nodes of the graph that they compute. */
export interface Block {
  from: number;
  to: number;
  nodes: Set<string>;
  names: string[];
}
type Provenance = Record<string, unknown>;

export const KERNEL_DEFINITION = /^(\w+) = async_compile\.(\w+)\(/;
export const SOURCE_NODES =
  /(?:#|\/\/) (?:Topologically Sorted|Unsorted) Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]/;
export const NODE_MAPPING = /^#\s+(\S+) => (.+)$/;

export const CPP_DEFINITION = /^(?:extern "C"|static|inline)\s.*?\bvoid\s+(\w+)\(/;
export const CPP_CALL =
  /^\s+(?:(\w+)\((?=\()|AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_(?:cpu|cuda|proxy_executor)_(\w+?)(_out)?\()(.*)$/;
export const CPP_OUTPUT = /^\s+output_handles\[(\d+)\] = (?:std::move\()?(\w+)/;

// The same for the C++ that Inductor writes with cpp_wrapper: the definitions stand behind or before the calls, in the same language.
export function* readWrapper(lines: string[], graph: Graph | null): Steps<Calls> {
  const definitions = new Map<string, Kernel>(),
    calls: Call[] = [],
    buffers: Buffers = new Map();
  yield* eachLine(lines, (line, at) => {
    const definition = CPP_DEFINITION.exec(line);
    if (!definition) return;
    let stop = at;
    while (stop < lines.length - 1 && !/^{|[{;]\s*$/.test(lines[stop])) stop++; // a declaration ends here
    if (/{\s*$/.test(lines[stop]))
      while (stop < lines.length - 1 && !/^}/.test(lines[stop])) stop++;
    if (/^}/.test(lines[stop]))
      definitions.set(definition[1], {
        name: definition[1],
        from: at,
        to: stop,
        comment: null,
        cppOutputs: null,
        nodes: new Set(),
      });
  });
  let comment: Comment | null = null;
  yield* eachLine(lines, (line, at) => {
    const source = SOURCE_NODES.exec(line);
    if (source) {
      comment = { names: source[1].split(", ").filter(Boolean), exact: [], at };
      return;
    }
    const output = CPP_OUTPUT.exec(line);
    if (output && graph?.result?.outputs[Number(output[1])])
      buffers.set(output[2], graph.result.outputs[Number(output[1])]);
    const called = CPP_CALL.exec(line),
      kernel = (called?.[1] && definitions.get(called[1])) || null;
    if (!called || !(kernel || (called[2] && comment))) return;
    calls.push({
      at,
      from: comment ? comment.at : at,
      kernel,
      library: kernel ? "" : (called[2] ?? ""),
      target: (/\w+/.exec(called[4]) || [])[0],
      args: called[4].match(/\bbuf\d+\b|\barg\w+/g) || [],
      operands: [],
      comment,
      nodes: new Set(),
    });
    comment = null;
  });
  return { definitions, calls, buffers };
}

// Generated code: blocks of lines (a kernel's definition, a call) with the nodes of the post-grad graph that they compute.
export function* readKernels(
  lines: string[],
  graph: Graph | null,
  known: Provenance,
): Steps<Block[]> {
  const blocks: Block[] = [],
    wrapper = lines.slice(0, 20).some((line) => /^cpp_wrapper_src = /.test(line));
  const { definitions, calls, buffers } = yield* wrapper
    ? readWrapper(lines, graph)
    : readCalls(lines, graph);
  if (graph) {
    assign(calls, known, graph);
    yield undefined;
    connect(calls, buffers, graph);
  }
  for (const call of calls) {
    for (const kernel of call.kernel ? [call.kernel] : [])
      for (const node of call.nodes) kernel.nodes.add(node);
    blocks.push({
      from: call.from,
      to: call.at,
      nodes: call.nodes,
      names: call.comment ? call.comment.names : [],
    });
  }
  for (const kernel of definitions.values())
    blocks.push({
      from: kernel.from,
      to: kernel.to,
      nodes: kernel.nodes,
      names: kernel.comment ? kernel.comment.names : [],
    });
  return blocks;
}
/** The parts of a list of Python expressions; commas inside brackets and strings part nothing. */
export function commaParts(text: string): string[] {
  const parts: string[] = [];
  let depth = 0,
    from = 0,
    quote = "";
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (quote) {
      if (letter === "\\") at++;
      else if (letter === quote) quote = "";
    } else if (letter === "'" || letter === '"') quote = letter;
    else if ("([{".includes(letter)) depth++;
    else if (")]}".includes(letter)) depth--;
    else if (letter === "," && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last ? [...parts, last] : parts;
}
/** The tensor that an argument or result names, by itself or as a view of it. */
function tensorOf(part: string): Operand | null {
  const found = /^(reinterpret_tensor\()?([A-Za-z_]\w*)\s*(?:,|$)/.exec(part);
  return found && { name: found[2], viewed: found[1] !== undefined };
}
function operandsOf(args: string): Operand[] {
  const found = commaParts(args).flatMap((part) => tensorOf(part) ?? []);
  return found.filter(({ name }) => !/^(None|True|False)$/.test(name));
}
export function* readCalls(lines: string[], graph: Graph | null): Steps<Calls> {
  const definitions = new Map<string, Kernel>(),
    calls: Call[] = [],
    buffers: Buffers = new Map();
  let comment: Comment | null = null;
  let commentAt = -1;
  for (let at = 0, steps = 0; at < lines.length; at++) {
    if (++steps % 500 === 0) yield undefined;
    const line = lines[at];
    const source = SOURCE_NODES.exec(line);
    if (source) {
      comment = { names: source[1].split(", ").filter(Boolean), exact: [], at };
      commentAt = at;
      continue;
    }
    if (comment && /^#/.test(line)) {
      const mapped = NODE_MAPPING.exec(line);
      if (mapped) comment.exact.push(...mapped[2].split(", "));
      continue;
    }
    const definition = KERNEL_DEFINITION.exec(line);
    if (definition) {
      let stop = at;
      const quote = /'''|"""/.exec(line);
      if (quote) {
        stop = at + 1;
        while (stop < lines.length - 1 && !lines[stop].includes(quote[0])) stop++;
      }
      const kernel: Kernel = {
        name: definition[1],
        from: comment && commentAt >= 0 ? commentAt : at,
        to: stop,
        comment,
        cppOutputs: null,
        nodes: new Set(),
      };
      const signature = /cpp_pybinding\(\[(.*?)\]/.exec(line);
      if (signature)
        kernel.cppOutputs = signature[1]
          .split(",")
          .map((type) => /\*/.test(type) && !/const/.test(type));
      definitions.set(kernel.name, kernel);
      comment = null;
      at = stop;
      continue;
    }
    const called = /^\s+(?:(\w+) = )?([\w.]+?)(?:\.run)?\((.*)\)\s*(?:#.*)?$/.exec(line);
    const kernel = (called && definitions.get(called[2])) || null;
    const library =
      called && /^(extern_kernels\.|torch\.ops\.)/.test(called[2])
        ? called[2].split(".").slice(called[2].startsWith("torch") ? 3 : 1)[0]
        : "";
    if (called && (kernel || library))
      calls.push({
        at,
        from: comment ? commentAt : at,
        kernel,
        library,
        target: called[1] || (/out=(\w+)/.exec(called[3]) || [])[1],
        args: called[3].match(/[A-Za-z_]\w*/g) || [],
        operands: library ? operandsOf(called[3]) : [],
        comment,
        nodes: new Set(),
      });
    if (
      kernel ||
      library ||
      (/\S/.test(line) && !/^\s*(buf\d+ = empty|del |#|with |torch\.)/.test(line))
    )
      comment = null;
    const alias = /^\s+(buf\d+) = (?:reinterpret_tensor\()?(\w+)\b.*(?:# reuse|\))/.exec(line);
    if (alias && !kernel && !library) buffers.set(alias[1], buffers.get(alias[2]) || null);
    const returned = /^\s+return \((.*)\)\s*$/.exec(line);
    const result = graph?.result;
    if (returned && result) {
      const names = commaParts(returned[1]).map((part) => tensorOf(part)?.name ?? "");
      if (names.length === result.outputs.length)
        names.forEach((name, index) => {
          if (result.outputs[index]) buffers.set(name, result.outputs[index]);
        });
    }
  }
  return { definitions, calls, buffers };
}

// Inductor's own provenance, where it was turned on: "name of what is called:number of the call" -> nodes of the post-grad graph.
export function assign(calls: Call[], known: Provenance, graph: Graph): void {
  const queues = new Map<string, string[][]>();
  const numbered = Object.keys(known)
    .flatMap((key) => {
      const found = /^(.*):(\d+)$/.exec(key);
      return found ? [[key, found[1], Number(found[2])] as const] : [];
    })
    .sort((a, b) => a[2] - b[2]);
  for (const [key, name] of numbered) {
    const short = name.split(".").pop() ?? "",
      nodes = known[key],
      queue = queues.get(short) ?? [];
    queues.set(short, queue);
    queue.push(Array.isArray(nodes) ? nodes : []);
  }
  for (const call of calls) {
    const nodes = (queues.get(call.kernel ? call.kernel.name : call.library) || []).shift();
    for (const name of nodes || []) if (graph.nodes.has(name)) call.nodes.add(name);
  }
}

const VIEW = new Set(
  "permute reshape view t transpose as_strided squeeze unsqueeze expand slice select alias".split(
    " ",
  ),
);
const operator = (node: GraphNode) =>
  (/^(?:torch\.ops\.)?\w+\.(\w+)/.exec(node.target) || [])[1] || node.target;

/** The buffers that a library call reads hold the nodes that its node reads, in the same order. */
function name(operands: Operand[], node: GraphNode, buffers: Buffers, graph: Graph): void {
  const given = operands.filter(
    (one, at) => operands.findIndex((other) => other.name === one.name) === at,
  );
  if (given.length !== node.reads.length) return;
  given.forEach((one, at) => {
    let read = graph.nodes.get(node.reads[at]);
    while (one.viewed && read && read.reads.length === 1 && VIEW.has(operator(read)))
      read = graph.nodes.get(read.reads[0]);
    if (read && /^buf\d+$/.test(one.name) && !buffers.get(one.name))
      buffers.set(one.name, read.name);
  });
}

// Which nodes each call computes: what Inductor wrote beside it where it did; else a library call is the next node of its
// operator, and a generated kernel everything between its outputs and what was computed before.
export function connect(calls: Call[], buffers: Buffers, graph: Graph): void {
  const claimed = new Set(calls.flatMap((call) => [...call.nodes])),
    seen = new Map();
  const ops = graph.order.filter((node) => node.kind === "op");
  for (const call of calls) {
    if (!call.library || call.nodes.size) continue;
    const count = seen.get(call.library) || 0;
    const found = ops.filter((node) => operator(node) === call.library)[count];
    seen.set(call.library, count + 1);
    if (found) {
      call.nodes.add(found.name);
      claimed.add(found.name);
      if (call.target) buffers.set(call.target, found.name);
      name(call.operands, found, buffers, graph);
    }
  }
  for (const call of calls) {
    if (!call.kernel || call.nodes.size) continue;
    const kernel = call.kernel;
    const exact = (call.kernel.comment ? call.kernel.comment.exact : [])
      .concat(call.comment ? call.comment.exact : [])
      .filter((name) => graph.nodes.has(name));
    if (exact.length) {
      for (const name of exact) {
        call.nodes.add(name);
        claimed.add(name);
      }
      continue;
    }
    const outputs = call.args.filter(
      (name, index) => buffers.get(name) && (kernel.cppOutputs ? kernel.cppOutputs[index] : true),
    );
    const work = outputs
      .map((name) => buffers.get(name) ?? "")
      .filter((name) => !claimed.has(name));
    while (work.length) {
      const node = graph.nodes.get(work.pop() ?? "");
      if (node?.kind !== "op" || claimed.has(node.name)) continue;
      claimed.add(node.name);
      call.nodes.add(node.name);
      work.push(...node.reads);
    }
  }
  // what no buffer with a known node leads to is found by the operators in the kernel's name
  for (const call of calls) {
    if (!call.kernel || call.nodes.size) continue;
    const name = call.kernel.name;
    for (const node of ops)
      if (!claimed.has(node.name) && name.includes("_" + operator(node))) {
        call.nodes.add(node.name);
        claimed.add(node.name);
      }
  }
}
