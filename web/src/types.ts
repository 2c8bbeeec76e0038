// The data that python/depyf/report/page/view.py puts into the page, and what the page makes of it.

/** One text of a compile: a source, a graph, a kernel, bytecode. */
export interface Text {
  role: string;
  title: string;
  /** Number of the text in the page; null where only its file is linked. */
  text: number | null;
  link: string | null;
  path: string | null;
  torch: string | null;
  /** Number of the graph's structure in the page. */
  graph?: number;
  kind: "python" | "graph" | "kernel" | "bytecode" | "json" | "text";
  /** Node of this graph -> node of the captured graph. */
  origins?: Record<string, string>;
}

export interface FailedGuard {
  guard: string;
  tensor: string;
  words: string;
  key: string;
}

export interface Break {
  what: string;
  why: string;
  file: string;
  line: number;
}

/** Name, start, length (microseconds) and depth of one of torch's events. */
export type TimedEvent = [string, number, number, number];

/** Label, seconds and name of a phase. */
export type Phase = [string, number, string];

/** One compile. */
export interface View {
  key: string;
  id: string;
  rank: number | null;
  name: string;
  file: string;
  line: number;
  resumes: number;
  first: number;
  number: number;
  of: number;
  siblings: string[];
  failed: FailedGuard[];
  graph: string | null;
  callers: string[];
  calls: [string, string][];
  warm: string;
  /** What a compile that failed came to; "" of others. */
  failure: string;
  /** Before or after which torch._dynamo.reset() it was; "" in a run without one. */
  reset: string;
  breaks: Break[];
  texts: Text[];
  guards: number | null;
  guard_count: number;
  lines: [number, number][];
  events: TimedEvent[];
  phases: Phase[];
}

/** A line of a source file. */
export interface Place {
  file: string;
  line: number;
  code: string;
  /** Line of the graph's text on which the place stands. */
  at?: number;
}

export interface GraphNode {
  name: string;
  shape: string;
  target: string;
  /** `inner`: of a graph inside the graph, which is not drawn. */
  kind: "input" | "parameter" | "op" | "output" | "inner";
  /** Path of the module that it is of. */
  module: string;
  reads: string[];
  /** Nodes whose values it writes into, and writers before it of what it reads. */
  writes?: string[];
  behind?: string[];
  line: number;
  place: Place | null;
  /** Nodes of the captured graph that it came from. */
  origins?: string[];
  /** Number of the source line that it belongs to. */
  group?: number;
}

export interface Result extends GraphNode {
  outputs: (string | null)[];
  lines: number[];
}

export interface Graph {
  nodes: Map<string, GraphNode>;
  order: GraphNode[];
  result: Result | null;
  /** The graphs that operations are given, such as the branches of a condition. */
  inner: Map<string, Graph>;
}

/** Lines that belong together, for each text of a compile. */
export type LineTable = Map<number, Map<number, Set<number>>>;

export interface Relations {
  of: LineTable;
  near: LineTable;
  names: Map<number, Map<number, Set<string>>>;
  places: Place[];
  graphs: Map<number, Graph>;
}

/** Work in slices, between which the page answers. */
export type Steps<T> = Generator<undefined, T, undefined>;
