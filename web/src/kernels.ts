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
  /** Which arguments it writes, where its signature says so. */
  writes: boolean[] | null;
  /** Whether the definition is C++. */
  cpp: boolean;
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
/** Buffer -> the node that it holds. */
type Buffers = Map<string, string | null>;
interface Calls {
  definitions: Map<string, Kernel>;
  calls: Call[];
  buffers: Buffers;
  /** Part of a buffer -> the buffer. */
  parts: Map<string, string>;
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
const FRAGMENT_NODE = /^#\s+%(\w+) : .*= call_\w+\[target=/;
// Calls that Inductor writes without the operator's name, and the operator that they compute.
const UNNAMED: [RegExp, string][] = [
  [/^\s+(\w+)\.copy_\((\w+), (?:True|False)\)/, "device_put"],
  [/^\s+aten\.randint\.low_out\(.*out=(\w+)()\)/, "inductor_seeds"],
];

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
        writes: null,
        cpp: true,
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
  return { definitions, calls, buffers, parts: new Map() };
}

// Generated code: blocks of lines (a kernel's definition, a call) with the nodes of the post-grad graph that they compute.
export function* readKernels(
  lines: string[],
  graph: Graph | null,
  known: Provenance,
): Steps<Block[]> {
  const blocks: Block[] = [],
    wrapper = lines.slice(0, 20).some((line) => /^cpp_wrapper_src = /.test(line));
  const { definitions, calls, buffers, parts } = yield* wrapper
    ? readWrapper(lines, graph)
    : readCalls(lines, graph);
  if (graph) {
    assign(calls, known, graph);
    yield undefined;
    connect(calls, buffers, graph, parts);
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
  const parts = new Map<string, string>();
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
      const made = FRAGMENT_NODE.exec(line)?.[1];
      if (made && !comment.exact.includes(made)) comment.exact.push(made);
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
        writes: null,
        cpp: definition[2] !== "triton",
        nodes: new Set(),
      };
      const types = /cpp_pybinding\(\[(.*?)\]/.exec(line);
      if (types)
        kernel.writes = types[1].split(",").map((type) => /\*/.test(type) && !/const/.test(type));
      const signature = lines.slice(at, stop).find((one) => /^def \w+\(/.test(one));
      const written = commaParts(signature?.replace(/^def \w+\(|\):\s*$/g, "") ?? "").map(
        (parameter) => /^(in_)?out_ptr/.test(parameter),
      );
      if (written.includes(true)) kernel.writes = written;
      definitions.set(kernel.name, kernel);
      comment = null;
      at = stop;
      continue;
    }
    const unnamed = UNNAMED.flatMap(([form, operator]) => {
      const found = form.exec(line);
      return found ? [{ operator, target: found[1], read: found[2] }] : [];
    })[0];
    if (unnamed) {
      calls.push({
        at,
        from: comment ? commentAt : at,
        kernel: null,
        library: unnamed.operator,
        target: unnamed.target,
        args: [],
        operands: unnamed.read ? [{ name: unnamed.read, viewed: false }] : [],
        comment,
        nodes: new Set(),
      });
      comment = null;
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
        args: commaParts(called[3]).map((part) => tensorOf(part)?.name ?? ""),
        operands: library ? operandsOf(called[3]) : [],
        comment,
        nodes: new Set(),
      });
    if (
      kernel ||
      library ||
      (/\S/.test(line) &&
        !/^\s*(buf\d+ = empty|del |#|with |torch\.|stream\d+ = |\w+numel = )/.test(line))
    )
      comment = null;
    const part = /^\s+(buf\d+) = reinterpret_tensor\((\w+)\b.*# alias/.exec(line);
    if (part) parts.set(part[1], part[2]);
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
  return { definitions, calls, buffers, parts };
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

/** Input -> the node that writes to it last. */
function mutations(graph: Graph): Map<string, string> {
  const found = new Map<string, string>();
  for (const node of graph.order) {
    const written = operator(node);
    if (node.kind !== "op" || !/[^_]_$/.test(written)) continue;
    for (const name of /^_foreach_/.test(written) ? node.reads : node.reads.slice(0, 1))
      if (/^(input|parameter)$/.test(graph.nodes.get(name)?.kind ?? "")) found.set(name, node.name);
  }
  return found;
}

/** Node of the captured graph -> what became of it, in order. */
function madeOf(graph: Graph): Map<string, GraphNode[]> {
  const found = new Map<string, GraphNode[]>();
  for (const node of graph.order) {
    if (node.kind !== "op") continue;
    for (const name of node.origins ?? []) {
      const known = found.get(name);
      if (known) known.push(node);
      else found.set(name, [node]);
    }
  }
  return found;
}

/** The names of one call of a kernel -> those of another. Some are the same; the others differ by their number. */
function aligned(first: string[], names: string[]): Map<string, string> {
  const found = new Map(first.filter((name) => names.includes(name)).map((name) => [name, name]));
  const base = (name: string) => name.replace(/_\d+$/, "");
  const rest = names.filter((name) => !found.has(name));
  for (const name of first) {
    if (found.has(name)) continue;
    const place = rest.findIndex((other) => base(other) === base(name));
    if (place >= 0) found.set(name, rest.splice(place, 1)[0]);
  }
  const left = first.filter((name) => !found.has(name));
  if (left.length === rest.length) left.forEach((name, at) => found.set(name, rest[at]));
  return found;
}

/**
 * What a later call of a kernel computes. Inductor names the nodes of one call beside the definition; beside another call
 * stand only what these were made of. Of what became of each, it computes the same nodes.
 */
function counterpart(
  exact: string[],
  others: Map<string, string>,
  graph: Graph,
  made: Map<string, GraphNode[]>,
): string[] {
  return exact.flatMap((name) => {
    const origin = graph.nodes.get(name)?.origins?.[0];
    if (origin === undefined || !others.has(origin)) {
      const other = others.get(name) ?? "";
      return graph.nodes.get(other)?.kind === "op" ? [other] : [];
    }
    const before = made.get(origin) ?? [],
      after = made.get(others.get(origin) ?? "") ?? [],
      position = before.findIndex((node) => node.name === name);
    const same =
      before.length === after.length &&
      before.every((node, at) => operator(node) === operator(after[at]));
    if (same) return [after[position].name];
    const wanted = operator(before[position]);
    const nth = before.slice(0, position).filter((node) => operator(node) === wanted).length;
    return after.filter((node) => operator(node) === wanted)[nth]?.name ?? [];
  });
}

/** What Inductor wrote beside a generated kernel, or null where it says nothing. */
function written(
  call: Call,
  kernel: Kernel,
  graph: Graph,
  made: Map<string, GraphNode[]>,
): string[] | null {
  const beside = kernel.comment;
  const exact = [...(beside?.exact ?? []), ...(call.comment?.exact ?? [])].filter((name) =>
    graph.nodes.has(name),
  );
  const names = call.comment?.names ?? [];
  if (exact.length && beside && names.length && names.join() !== beside.names.join())
    return counterpart(exact, aligned(beside.names, names), graph, made);
  if (exact.length) return exact;
  if (kernel.cpp || !names.length) return null;
  const found = names.flatMap((name) => [
    ...(made.get(name) ?? []).map((node) => node.name),
    ...(graph.nodes.get(name)?.kind === "op" ? [name] : []),
  ]);
  return found.length ? found : null;
}

// Which nodes each call computes: what Inductor wrote beside it where it did; else a library call is the next node of its
// operator, and a generated kernel everything between its outputs and what was computed before.
export function connect(
  calls: Call[],
  buffers: Buffers,
  graph: Graph,
  parts: Map<string, string> = new Map(),
): void {
  const claimed = new Set(calls.flatMap((call) => [...call.nodes])),
    seen = new Map(),
    made = madeOf(graph),
    mutated = mutations(graph);
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
  const held = (buffer: string): string =>
    buffers.get(buffer) || buffers.get(parts.get(buffer) ?? "") || "";
  for (const call of calls) {
    if (!call.kernel || call.nodes.size) continue;
    const kernel = call.kernel;
    const exact = written(call, kernel, graph, made);
    if (exact) {
      for (const name of exact) {
        call.nodes.add(name);
        claimed.add(name);
      }
      continue;
    }
    const outputs = call.args.filter((_name, index) => kernel.writes?.[index] ?? true);
    const work = outputs
      .map((name) => held(name) || (kernel.writes && mutated.get(name)) || "")
      .filter((name) => name && !claimed.has(name));
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
    if (!call.kernel.cpp && call.comment?.names.length) continue; // its comment says what it is
    const name = call.kernel.name;
    for (const node of ops)
      if (!claimed.has(node.name) && name.includes("_" + operator(node))) {
        call.nodes.add(node.name);
        claimed.add(node.name);
      }
  }
}
