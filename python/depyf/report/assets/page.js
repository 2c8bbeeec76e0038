"use strict";
// The page's behaviour. Texts stay in the page as text and only ever become text nodes; nothing is loaded from anywhere.
(() => {
const root = document.documentElement;
root.classList.add("js");

// ---- small helpers ----

const byId = (id) => document.getElementById(id);
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  return fill(node, attributes, children);
}
function draw(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(9)) if (child !== null && child !== undefined) node.append(child);
  return node;
}
function stored(name, fallback) {
  try { const found = localStorage.getItem("depyf." + name); return found === null ? fallback : JSON.parse(found); } catch { return fallback; }
}
function store(name, value) { try { localStorage.setItem("depyf." + name, JSON.stringify(value)); } catch { /* private mode */ } }
function say(text) { byId("say").textContent = text; }
function seconds(value) {
  return value >= 100 ? Math.round(value) + " s" : value >= 1 ? value.toFixed(1) + " s" : value >= 0.001 ? Math.round(value * 1000) + " ms" : "<1 ms";
}
function copyButton(text, label) {
  return make("button", { type: "button", title: label, "aria-label": label, onclick: (event) => {
    const value = typeof text === "function" ? text() : text;
    const done = () => { event.target.textContent = "copied"; say("copied"); setTimeout(() => { event.target.textContent = "copy"; }, 1200); };
    const byHand = () => {
      const area = make("textarea"); area.value = value; document.body.append(area); area.select();
      try { document.execCommand("copy"); done(); } finally { area.remove(); }
    };
    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(value).then(done, byHand); else byHand();
  } }, "copy");
}
// What takes long on large texts is written as steps, so that it can be done in slices between which the page answers.
function finish(steps) { for (;;) { const step = steps.next(); if (step.done) return step.value; } }
function* eachLine(lines, take) { for (let at = 0; at < lines.length; at++) { if (at % 500 === 499) yield; take(lines[at], at); } }
function idle(work) { (window.requestIdleCallback || ((run) => setTimeout(() => run({ timeRemaining: () => 8 }), 1)))(work, { timeout: 300 }); }

// ---- light and dark ----

const theme = stored("theme", "");
if (theme) root.classList.add(theme);
function switchTheme() {
  const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.remove("dark", "light");
  root.classList.add(dark ? "light" : "dark");
  store("theme", dark ? "light" : "dark");
}

// ---- compiles and their texts ----

// Without scripts the texts are part of the page. With them they are kept beside it: what a browser does at each change of
// the address, such as looking at every link again, takes time with each element of the document.
const shelf = document.createDocumentFragment(), pres = new Map();
const articles = new Map();
const datas = new Map();
function data(key) {
  if (!datas.has(key)) datas.set(key, JSON.parse(articles.get(key).querySelector("script[type='application/json']").textContent));
  return datas.get(key);
}
function textOf(number) {
  const node = number === null || number === undefined ? null : pres.get("t" + number);
  return node ? node.textContent : "";
}
const lineCache = new Map();
function linesOf(number) {
  if (!lineCache.has(number)) {
    const text = textOf(number);
    const lines = text.split("\n");
    if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
    lineCache.set(number, lines);
  }
  return lineCache.get(number);
}

// ---- highlighting: enough of Python and C++ to read by, a line at a time ----

const PYTHON_WORDS = new Set("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case".split(" "));
const CPP_WORDS = new Set("auto bool break case char class const constexpr continue default delete do double else enum extern false float for if inline int int32_t int64_t long namespace new nullptr operator private public return short signed sizeof static static_cast struct switch template this true typedef typename unsigned using void volatile while uint8_t half bfloat16".split(" "));
const PYTHON = /(#.*)|((?:\b[rRbBfFuUtT]{1,2})?(?:"""|'''))|((?:\b[rRbBfFuUtT]{1,2})?(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
const CPP = /(\/\/.*|\/\*.*?(?:\*\/|$)|^\s*#\w+.*)|(\b\B)|("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
const BYTECODE = /(^#.*)|(\b\B)|(\(.*\))|(\b\d+\b)|([A-Z][A-Z_0-9]{2,})/g;

function paint(into, text, kind, state, links) {
  const end = state.quote ? text.indexOf(state.quote) : -1;
  if (state.quote) {
    const inside = end < 0 ? text : text.slice(0, end);
    if (state.cpp) tokens(into, inside, CPP, CPP_WORDS, state, null);
    else into.append(make("span", { class: "s" }, inside));
    if (end < 0) return;
    into.append(make("span", { class: "s" }, state.quote));
    text = text.slice(end + 3);
    state.quote = "";
  }
  if (kind === "python" || kind === "graph" || kind === "kernel") tokens(into, text, state.wholeCpp ? CPP : PYTHON, state.wholeCpp ? CPP_WORDS : PYTHON_WORDS, state, links, kind);
  else if (kind === "bytecode") tokens(into, text, BYTECODE, null, state, null);
  else into.append(text);
}
function tokens(into, text, grammar, words, state, links, kind) {
  let at = 0, last = "";
  grammar.lastIndex = 0;
  for (let match; (match = grammar.exec(text)) !== null;) {
    if (match[0] === "") { grammar.lastIndex += 1; continue; }
    let style = "";
    if (match[1]) style = "c";
    else if (match[2]) {
      const quote = match[2].slice(-3), close = text.indexOf(quote, grammar.lastIndex);
      if (match.index > at) into.append(text.slice(at, match.index));
      const stop = close < 0 ? text.length : close + 3;
      into.append(make("span", { class: "s" }, text.slice(match.index, stop)));
      if (close < 0) { state.quote = quote; state.cpp = kind === "kernel" && (/cpp/.test(text) || state.wrapper); }
      grammar.lastIndex = at = stop;
      continue;
    } else if (match[3]) style = /^"[a-z]+\d+\w*\[/.test(match[3]) ? "t" : "s";
    else if (match[4]) style = "n";
    else if (words === null) style = "k";
    else if (words.has(match[5])) style = "k";
    else if (last === "def" || last === "class") style = "d";
    last = match[0];
    const link = links && match[5] ? links.get(match[5]) : null;
    if (!style && !link) continue;
    if (match.index > at) into.append(text.slice(at, match.index));
    into.append(link ? make("a", { href: "#compile/" + link, title: "open " + link }, match[0]) : make("span", { class: style }, match[0]));
    at = match.index + match[0].length;
  }
  if (at < text.length) into.append(text.slice(at));
}

// ---- what became what: lines of the texts of one compile that belong together ----

const STAGE_LINE = /^\s*# File: (.+?):(\d+)(?: in ([^,]+))?, code: (.*)$/;
const NODE_LINE = /^\s+(\w+)(?:: "([^"]*)")? = (.*)$/;
const DELETED = /(?:;\s+[\w\s=,]*= None)?;?\s*$/;  // names that are set to None at the end of a node's line
const ARGUMENT = /(\w+): "([^"]*)"/g;

// A graph as torch prints it: its nodes with line, shape, target, the nodes they read, and the source line above them.
function* readGraph(lines) {
  const nodes = new Map(), order = [];
  let place = null, inSignature = false, result = null, returning = false;
  const put = (node) => { nodes.set(node.name, node); order.push(node); };
  yield* eachLine(lines, (line, index) => {
    const begin = line.trimStart(), comment = begin[0] === "#";
    if (begin.startsWith("def forward(")) inSignature = true;
    if (inSignature) {
      for (const match of line.matchAll(ARGUMENT)) put({ name: match[1], shape: match[2], target: "", kind: "arg", reads: [], line: index, place: null });
      if (/\)(?:\s*->.*)?:\s*$/.test(line)) inSignature = false;
      return;
    }
    const file = comment ? STAGE_LINE.exec(line) : null;
    if (file) { place = { file: file[1], line: Number(file[2]), in: file[3] || "", code: file[4], at: index }; return; }
    if (begin.startsWith("# No stacktrace")) { place = null; return; }
    if (/^return\b/.test(begin) && order.length) { returning = true; result = { name: "output", shape: "", target: "return", kind: "out", reads: [], outputs: [], line: index, place: null, lines: [index] }; }
    if (returning) {
      const words = line.replace(/#.*$/, "").replace(/^\s*return\b/, "").match(/[A-Za-z_]\w*/g) || [];
      if (!result.lines.includes(index)) result.lines.push(index);
      for (const word of words) { if (nodes.has(word)) { result.reads.push(word); result.outputs.push(word); } else if (word === "None") result.outputs.push(null); }
      return;
    }
    const match = comment ? null : NODE_LINE.exec(line);
    if (!match) return;
    match[3] = match[3].replace(DELETED, "");
    const alias = nodes.get(match[3].trim());
    if (alias && alias.kind === "arg") { nodes.set(match[1], Object.assign({}, alias, { alias: alias.name })); return; }
    const open = match[3].indexOf("(");
    const call = /^[\w.]+\(/.test(match[3]);
    const reads = [];
    for (const word of match[3].slice(call ? open : 0).match(/[A-Za-z_]\w*/g) || []) if (nodes.has(word) && !reads.includes(word)) reads.push(word);
    put({ name: match[1], shape: match[2] || "", target: call ? match[3].slice(0, open) : match[3], kind: "op", reads, line: index, place });
  });
  if (result) order.push(result);
  return { nodes, order, result };
}

const KERNEL_DEFINITION = /^(\w+) = async_compile\.(\w+)\(/;
const SOURCE_NODES = /(?:#|\/\/) (?:Topologically Sorted|Unsorted) Source Nodes: \[(.*?)\], Original ATen: \[(.*?)\]/;
const NODE_MAPPING = /^#\s+(\S+) => (.+)$/;

const CPP_DEFINITION = /^(?:extern "C"|static|inline)\s.*?\bvoid\s+(\w+)\(/;
const CPP_CALL = /^\s+(?:(\w+)\((?=\()|AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_(?:cpu|cuda|proxy_executor)_(\w+?)(_out)?\()(.*)$/;
const CPP_OUTPUT = /^\s+output_handles\[(\d+)\] = (?:std::move\()?(\w+)/;

// The same for the C++ that Inductor writes with cpp_wrapper: the definitions stand behind or before the calls, in the same language.
function* readWrapper(lines, graph) {
  const definitions = new Map(), calls = [], buffers = new Map();
  yield* eachLine(lines, (line, at) => {
    const definition = CPP_DEFINITION.exec(line);
    if (!definition) return;
    let stop = at;
    while (stop < lines.length - 1 && !/^{|[{;]\s*$/.test(lines[stop])) stop++;  // a declaration ends here
    if (/{\s*$/.test(lines[stop])) while (stop < lines.length - 1 && !/^}/.test(lines[stop])) stop++;
    if (/^}/.test(lines[stop])) definitions.set(definition[1], { name: definition[1], from: at, to: stop, comment: null, cppOutputs: null, nodes: new Set() });
  });
  let comment = null;
  yield* eachLine(lines, (line, at) => {
    const source = SOURCE_NODES.exec(line);
    if (source) { comment = { names: source[1].split(", ").filter(Boolean), exact: [], at }; return; }
    const output = CPP_OUTPUT.exec(line);
    if (output && graph && graph.result && graph.result.outputs[Number(output[1])]) buffers.set(output[2], graph.result.outputs[Number(output[1])]);
    const called = CPP_CALL.exec(line), kernel = called && called[1] && definitions.get(called[1]);
    if (!called || !(kernel || called[2] && comment)) return;
    calls.push({ at, from: comment ? comment.at : at, kernel, library: kernel ? "" : called[2], target: (/\w+/.exec(called[4]) || [])[0], args: called[4].match(/\bbuf\d+\b|\barg\w+/g) || [], comment, nodes: new Set() });
    comment = null;
  });
  return { definitions, calls, buffers };
}

// Generated code: blocks of lines (a kernel's definition, a call) with the nodes of the post-grad graph that they compute.
function* readKernels(lines, graph, known) {
  const blocks = [], wrapper = lines.slice(0, 20).some((line) => /^cpp_wrapper_src = /.test(line));
  const { definitions, calls, buffers } = yield* wrapper ? readWrapper(lines, graph) : readCalls(lines, graph);
  if (graph) { assign(calls, known, graph); yield; connect(calls, buffers, graph); }
  for (const call of calls) {
    for (const kernel of call.kernel ? [call.kernel] : []) for (const node of call.nodes) kernel.nodes.add(node);
    blocks.push({ from: call.from, to: call.at, nodes: call.nodes, names: call.comment ? call.comment.names : [] });
  }
  for (const kernel of definitions.values()) blocks.push({ from: kernel.from, to: kernel.to, nodes: kernel.nodes, names: kernel.comment ? kernel.comment.names : [] });
  return blocks;
}
function* readCalls(lines, graph) {
  const definitions = new Map(), buffers = new Map(), calls = [];
  let comment = null, commentAt = -1;
  for (let at = 0, steps = 0; at < lines.length; at++) {
    if (++steps % 500 === 0) yield;
    const line = lines[at];
    const source = SOURCE_NODES.exec(line);
    if (source) { comment = { names: source[1].split(", ").filter(Boolean), aten: source[2].split(", "), exact: [] }; commentAt = at; continue; }
    if (comment && /^#/.test(line)) { const mapped = NODE_MAPPING.exec(line); if (mapped) comment.exact.push(...mapped[2].split(", ")); continue; }
    const definition = KERNEL_DEFINITION.exec(line);
    if (definition) {
      let stop = at;
      const quote = /'''|"""/.exec(line);
      if (quote) { stop = at + 1; while (stop < lines.length - 1 && !lines[stop].includes(quote[0])) stop++; }
      const kernel = { name: definition[1], from: comment && commentAt >= 0 ? commentAt : at, to: stop, comment, cppOutputs: null, nodes: new Set() };
      const signature = /cpp_pybinding\(\[(.*?)\]/.exec(line);
      if (signature) kernel.cppOutputs = signature[1].split(",").map((type) => /\*/.test(type) && !/const/.test(type));
      definitions.set(kernel.name, kernel);
      comment = null;
      at = stop;
      continue;
    }
    const called = /^\s+(?:(\w+) = )?([\w.]+?)(?:\.run)?\((.*)\)\s*(?:#.*)?$/.exec(line);
    const kernel = called && definitions.get(called[2]);
    const library = called && /^(extern_kernels\.|torch\.ops\.)/.test(called[2]) ? called[2].split(".").slice(called[2].startsWith("torch") ? 3 : 1)[0] : "";
    if (kernel || library) calls.push({ at, from: comment ? commentAt : at, kernel, library, target: called[1] || (/out=(\w+)/.exec(called[3]) || [])[1], args: called[3].match(/[A-Za-z_]\w*/g) || [], comment, nodes: new Set() });
    if (kernel || library || /\S/.test(line) && !/^\s*(buf\d+ = empty|del |#|with |torch\.)/.test(line)) comment = null;
    const alias = /^\s+(buf\d+) = (?:reinterpret_tensor\()?(\w+)\b.*(?:# reuse|\))/.exec(line);
    if (alias && !kernel && !library) buffers.set(alias[1], buffers.get(alias[2]) || null);
    const returned = /^\s+return \((.*)\)\s*$/.exec(line);
    if (returned && graph && graph.result) {
      const names = returned[1].split(/,\s*(?![^()]*\))/).map((part) => (/(?:reinterpret_tensor\()?(\w+)/.exec(part) || [])[1]).filter(Boolean);
      if (names.length === graph.result.outputs.length) names.forEach((name, index) => { if (graph.result.outputs[index]) buffers.set(name, graph.result.outputs[index]); });
    }
  }
  return { definitions, calls, buffers };
}

// Inductor's own provenance, where it was turned on: "name of what is called:number of the call" -> nodes of the post-grad graph.
function assign(calls, known, graph) {
  const queues = new Map();
  const numbered = Object.keys(known).map((key) => /^(.*):(\d+)$/.exec(key)).filter(Boolean).sort((a, b) => a[2] - b[2]);
  for (const [key, name] of numbered) {
    const short = name.split(".").pop();
    if (!queues.has(short)) queues.set(short, []);
    queues.get(short).push(Array.isArray(known[key]) ? known[key] : []);
  }
  for (const call of calls) {
    const nodes = (queues.get(call.kernel ? call.kernel.name : call.library) || []).shift();
    for (const name of nodes || []) if (graph.nodes.has(name)) call.nodes.add(name);
  }
}

// Which nodes each call computes: what Inductor wrote beside it where it did; else a library call is the next node of its
// operator, and a generated kernel everything between its outputs and what was computed before.
function connect(calls, buffers, graph) {
  const claimed = new Set(calls.flatMap((call) => [...call.nodes])), seen = new Map();
  const operator = (node) => (/^(?:torch\.ops\.)?\w+\.(\w+)/.exec(node.target) || [])[1] || node.target;
  const ops = graph.order.filter((node) => node.kind === "op");
  for (const call of calls) {
    if (!call.library || call.nodes.size) continue;
    const count = seen.get(call.library) || 0;
    const found = ops.filter((node) => operator(node) === call.library)[count];
    seen.set(call.library, count + 1);
    if (found) { call.nodes.add(found.name); claimed.add(found.name); if (call.target) buffers.set(call.target, found.name); }
  }
  for (const call of calls) {
    if (!call.kernel || call.nodes.size) continue;
    const exact = (call.kernel.comment ? call.kernel.comment.exact : []).concat(call.comment ? call.comment.exact : []).filter((name) => graph.nodes.has(name));
    if (exact.length) { for (const name of exact) { call.nodes.add(name); claimed.add(name); } continue; }
    const outputs = call.args.filter((name, index) => buffers.get(name) && (call.kernel.cppOutputs ? call.kernel.cppOutputs[index] : true));
    const work = outputs.map((name) => buffers.get(name)).filter((name) => !claimed.has(name));
    while (work.length) {
      const node = graph.nodes.get(work.pop());
      if (!node || node.kind !== "op" || claimed.has(node.name)) continue;
      claimed.add(node.name); call.nodes.add(node.name);
      work.push(...node.reads);
    }
  }
  // what no buffer with a known node leads to is found by the operators in the kernel's name
  for (const call of calls) {
    if (!call.kernel || call.nodes.size) continue;
    const name = call.kernel.name;
    for (const node of ops) if (!claimed.has(node.name) && name.includes("_" + operator(node))) { call.nodes.add(node.name); claimed.add(node.name); }
  }
}

// Nodes that torch's passes put in without saying what for: they belong to the line that all that they are read for belongs to.
function inserted(graph) {
  const readers = new Map(), found = [];
  for (const node of graph.order) for (const name of node.reads) { if (!readers.has(name)) readers.set(name, []); readers.get(name).push(node); }
  for (const node of [...graph.order].reverse()) {
    if (node.kind !== "op" || node.place || node.group !== undefined) continue;
    const by = readers.get(node.name) || [], groups = new Set(by.map((reader) => reader.group));
    if (groups.size !== 1 || groups.has(undefined)) continue;
    node.group = by[0].group;
    if (!node.origins.length) node.origins = [...new Set(by.flatMap((reader) => reader.origins))];
    found.push(node);
  }
  return found;
}

const relationCache = new Map();
function relations(view) {
  if (!relationCache.has(view.key)) relationCache.set(view.key, finish(relate(view)));
  return relationCache.get(view.key);
}
function* relate(view) {
  const ids = new Map(), places = [], of = new Map(), near = new Map(), names = new Map(), graphs = new Map();
  const id = (file, line, code) => {
    const name = file + ":" + line;
    if (!ids.has(name)) { ids.set(name, places.length); places.push({ file, line, code: code || "" }); }
    return ids.get(name);
  };
  const link = (number, line, group, into) => {
    const table = into || of;
    if (!table.has(number)) table.set(number, new Map());
    const lines = table.get(number);
    if (!lines.has(line)) lines.set(line, new Set());
    lines.get(line).add(group);
  };
  const find = (role) => view.texts.find((text) => text.role === role && text.text !== null);
  const captured = find("Captured_Graph"), capturedGraph = captured ? yield* readGraph(linesOf(captured.text)) : null;
  const traced = (name) => typeof name === "string" && capturedGraph !== null && capturedGraph.nodes.has(name);
  const provenance = (number) => {
    const text = find("inductor_provenance_tracking_node_mappings" + (number ? "." + number : ""));
    try { return (text && JSON.parse(textOf(text.text).replace(/^\s*(#.*\n)*/, ""))) || {}; } catch { return {}; }
  };
  // Names mean the same in all texts of one run of Inductor: the graphs before and after its passes, and what it generated.
  const spaceOf = (role) => {
    const match = /^(?:BEFORE_POST_GRAD|AFTER_POST_GRAD|kernel)(?:\.(\d+))?$/.exec(role);
    if (match) return "p" + (match[1] || 0);
    if (role === "Forward_graph" && !find("Forward_graph.1")) return "p0";
    return role === "Backward_graph" && !find("Backward_graph.1") && !find("AFTER_POST_GRAD.2") ? "p1" : "";
  };
  const token = (number, line, name) => {
    if (!names.has(number)) names.set(number, new Map());
    const lines = names.get(number);
    if (!lines.has(line)) lines.set(line, new Set());
    lines.get(line).add(name);
  };
  for (const text of view.texts) {
    if (text.kind !== "graph" || text.text === null || graphs.has(text.text)) continue;
    const graph = text === captured ? capturedGraph : yield* readGraph(linesOf(text.text)), space = spaceOf(text.role);
    graphs.set(text.text, graph);
    const origins = new Map(Object.entries(text.origins || {}).map(([name, origin]) => [name, [origin]]));
    const after = /^AFTER_POST_GRAD(?:\.(\d+))?$/.exec(text.role);
    if (after) for (const [name, found] of Object.entries(provenance(Number(after[1] || 0)).postToPre || {})) if (Array.isArray(found)) origins.set(name, found);
    const same = text === captured || /^(BEFORE|AFTER)_PRE_GRAD$/.test(text.role);
    let steps = 0;
    for (const node of graph.order) {
      if (++steps % 500 === 0) yield;
      node.origins = (same ? [node.name] : origins.get(node.name) || []).filter(traced);
      if (node.kind !== "out") for (const name of node.origins) token(text.text, node.line, "c:" + name);
      if (space && node.kind === "op") token(text.text, node.line, space + ":" + node.name);
      const place = node.place || (node.origins.length ? capturedGraph.nodes.get(node.origins[0]).place : null);
      if (!place) continue;
      node.group = id(place.file, place.line, place.code);
      link(text.text, node.line, node.group);
      if (node.place) link(text.text, place.at, node.group);
    }
    yield;
    for (const node of inserted(graph)) {
      for (const name of node.origins) token(text.text, node.line, "c:" + name);
      link(text.text, node.line, node.group);
    }
    if (graph.result) for (const name of graph.result.outputs) {
      const node = name && graph.nodes.get(name);
      if (node && node.group !== undefined) for (const line of graph.result.lines) if (linesOf(text.text)[line].includes(name)) link(text.text, line, node.group);
    }
  }
  for (const [index, text] of view.texts.filter((text) => text.kind === "kernel" && text.text !== null).entries()) {
    const suffix = index ? "." + index : "";
    const beside = find("AFTER_POST_GRAD" + suffix) || find(index ? "Backward_graph" : "Forward_graph");
    const graph = beside && graphs.get(beside.text);
    let steps = 0;
    for (const block of yield* readKernels(linesOf(text.text), graph, provenance(index).cppCodeToPost || {})) {
      if (++steps % 500 === 0) yield;
      const groups = new Set(), found = new Set();
      for (const name of block.nodes) {
        const node = graph.nodes.get(name);
        if (!node) continue;
        found.add("p" + index + ":" + name);
        for (const origin of node.origins || []) found.add("c:" + origin);
        if (node.group !== undefined) groups.add(node.group);
      }
      if (!groups.size) for (const name of block.names) {
        const node = (capturedGraph && capturedGraph.nodes.get(name)) || (graph && graph.nodes.get(name));
        if (traced(name)) found.add("c:" + name);
        if (node && node.group !== undefined) groups.add(node.group);
      }
      for (let line = block.from; line <= block.to; line++) {
        for (const group of groups) link(text.text, line, group);
        for (const name of found) token(text.text, line, name);
      }
    }
  }
  yield;
  const code = find("code");
  if (code) {
    const all = new Set();
    if (capturedGraph) for (const node of capturedGraph.order) if (node.group !== undefined) all.add(node.group);
    linesOf(code.text).forEach((line, index) => {
      if (view.graph && line.includes(view.graph + "_") || view.graph && line.includes(view.graph + "(")) for (const group of all) link(code.text, index, group, near);
      if (capturedGraph && capturedGraph.result) for (const match of line.matchAll(/\bgraph_out(?:_\d+)?\[(\d+)\]/g)) {
        const node = capturedGraph.nodes.get(capturedGraph.result.outputs[Number(match[1])]);
        if (node) token(code.text, index, "c:" + node.name);
        if (node && node.group !== undefined) link(code.text, index, node.group);
      }
    });
    for (const [line, original] of view.lines) if (original && original !== view.line) link(code.text, line - 1, id(view.file, original));
  }
  const source = find("source");
  if (source && view.first) linesOf(source.text).forEach((line, index) => { const name = view.file + ":" + (view.first + index); if (ids.has(name)) link(source.text, index, ids.get(name)); });
  return { of, near, names, places, graphs };
}

// ---- panes of code ----

// A text is cut into parts of so many lines. What is seen is built at once, the rest when nothing else is to be done or when it is needed.
const LONGEST = 4000, PART = 100, SEEN = 50;
let panes = [], pinned = null, unfold = null;  // unfold: builds what is not yet built of the view that is shown

// Where the parts of a text of so many lines begin: the first one holds no more than a pane shows.
function partsOf(count) {
  const begins = [];
  for (let at = 0; at < count; at += at ? PART : SEEN) begins.push(at);
  return begins;
}

// The kind of string that is open where a part begins, found as far as it is asked for.
function openStrings(lines, begins, isKernel, wrapper) {
  const starts = [];
  let quote = "", cpp = false, number = 0;
  return (part) => {
    for (; starts.length <= part; number++) {
      if (number === begins[starts.length]) starts.push({ quote, cpp });
      const line = lines[number];
      for (let at = 0; at >= 0;) {
        const found = quote ? line.indexOf(quote, at) : Math.min(...["\"\"\"", "'''"].map((one) => line.indexOf(one, at)).map((one) => one < 0 ? Infinity : one));
        if (found < 0 || found === Infinity) break;
        if (quote) quote = ""; else { quote = line.slice(found, found + 3); cpp = isKernel && (wrapper || line.includes("cpp")); }
        at = found + 3;
      }
    }
    return starts[part];
  };
}

function codePane(view, text, label) {
  const lines = linesOf(text.text), none = new Map();
  let groups = none, near = none, names = none, others = [];  // others: lines of other functions, numbered behind those of the text
  const isSource = text.role === "source", isKernel = text.kind === "kernel";
  const first = isSource && view.first ? view.first : 1;
  const links = new Map(view.calls);
  const element = make("div", { class: "code" + (text.kind === "bytecode" || stored("wrap", true) === false ? " nowrap" : ""), tabindex: "0", role: "region", "aria-label": label + ", " + lines.length + " lines; arrow keys walk the lines" });
  const wrapper = isKernel && lines.slice(0, 20).some((line) => /^cpp_wrapper_src = /.test(line));
  const wholeCpp = isKernel && !/^(import|from|# AOT|\w+ = )/m.test(lines.slice(0, 40).join("\n"));
  const begins = partsOf(lines.length), startOf = openStrings(lines, begins, isKernel, wrapper);
  const rows = new Array(lines.length), parts = [];
  const marks = new Map(), byGroup = new Map(), byNear = new Map(), byName = new Map();
  const breaks = isSource ? view.breaks : [];
  const count = () => lines.length + others.length;
  function row(number, state) {
    const line = lines[number];
    const shown = line.length > LONGEST ? line.slice(0, LONGEST) : line;
    const body = make("span");
    paint(body, shown, text.kind, state, text.role === "code" ? links : null);
    if (shown !== line) body.append(make("button", { type: "button", class: "cutoff", onclick: (event) => { event.stopPropagation(); event.target.replaceWith(line.slice(LONGEST)); } }, "… " + (line.length - LONGEST).toLocaleString("en") + " more characters"));
    const found = make("div", { class: /\S{30}/.test(shown) ? "ln long" : "ln" }, make("i", { "aria-hidden": "true" }, String(first + number)), body);
    for (const item of breaks) if (item.line === first + number && item.file === view.file) {
      found.firstChild.replaceWith(make("i", { title: item.why }, make("span", { class: "cut", "aria-hidden": "true" }, "✂ "), String(first + number)));
      body.append(make("a", { class: "scissors", href: "#compile/" + view.key + "/why", title: item.why }, "✂ graph break: " + item.what));
    }
    return found;
  }
  function otherRow(place) {
    const body = make("span");
    paint(body, place.code, "python", { quote: "" }, null);
    return make("div", { class: "ln" }, make("i", { "aria-hidden": "true" }, String(place.line)), body);
  }
  function tie(found, number) {
    const set = groups.get(number), tokens = names.get(number);
    if (!set && !tokens && !near.has(number)) return;
    found.dataset.g = set ? [...set].join(" ") : "";
    if (tokens) found.dataset.n = [...tokens].join(" ");
  }
  function build(at) {
    if (parts[at].firstChild) return;
    const own = begins[at] < lines.length, end = at + 1 < begins.length ? begins[at + 1] : count(), inside = document.createDocumentFragment();
    const state = own ? { ...startOf(at), wrapper, wholeCpp } : null;
    for (let number = begins[at]; number < end; number++) {
      const place = own ? null : others[number - lines.length];
      if (place && place.heads) inside.append(make("div", { class: "ln head" }, make("i"), make("span", { title: place.file }, "in " + place.file)));
      const found = own ? row(number, state) : otherRow(place);
      found.dataset.l = number;
      rows[number] = found;
      tie(found, number);
      if (marks.has(number)) found.classList.add(marks.get(number));
      inside.append(found);
    }
    parts[at].append(inside);
  }
  // gives parts of the text, or of the lines behind it, their places in the pane
  function lay(from) {
    for (let at = from; at < begins.length; at++) {
      const part = make("div", { class: "part" }), end = at + 1 < begins.length ? begins[at + 1] : count();
      part.style.containIntrinsicHeight = "auto " + (end - begins[at]) * 18.75 + "px";
      parts.push(part);
    }
    element.append(...parts.slice(from));
  }
  let built = 1, waiting = false;
  const later = () => {
    if (waiting || built >= parts.length) return;
    waiting = true;
    idle(() => { waiting = false; if (element.isConnected) { build(built++); later(); } });
  };
  const pane = {
    view, text, label, element, first, lines, marks, byGroup, byNear, byName, count, cursor: -1, related: false,
    finish: () => parts.forEach((part, at) => build(at)),
    row(number) {
      if (number >= 0 && number < count()) build(begins.findLastIndex((begin) => begin <= number));
      return rows[number] || null;
    },
    place: (number) => number < lines.length ? null : others[number - lines.length],
    mark(number, style) {
      if (marks.has(number)) return;
      marks.set(number, style);
      if (rows[number]) rows[number].classList.add(style);
    },
    relate(related) {
      pane.related = true;
      groups = related.of.get(text.text) || none; near = related.near.get(text.text) || none; names = related.names.get(text.text) || none;
      if (isSource) others = elsewhere(view, related);
      if (others.length) groups = new Map([...groups, ...others.map((place, index) => [lines.length + index, new Set([place.group])])]);
      for (const [table, back] of [[groups, byGroup], [near, byNear], [names, byName]]) for (const [number, found] of table) for (const one of found) {
        if (!back.has(one)) back.set(one, []);
        back.get(one).push(number);
      }
      rows.forEach(tie);
      const laid = begins.length;
      begins.push(...partsOf(others.length).map((begin) => lines.length + begin));
      lay(laid);
      later();
    },
  };
  lay(0);
  if (parts.length) build(0);
  if (relationCache.has(view.key)) pane.relate(relations(view));
  later();
  element.addEventListener("mouseover", (event) => { const line = event.target.closest(".ln"); if (!pinned) light(pane, line); });
  element.addEventListener("mouseleave", () => { if (!pinned) light(null, null); });
  element.addEventListener("click", (event) => {
    if (event.target.closest("a, button") || String(getSelection())) return;
    pin(pane, event.target.closest(".ln"));
  });
  element.addEventListener("keydown", (event) => walk(pane, event));
  return pane;
}

// Lines of other functions that the graph was made of, by file: they stand below the source.
function elsewhere(view, related) {
  const own = view.first ? linesOf(view.texts.find((text) => text.role === "source").text).length : 0;
  const others = related.places.map((place, group) => ({ ...place, group })).filter((place) => place.code && !(place.file === view.file && view.first && place.line >= view.first && place.line < view.first + own));
  others.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  others.forEach((place, index) => { place.heads = !index || place.file !== others[index - 1].file; });
  return others;
}

// Calls back when it is known which lines of a compile belong together: at once, or, where its texts are large, after they are shown.
const SLOW = 400000;
function whenRelated(view, done) {
  const work = () => {
    if (!panes.some((pane) => pane.view === view)) return;
    for (const pane of panes) if (pane.view === view && !pane.related) pane.relate(relations(view));
    done();
  };
  const size = view.texts.reduce((sum, text) => sum + (text.kind === "graph" || text.kind === "kernel" ? textOf(text.text).length : 0), 0);
  if (relationCache.has(view.key) || size < SLOW) { work(); return; }
  const steps = relate(view);
  const slice = () => {
    if (relationCache.has(view.key) || !panes.some((pane) => pane.view === view)) { work(); return; }
    for (const end = performance.now() + 8; performance.now() < end;) {
      const step = steps.next();
      if (step.done) { relationCache.set(view.key, step.value); idle(work); return; }
    }
    idle(slice);
  };
  idle(slice);
}

function groupsOf(line) { return line && line.dataset.g ? line.dataset.g.split(" ").map(Number) : []; }
function light(pane, line) {
  for (const one of document.querySelectorAll(".ln.lit, .ln.near, .ln.pin, .gn.lit")) one.classList.remove("lit", "near", "pin");
  for (const one of panes) one.marks.clear();
  if (!line || line.dataset.g === undefined) return;
  const groups = groupsOf(line), names = line.dataset.n ? line.dataset.n.split(" ") : [], number = Number(line.dataset.l);
  pane.mark(number, "lit");
  for (const other of panes) {
    // a node lights the nodes that it became; where that is not known, what belongs to the same source line is only marked as near
    const rows = (wanted) => wanted.flatMap((name) => other.byName.get(name) || []);
    let exact = rows(names.filter((name) => !name.startsWith("c:")));
    if (!exact.length) exact = rows(names.filter((name) => name.startsWith("c:")));
    for (const found of exact) other.mark(found, "lit");
    const style = exact.length || names.length && other.byName.size ? "near" : "lit";
    for (const group of groups) {
      for (const found of other.byGroup.get(group) || []) other.mark(found, style);
      for (const found of other.byNear.get(group) || []) other.mark(found, "near");
    }
    if (!groups.length) for (const [group, found] of pane.byNear) if (found.includes(number)) {
      for (const one of other.byGroup.get(group) || []) other.mark(one, "near");
    }
  }
  line.classList.add("lit");
}
function pin(pane, line) {
  const again = pinned && pinned === line;
  free();
  if (!line || line.dataset.g === undefined || again) return;
  light(pane, line);
  pinned = line;
  line.classList.add("pin");
  const told = [];
  for (const other of panes) {
    const marked = (name) => [...other.marks].filter((one) => one[1] === name).map((one) => one[0]).sort((a, b) => a - b);
    const lit = marked("lit").length ? marked("lit") : marked("near");
    if (other === pane || !lit.length) continue;
    const box = other.element, y = other.row(lit[0]).offsetTop - box.offsetTop;
    if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - 40) box.scrollTop = Math.max(0, y - box.clientHeight / 3);
    const own = lit.filter((number) => !other.place(number)), away = lit.map(other.place).filter(Boolean).slice(0, 8);
    if (own.length) told.push(other.label + " line" + (own.length > 1 ? "s " : " ") + spans(own.map((number) => other.first + number)));
    for (const place of away) told.push(place.file.split("/").pop() + " line " + place.line);
  }
  say(told.length ? "belongs to " + told.join("; ") : "belongs to no line of the other panes");
}
function spans(numbers) {
  const parts = [];
  for (let at = 0; at < numbers.length; at++) {
    let stop = at;
    while (numbers[stop + 1] === numbers[stop] + 1) stop++;
    parts.push(stop > at ? numbers[at] + " to " + numbers[stop] : String(numbers[at]));
    at = stop;
  }
  return parts.slice(0, 8).join(", ");
}
function free() { pinned = null; light(null, null); }
function walk(pane, event) {
  if (event.target !== pane.element || event.ctrlKey || event.metaKey || event.altKey) return;  // links and buttons in the text have keys of their own
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }[event.key];
  if (event.key === "Enter") { pin(pane, pane.row(pane.cursor)); event.preventDefault(); return; }
  if (!step) return;
  event.preventDefault();
  const old = pane.row(pane.cursor);
  if (old) old.classList.remove("cursor");
  pane.cursor = Math.max(0, Math.min(pane.count() - 1, pane.cursor + step));
  const line = pane.row(pane.cursor);
  if (!line) return;
  line.classList.add("cursor");
  line.scrollIntoView({ block: "nearest" });
  if (!pinned) { light(pane, line); say("line " + line.firstChild.textContent.replace("✂ ", "") + ": " + line.lastChild.textContent.slice(0, 200)); }
}

// ---- the view of one compile ----

const TABS = [["code", "Code"], ["why", "Why"], ["graph", "Graph"], ["guards", "Guards"], ["time", "Time"], ["bytecode", "Bytecode"], ["files", "Files"]];
let shown = "";

function showCompile(key, tab, rest) {
  const article = articles.get(key), view = data(key), box = byId("view");
  const has = {
    why: article.querySelector(".reason"), graph: view.texts.some((text) => text.kind === "graph" && text.text !== null),
    guards: view.guards !== null, time: view.phases.length || view.events.length, code: readable(view).length > 0, files: view.texts.length > 0,
    bytecode: view.texts.some((text) => text.kind === "bytecode"),
  };
  if (!has[tab]) tab = ["code", "why", "time"].find((one) => has[one]) || "code";
  if (view.texts.every((text) => text.text === null || text.role === "before" || text.role === "after") && tab === "code" && has.why && !rest.length) tab = "why";
  panes = []; pinned = null; shown = key;
  const head = make("div", { class: "head" },
    make("h2", { id: "view-title", tabindex: "-1" }, make("code", {}, view.name), " ", make("span", { class: "key" }, key)),
    make("span", { class: "dim" }, view.file + ":" + view.line + (view.resumes ? ", what is left after line " + view.resumes : "")));
  if (view.of > 1) {
    const select = make("select", { "aria-label": "entry of this function", onchange: (event) => { location.hash = "compile/" + event.target.value + "/" + tab; } });
    view.siblings.forEach((one, index) => select.append(make("option", { value: one, selected: one === key }, "entry " + (index + 1) + " of " + view.of + "  " + one)));
    head.append(select);
  }
  for (const one of view.callers) head.append(make("a", { class: "chip", href: "#compile/" + one }, "← called from " + one));
  const verdict = article.querySelector(".verdict");
  if (verdict) { const chip = make("span", { class: "chip " + (verdict.classList.contains("good") ? "good" : verdict.classList.contains("bad") ? "bad" : "") }); chip.append(...[...verdict.childNodes].map((node) => node.cloneNode(true))); head.append(chip); }
  const bar = make("div", { class: "tabs", role: "tablist", "aria-label": "Views of this compile" });
  const counts = { guards: view.guard_count, why: article.querySelectorAll(".reason").length, files: view.texts.length };
  for (const [name, label] of TABS) if (has[name]) bar.append(make("a", { role: "tab", id: "tab-" + name, href: "#compile/" + key + (name === "code" ? "" : "/" + name), "aria-selected": String(name === tab), tabindex: name === tab ? "0" : "-1", "aria-controls": "panel" }, label, counts[name] ? make("sup", {}, String(counts[name])) : null));
  bar.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const all = [...bar.querySelectorAll("[role=tab]")], at = all.indexOf(document.activeElement);
    const next = all[(at + (event.key === "ArrowRight" ? 1 : all.length - 1)) % all.length];
    next.focus();
    location.hash = next.getAttribute("href");
  });
  const panel = make("div", { id: "panel", role: "tabpanel", "aria-labelledby": "tab-" + tab });
  box.replaceChildren(head, bar, panel);
  box.hidden = false;
  byId("overview").hidden = true;
  document.title = view.name + " " + key + " · depyf";
  ({ code: showCode, why: showWhy, graph: showGraph, guards: showGuards, time: showTime, bytecode: showBytecode, files: showFiles })[tab](panel, view, rest, bar, article);
}

function readable(view) { return view.texts.filter((text) => text.text !== null); }
function showCode(panel, view, rest, bar) {
  const choices = readable(view);
  if (!choices.length) { panel.append(make("p", { class: "dim" }, "Nothing of this compile is text: see the other views.")); return; }
  const wide = innerWidth;
  let picks = stored("panes", null) || (wide < 1150 ? ["source", "Captured_Graph"] : ["source", "code", "Captured_Graph"]);
  picks = picks.filter((role) => typeof role === "string").slice(0, 4);
  const wanted = rest[0] && choices.find((text) => text.role === rest[0]);
  if (wanted) { if (!picks.includes(wanted.role)) picks = picks.slice(0, Math.max(1, picks.length - 1)).concat(wanted.role); }
  const real = picks.map((role) => choices.some((text) => text.role === role) ? role : null);
  const fallbacks = ["source", "code", "Captured_Graph", "Forward_graph", "AFTER_POST_GRAD", "kernel", "after", "before"].concat(choices.map((text) => text.role));
  for (let at = 0; at < real.length; at++) if (!real[at]) real[at] = fallbacks.find((role) => !real.includes(role) && choices.some((text) => text.role === role)) || null;
  const box = make("div", { class: "panes" });
  const current = real.filter(Boolean);
  // what stands in for texts that are not there goes where it belongs: from source to kernel
  if (current.some((role, at) => role !== picks[at])) current.sort((a, b) => choices.findIndex((text) => text.role === a) - choices.findIndex((text) => text.role === b));
  panel.append(box);
  if (view.warm) panel.append(make("p", { class: "dim warm" }, "torch took this compile from its " + view.warm + ", where it does not keep which node was made of which. So lines belong together here as their texts name the same source line, and all nodes of a line light up. Node by node: compile with ", make("code", {}, "caches=False"), ", or fill the caches with ", make("code", {}, "INDUCTOR_PROVENANCE=1"), " in the environment."));
  current.forEach((role, at) => box.append(paneBox(view, choices, role, (picked) => { current[at] = picked; store("panes", current); free(); })));
  const tools = make("div", { class: "tools" }, "panes");
  for (const count of [1, 2, 3, 4]) tools.append(make("button", { type: "button", "aria-pressed": String(count === current.length), "aria-label": count + (count === 1 ? " pane" : " panes"), onclick: () => {
    const next = current.slice(0, count);
    for (const role of fallbacks) if (next.length < count && !next.includes(role) && choices.some((text) => text.role === role)) next.push(role);
    store("panes", next); route();
  } }, String(count)));
  tools.append(make("button", { type: "button", "aria-pressed": String(stored("wrap", true)), onclick: () => { store("wrap", !stored("wrap", true)); route(); } }, "wrap"));
  bar.append(tools);
  const pane = rest[1] && /^L\d+$/.test(rest[1]) && panes.find((one) => one.text.role === rest[0]);
  const line = pane && jump(pane, Number(rest[1].slice(1)) - pane.first);
  whenRelated(view, () => { if (line && line.dataset.g !== undefined) pin(pane, line); });
}
function jump(pane, number) {
  const line = pane.row(number);
  if (!line) return null;
  pane.element.scrollTop = Math.max(0, line.offsetTop - pane.element.offsetTop - pane.element.clientHeight / 3);
  pane.cursor = number;
  line.classList.add("cursor", "lit");
  return line;
}
function paneBox(view, choices, role, picked) {
  const box = make("section", { class: "pane" });
  const build = (name) => {
    const text = choices.find((one) => one.role === name), old = panes.findIndex((one) => one.box === box);
    const pane = codePane(view, text, text.title);
    pane.box = box;
    if (old >= 0) panes[old] = pane; else panes.push(pane);
    const select = make("select", { "aria-label": "What this pane shows", onchange: (event) => { picked(event.target.value); build(event.target.value); } });
    for (const one of choices) select.append(make("option", { value: one.role, selected: one.role === name }, one.title));
    const file = text.link ? make("a", { class: "file", href: text.link, title: text.torch ? "torch runs " + text.torch : text.path }, text.path) : make("span", { class: "file", title: text.role === "source" ? view.file : "" }, text.role === "source" ? view.file.split("/").pop() : "");
    const path = text.role === "source" ? view.file : text.path;
    const top = make("div", { class: "bar-top" }, select, file, path ? make("span", { class: "hidden" }, path) : null, copyButton(() => textOf(text.text), "copy this text"));
    box.replaceChildren(top, pane.element);
    box.setAttribute("aria-label", text.title);
    if (old >= 0) { whenRelated(view, () => {}); select.focus(); }
  };
  build(role);
  return box;
}
function showBytecode(panel, view) {
  const choices = readable(view), box = make("div", { class: "panes" });
  panel.append(box);
  for (const role of ["before", "after"]) if (choices.some((text) => text.role === role)) box.append(paneBox(view, choices, role, () => {}));
  whenRelated(view, () => {});
}
function showWhy(panel, view, rest, bar, article) {
  const card = make("div", { class: "card" });
  card.append(...[...article.querySelector(".why-block").childNodes].map((node) => node.cloneNode(true)));
  panel.append(card);
}

// ---- guards ----

function guardRows(view) {
  if (view.guards === null) return [];
  return textOf(view.guards).split("\n").map((line) => line.split("\t"));
}
const plain = (text) => text.replace(/\b[LG]\['(\w+)'\]/g, "$1");
function showGuards(panel, view) {
  const rows = guardRows(view), card = make("div", { class: "card" });
  const count = make("span", { class: "dim", role: "status" });
  const input = make("input", { type: "search", placeholder: "Filter: a name, a kind, a line", "aria-label": "Filter guards" });
  const kinds = make("select", { "aria-label": "Kind of guard" }, make("option", { value: "" }, "every kind"));
  const tally = new Map();
  for (const [kind] of rows) tally.set(kind, (tally.get(kind) || 0) + 1);
  for (const [kind, number] of [...tally].sort((a, b) => b[1] - a[1])) kinds.append(make("option", { value: kind }, kind + " (" + number + ")"));
  const body = make("tbody"), tensors = new Map(), guards = new Map();
  for (const one of view.failed) { const table = one.tensor ? tensors : guards, name = plain(one.tensor || one.guard); table.set(name, (table.get(name) || []).concat(one)); }
  const cut = (text) => text.length > 2000 ? [text.slice(0, 2000), make("button", { type: "button", class: "cutoff", onclick: (event) => event.target.replaceWith(text.slice(2000)) }, "… " + (text.length - 2000).toLocaleString("en") + " more characters")] : [text];
  const items = rows.map(([kind, source, expression, raw, comment]) => {
    const failed = [...new Set((kind === "TENSOR_MATCH" && tensors.get(plain(source)) || []).concat(guards.get(plain(expression)) || [], guards.get(plain(raw || "")) || []))];
    return { kind, expression, raw, failed, comment: comment || "", text: [kind, source, expression, raw, comment].join(" ").toLowerCase() };
  });
  const rowOf = (item) => item.row || (item.row = make("tr", { class: item.failed.length ? "failed" : null, title: item.raw || null },
    make("td", { class: "g-kind" }, item.kind),
    make("td", {}, cut(item.expression || ""), item.failed.map((one) => make("div", {}, make("a", { href: "#compile/" + one.key + "/why" }, "↻ failed at " + one.key + ": " + one.words)))),
    make("td", { class: "dim" }, item.comment.replace(/^# /, ""))));
  items.sort((a, b) => (b.failed.length > 0) - (a.failed.length > 0));
  let found = items, built = 0, turn = 0;
  const more = (count) => { body.append(...found.slice(built, built += count).map(rowOf)); };
  const later = (mine) => () => { if (mine === turn && built < found.length && body.isConnected) { more(200); idle(later(mine)); } };
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = items.filter((item) => words.every((word) => item.text.includes(word)) && (!kinds.value || item.kind === kinds.value));
    count.textContent = found.length + " of " + items.length;
    body.replaceChildren();
    built = 0;
    more(60);
    idle(later(++turn));
  };
  input.addEventListener("input", apply);
  kinds.addEventListener("change", apply);
  apply();
  unfold = () => more(found.length);
  card.append(make("div", { class: "filter" }, input, kinds, count, copyButton(() => rows.map((row) => row[2]).join("\n"), "copy all guards")),
    make("p", { class: "lead" }, "All of these must hold for this entry to run. A marked one is what failed when torch compiled again."),
    make("div", { class: "scroll" }, make("table", { class: "guards" }, make("thead", {}, make("tr", {}, ["kind", "expression", "from the line"].map((name) => make("th", { scope: "col" }, name)))), body)));
  panel.append(card);
}

// ---- files ----

function showFiles(panel, view, rest, bar, article) {
  const body = make("tbody");
  const full = article.querySelector(".texts > p > a:not([href^='#'])");
  if (full) body.append(make("tr", {}, make("td", {}, "What happens at each call"), make("td", {}, make("a", { href: full.getAttribute("href") }, full.textContent)), make("td", { class: "num" }), make("td")));
  for (const text of view.texts) body.append(make("tr", {},
    make("td", {}, text.text === null ? text.title : make("a", { href: "#compile/" + view.key + "/code/" + text.role }, text.title)),
    make("td", {}, text.link ? make("a", { href: text.link }, text.path) : make("span", { class: "dim" }, text.role === "source" ? view.file : "in this page"), text.torch ? make("div", { class: "dim" }, "torch runs ", make("code", {}, text.torch)) : null),
    make("td", { class: "num" }, text.text === null ? "" : textOf(text.text).length.toLocaleString("en")),
    make("td", {}, text.text === null ? null : copyButton(() => textOf(text.text), "copy " + text.title))));
  panel.append(make("div", { class: "card scroll" }, make("table", { class: "files" }, make("thead", {}, make("tr", {}, make("th", {}, "text"), make("th", {}, "file"), make("th", { class: "num" }, "characters"), make("th", {}))), body)));
}

// ---- time: torch's own events as a flame graph ----

function showTime(panel, view) {
  const card = make("div", { class: "card" });
  const total = view.phases.reduce((sum, phase) => sum + phase[1], 0);
  if (total) {
    const bar = draw("svg", { class: "bar total", viewBox: "0 0 1000 16", preserveAspectRatio: "none", "aria-hidden": "true" });
    let x = 0;
    for (const [, value, name] of view.phases) { bar.append(draw("rect", { class: "p-" + name, x, width: 1000 * value / total, height: 16 })); x += 1000 * value / total; }
    card.append(bar, make("ul", { class: "legend" }, view.phases.map(([label, value, name]) => make("li", {}, draw("svg", { width: 10, height: 10, "aria-hidden": "true" }, draw("rect", { class: "p-" + name, width: 10, height: 10, rx: 2 })), " " + label + " ", make("b", {}, seconds(value))))));
  }
  panel.append(card);
  if (!view.events.length) return;
  const flame = make("div", { class: "card" }, make("h2", {}, "torch's events"));
  const hint = make("p", { class: "lead" }, "Width is time. A click on an event shows it alone; Esc or the top one shows all again.");
  const box = make("div");
  flame.append(hint, box);
  panel.append(flame);
  const whole = [0, Math.max(...view.events.map((row) => row[1] + row[2]))];
  const render = (from, to) => {
    const width = Math.max(300, box.clientWidth || 900), scale = width / (to - from || 1), rowHeight = 21;
    const visible = view.events.filter((row) => row[1] < to && row[1] + row[2] > from && row[2] * scale >= 0.6);
    const deepest = Math.max(0, ...visible.map((row) => row[3]));
    const svg = draw("svg", { class: "flame", viewBox: "0 0 " + width + " " + (deepest + 1) * rowHeight, height: (deepest + 1) * rowHeight, role: "group", "aria-label": "Flame graph of the compile; arrow keys walk the events, the table below holds the same" });
    const alone = (start, length) => () => (start === from && start + length === to ? render(...whole) : render(start, start + length));
    for (const [name, start, length, depth] of visible) {
      const x = Math.max(0, (start - from) * scale), end = Math.min(width, (start + length - from) * scale);
      const rect = draw("rect", { class: "f" + (hash(name) % 6), x, y: depth * rowHeight, width: Math.max(0.8, end - x), height: rowHeight - 1, rx: 2, role: "button", "aria-label": name + ", " + seconds(length / 1e6), onclick: alone(start, length) }, draw("title", {}, name + ": " + seconds(length / 1e6)));
      svg.append(rect);
      const letters = Math.floor((end - x - 8) / 6.2);
      if (letters > 3) svg.append(draw("text", { x: x + 4, y: depth * rowHeight + 14 }, name.length > letters ? name.slice(0, letters - 1) + "…" : name + (letters > name.length + 9 ? "  " + seconds(length / 1e6) : "")));
    }
    const focused = box.contains(document.activeElement);
    box.replaceChildren(svg);
    rove(svg, "rect");
    if (focused && svg.querySelector("rect")) svg.querySelector("rect").focus();
  };
  render(...whole);
  flame.addEventListener("reset", () => render(...whole));
  const sums = new Map();
  for (const [name, , length] of view.events) { const row = sums.get(name) || [0, 0]; row[0] += length; row[1]++; sums.set(name, row); }
  const rows = [...sums].sort((a, b) => b[1][0] - a[1][0]).slice(0, 60);
  flame.append(make("details", {}, make("summary", {}, "the same as a table"), make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "event"), make("th", { class: "num" }, "times"), make("th", { class: "num" }, "time"))), make("tbody", {}, rows.map(([name, [length, count]]) => make("tr", {}, make("td", {}, make("code", {}, name)), make("td", { class: "num" }, String(count)), make("td", { class: "num" }, seconds(length / 1e6))))))));
}
function hash(text) { let value = 7; for (let at = 0; at < text.length; at++) value = (value * 31 + text.charCodeAt(at)) >>> 0; return value; }

// One of many shapes can be reached with Tab; the arrow keys lead from it to the others, Enter and Space press it.
function rove(svg, selector) {
  const all = [...svg.querySelectorAll(selector)];
  all.forEach((one, index) => one.setAttribute("tabindex", index ? "-1" : "0"));
  svg.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); all[at].dispatchEvent(new MouseEvent("click", { bubbles: true })); return; }
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (!all[next]) return;
    all[at].setAttribute("tabindex", "-1");
    all[next].setAttribute("tabindex", "0");
    all[next].focus({ preventScroll: true });
  });
  return all;
}

// ---- graphs as pictures ----

function moduleOf(name) {
  const match = /^[lL]_self_(?:dict_)?modules_(.+?)(?:_parameters_|_buffers_)/.exec(name);
  return match ? match[1].replace(/_modules_/g, ".") : "";
}
const FEW_FOLDS = 24, MOST_FOLDS = 100;
// Boxes: nodes, or, where there are many, runs of nodes of one module or one source line, so that no cycle can arise.
function fold(graph, open, limit) {
  const ops = graph.order.filter((node) => node.kind === "op");
  const used = new Set(graph.order.flatMap((node) => node.reads.map((name) => (graph.nodes.get(name) || {}).alias || name)));
  const boxes = [], where = new Map();
  const add = (box) => { box.number = boxes.length; boxes.push(box); for (const name of box.members) where.set(name, box); return box; };
  const many = ops.length > limit;
  for (const node of graph.order) if (node.kind === "arg" && used.has(node.name) && !(many && moduleOf(node.name))) add({ name: node.name, sub: node.shape, kind: "arg", members: [node.name], nodes: [node] });
  const box = (key, name, nodes) => {
    const last = nodes[nodes.length - 1], members = nodes.map((node) => node.name);
    if (nodes.length === 1) add({ name: last.name, sub: last.target, kind: "op", members, nodes, shape: last.shape });
    else add({ key, name, sub: nodes.length + " operations", kind: "fold", members, nodes, shape: last.shape });
  };
  const folds = [], owners = new Map();
  let last = null;
  let module = "";
  for (const node of many ? ops : []) owners.set(node, module = node.reads.map((name) => moduleOf(name)).find(Boolean) || module);
  // modules are told apart as deep inside each other as gives a picture of few boxes
  const within = (node, depth) => owners.get(node).split(".").slice(0, depth).join(".");
  const runs = (depth) => ops.filter((node, at) => !at || within(node, depth) !== within(ops[at - 1], depth)).length;
  let depth = 4;
  while (many && depth > 2 && runs(depth) > FEW_FOLDS) depth--;
  for (const node of ops) {
    if (!many) { box("", "", [node]); continue; }
    const top = within(node, depth);
    const key = top ? "module " + top : node.place ? node.place.file.split("/").pop() + ":" + node.place.line : "other";
    if (open.has(key)) { last = null; folds.push({ nodes: [node] }); continue; }
    if (last && last.key === key) last.nodes.push(node); else folds.push(last = { key, name: top || key, nodes: [node] });
  }
  // where that leaves more than can be looked at, neighbours are folded together
  const step = Math.ceil(folds.length / MOST_FOLDS);
  for (let at = 0; at < folds.length; at += step) {
    const together = folds.slice(at, at + step), key = "from " + together[0].nodes[0].name + " by " + step;
    if (step === 1 || open.has(key) || together.length === 1) { for (const one of together) box(one.key, one.name, one.nodes); continue; }
    const names = together.map((one) => one.name || one.nodes[0].name);
    box(key, names[0] + " … " + names[names.length - 1], together.flatMap((one) => one.nodes));
  }
  if (graph.result) add({ name: "output", sub: "", kind: "out", members: ["output"], nodes: [graph.result] });
  const edges = new Map();
  for (const box of boxes) for (const node of box.nodes) for (const name of node.reads) {
    const real = graph.nodes.get(name), from = where.get((real && real.alias) || name);
    if (!from || from === box) continue;
    const id = from.number + ">" + box.number;
    if (!edges.has(id)) edges.set(id, { from, to: box, shape: real ? real.shape : "" });
  }
  return { boxes, edges: [...edges.values()], folded: many };
}
function place(boxes, edges) {
  for (const box of boxes) { box.in = []; box.out = []; box.layer = 0; box.width = Math.max(60, 20 + 7.4 * Math.max(Math.min(box.name.length, 34), Math.min(box.sub.length, 38) * 0.9)); box.height = box.sub ? 38 : 26; }
  for (const edge of edges) { edge.from.out.push(edge.to); edge.to.in.push(edge.from); }
  for (const box of boxes) for (const next of box.in) box.layer = Math.max(box.layer, next.layer + 1);
  for (const box of boxes) if (box.kind === "arg" && box.out.length) box.layer = Math.max(0, Math.min(...box.out.map((next) => next.layer)) - 1);
  const layers = [];
  for (const box of boxes) (layers[box.layer] = layers[box.layer] || []).push(box);
  const rows = layers.filter(Boolean);
  rows.forEach((row) => row.forEach((box, index) => { box.order = index; }));
  for (let sweep = 0; sweep < 6; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const box of row) { const near = down ? box.in : box.out; box.weight = near.length ? near.reduce((sum, one) => sum + one.order, 0) / near.length : box.order; }
      row.sort((a, b) => a.weight - b.weight);
      row.forEach((box, index) => { box.order = index; });
    }
  }
  const gap = 22;
  let y = 10;
  for (const row of rows) { let x = 0; for (const box of row) { box.x = x; x += box.width + gap; } const shift = x / 2; for (const box of row) { box.x -= shift; box.y = y; } y += 82; }
  for (let sweep = 0; sweep < 8; sweep++) for (const row of sweep % 2 ? [...rows].reverse() : rows) {
    for (const box of row) { const near = box.in.concat(box.out); if (near.length) box.want = near.reduce((sum, one) => sum + one.x + one.width / 2, 0) / near.length - box.width / 2; else box.want = box.x; }
    let edge = -Infinity;
    for (const box of row) { box.x = Math.max(edge, box.want); edge = box.x + box.width + gap; }
    let bound = Infinity;
    for (const box of [...row].reverse()) { const slack = Math.min(bound - box.width, box.x); if (slack < box.x) box.x = slack; bound = box.x - gap; }
    const drift = row.reduce((sum, box) => sum + box.x - box.want, 0) / row.length;
    for (const box of row) box.x -= drift;
  }
}
const READABLE = 1.5;  // units of the drawing in a pixel, beyond which its texts are too small
function showGraph(panel, view, rest) {
  const choices = readable(view).filter((text) => text.kind === "graph");
  const open = new Set();
  let text = choices.find((one) => one.role === rest[0]) || choices[0], limit = 60;
  const select = make("select", { "aria-label": "Which graph", onchange: (event) => { open.clear(); text = choices.find((one) => one.role === event.target.value); paintIt(); } });
  for (const one of choices) select.append(make("option", { value: one.role, selected: one === text }, one.title));
  const note = make("span", { class: "dim" }), frame = make("div", { class: "picture" }), detail = make("p", { class: "dim", role: "status" });
  let box = [0, 0, 100, 100];
  let svg = null;
  const apply = () => svg.setAttribute("viewBox", box.join(" "));
  const zoom = (factor, cx, cy) => { cx = cx === undefined ? box[0] + box[2] / 2 : cx; cy = cy === undefined ? box[1] + box[3] / 2 : cy; box = [cx - (cx - box[0]) * factor, cy - (cy - box[1]) * factor, box[2] * factor, box[3] * factor]; apply(); };
  const buttons = [["+", "zoom in", () => zoom(0.8)], ["−", "zoom out", () => zoom(1.25)], ["fit", "show all of it", () => fit()]].map(([label, title, act]) => make("button", { type: "button", id: label === "fit" ? "fit" : null, title, "aria-label": title, onclick: act }, label));
  const foldButton = make("button", { type: "button", onclick: () => { limit = limit === Infinity ? 60 : Infinity; open.clear(); paintIt(); } });
  let fit = () => {};
  // moves a box that has the focus into the window
  const reveal = (one) => {
    if (one.x < box[0] || one.x + one.width > box[0] + box[2]) box[0] = one.x + one.width / 2 - box[2] / 2;
    if (one.y < box[1] || one.y + one.height > box[1] + box[3]) box[1] = one.y + one.height / 2 - box[3] / 2;
    apply();
  };
  const read = new Map();
  function paintIt(opened) {
    if (!read.has(text.text)) read.set(text.text, relationCache.has(view.key) ? relations(view).graphs.get(text.text) : finish(readGraph(linesOf(text.text))));
    const graph = read.get(text.text);
    const { boxes, edges, folded } = fold(graph, open, limit);
    const ops = graph.order.filter((node) => node.kind === "op").length;
    foldButton.hidden = ops <= 60 || ops > 3000;
    foldButton.textContent = folded ? "draw every node" : "fold by module";
    note.textContent = ops + (ops === 1 ? " operation" : " operations") + (folded ? ", folded; a click on a fold opens it" : "");
    if (!boxes.length) { frame.replaceChildren(make("p", { class: "dim" }, "Nothing in this text reads like a graph; it is in the view Code.")); return; }
    if (boxes.length > 3000) { frame.replaceChildren(make("p", { class: "dim" }, "Too many nodes to draw; the text is in the view Code.")); return; }
    place(boxes, edges);
    const width = frame.clientWidth || 900, height = frame.clientHeight || 500;  // asked before the picture is there, which would be laid out twice
    svg = draw("svg", { role: "group", "aria-label": text.title + " as a picture: " + note.textContent + "; arrow keys walk the nodes, the view Code holds it as text" });
    for (const edge of edges) {
      // an edge past other layers leaves and arrives beside the middle, where the edges to the next layer are
      const far = edge.to.layer - edge.from.layer > 1, part = far ? 0.85 : 0.5, bend = far ? 60 : 0;
      const x1 = edge.from.x + edge.from.width * part, y1 = edge.from.y + edge.from.height, x2 = edge.to.x + edge.to.width * part, y2 = edge.to.y, my = (y1 + y2) / 2;
      svg.append(draw("path", { class: "ge", d: "M" + x1 + " " + y1 + "C" + (x1 + bend) + " " + my + " " + (x2 + bend) + " " + my + " " + x2 + " " + y2 }));
      const shape = edge.shape.replace(/(\])(\[[^\]]*\])?(\w+)?(:\d+)?$/, "$1");
      if (shape && edges.length < 160) svg.append(draw("text", { class: "gl", x: x1 + (x2 - x1) * 0.35 + 4 + bend * 0.55, y: y1 + (y2 - y1) * 0.36 }, shape));
    }
    const clip = (name, length) => name.length > length ? name.slice(0, length - 1) + "…" : name;
    for (const one of boxes) {
      const group = draw("g", { class: "gn " + one.kind, "data-node": one.nodes[0].name, role: "button", "aria-label": (one.kind === "fold" ? "open " : "") + describe(one) }, draw("title", {}, describe(one)),
        draw("rect", { x: one.x, y: one.y, width: one.width, height: one.height, rx: 7 }),
        draw("text", { x: one.x + 10, y: one.y + 17 }, clip(one.name, 34)), one.sub ? draw("text", { class: "sub", x: one.x + 10, y: one.y + 31 }, clip(one.sub, 38)) : null);
      group.addEventListener("focus", () => reveal(one));
      if (one.kind === "fold") group.addEventListener("click", () => {
        const focused = group.contains(document.activeElement);
        open.add(one.key);
        paintIt(one);
        if (focused) frame.querySelector("g[data-node='" + CSS.escape(one.nodes[0].name) + "']").focus({ preventScroll: true });
      }); else group.addEventListener("click", () => { for (const other of svg.querySelectorAll(".gn.lit")) other.classList.remove("lit"); group.classList.add("lit"); detail.replaceChildren(describe(one) + " ", make("a", { href: "#compile/" + view.key + "/code/" + text.role + "/L" + (one.nodes[0].line + 1) }, "line " + (one.nodes[0].line + 1))); });
      svg.append(group);
    }
    const left = Math.min(...boxes.map((one) => one.x)) - 12, right = Math.max(...boxes.map((one) => one.x + one.width)) + 12, bottom = Math.max(...boxes.map((one) => one.y + one.height)) + 12;
    const all = Math.max((right - left) / width, bottom / height, 0.85);
    const look = (scale) => { box = [(left + right) / 2 - width * scale / 2, Math.min(0, (bottom - height * scale) / 2), width * scale, height * scale]; apply(); };
    fit = () => look(all);
    const now = opened && boxes.find((one) => one.nodes.includes(opened.nodes[0]));
    if (now) { box[0] += now.x - opened.x; box[1] += now.y - opened.y; apply(); } else look(Math.min(all, READABLE));
    frame.replaceChildren(svg);
    rove(svg, ".gn");
    let grip = null;
    svg.addEventListener("pointerdown", (event) => { grip = [event.clientX, event.clientY, box[0], box[1]]; });
    svg.addEventListener("pointermove", (event) => { if (!grip || !event.buttons) return; const scale = box[2] / svg.clientWidth; box[0] = grip[2] - (event.clientX - grip[0]) * scale; box[1] = grip[3] - (event.clientY - grip[1]) * scale; apply(); });
    svg.addEventListener("pointerup", () => { grip = null; });
    svg.addEventListener("wheel", (event) => { event.preventDefault(); const at = svg.getBoundingClientRect(), scale = box[2] / svg.clientWidth; zoom(event.deltaY < 0 ? 0.87 : 1.15, box[0] + (event.clientX - at.left) * scale, box[1] + (event.clientY - at.top) * scale); }, { passive: false });
  }
  const describe = (one) => one.kind === "fold" ? one.name + ": " + one.sub : one.nodes.map((node) => node.name + (node.shape ? ": " + node.shape : "") + (node.target ? " = " + node.target : "") + (node.place ? "  (" + node.place.file.split("/").pop() + ":" + node.place.line + "  " + node.place.code + ")" : "")).join("\n");
  panel.append(make("div", { class: "filter" }, select, ...buttons, foldButton, note), frame, detail);
  paintIt();
}

// ---- search ----

let searching = 0;
function showSearch(query) {
  const mine = ++searching, box = byId("view"), wanted = query.toLowerCase();
  const list = make("ul", { class: "results" }), status = make("p", { class: "dim", role: "status" }, "searching…");
  box.replaceChildren(make("div", { class: "head" }, make("h2", { id: "view-title", tabindex: "-1" }, "Search: ", make("code", {}, query))), status, list);
  box.hidden = false; byId("overview").hidden = true; panes = [];
  document.title = "Search · depyf";
  let found = 0, capped = false;
  const add = (link, title, place, line, at) => {
    if (found++ >= 300) { capped = true; return; }
    const from = Math.max(0, at - 60), piece = line.slice(from, at + wanted.length + 140);
    const code = make("code", {}, from ? "…" : "", line.slice(from, at), make("mark", {}, line.slice(at, at + wanted.length)), piece.slice(at - from + wanted.length));
    list.append(make("li", {}, make("a", { href: link }, title), " ", make("span", { class: "dim" }, place), code));
  };
  const work = [];
  const seen = new Set();
  for (const [key, article] of articles) work.push(() => {
    const name = article.dataset.name + " " + article.dataset.place + " " + key;
    const at = name.toLowerCase().indexOf(wanted);
    if (at >= 0) add("#compile/" + key, article.dataset.name + " " + key, "compile", name, at);
    for (const reason of article.querySelectorAll(".reason")) { const text = reason.textContent.replace(/\s+/g, " "), where = text.toLowerCase().indexOf(wanted); if (where >= 0) add("#compile/" + key + "/why", article.dataset.name + " " + key, "why", text, where); }
    for (const pre of article.querySelectorAll(".texts pre")) {
      if (seen.has(pre.id)) continue;
      seen.add(pre.id);
      const text = pre.textContent;
      if (!text.toLowerCase().includes(wanted)) continue;
      const view = data(key), meta = view.texts.find((one) => "t" + one.text === pre.id);
      let number = 0, here = 0;
      for (const line of text.split("\n")) {
        number++;
        const at = line.toLowerCase().indexOf(wanted);
        if (at < 0) continue;
        if (++here > 20) { capped = true; break; }
        const shownLine = meta && meta.role === "source" && view.first ? view.first + number - 1 : number;
        if (meta) add("#compile/" + key + "/code/" + meta.role + "/L" + shownLine, article.dataset.name + " " + key, meta.title + ", line " + shownLine, line, at);
        else add("#compile/" + key + "/guards", article.dataset.name + " " + key, "guard", line.split("\t")[2] || line, Math.max(0, (line.split("\t")[2] || line).toLowerCase().indexOf(wanted)));
      }
    }
  });
  const step = () => {
    if (mine !== searching) return;
    const end = performance.now() + 15;
    while (work.length && performance.now() < end && found < 300) work.shift()();
    if (work.length && found < 300) { setTimeout(step, 0); return; }
    status.textContent = found ? Math.min(found, 300) + (found === 1 ? " place" : " places") + (capped ? ", and more; a longer word finds fewer" : "") : "Nothing holds this text.";
  };
  setTimeout(step, 0);
}

// ---- routes ----

function showOverview() {
  searching++;
  panes = []; pinned = null; shown = "";
  byId("view").hidden = true;
  byId("view").replaceChildren();
  byId("overview").hidden = false;
  document.title = title;
}
const title = document.title;
// The control that has the focus, so that the same one can have it after a view was built again.
function nameOf(control) { return control.id || control.tagName + "|" + (control.getAttribute("aria-label") || control.textContent); }
function route() {
  const active = document.activeElement, name = byId("view").contains(active) ? nameOf(active) : "";
  show();
  if (document.activeElement === active && active !== document.body && !active.closest("[hidden]")) return;
  const again = name && [...byId("view").querySelectorAll("a, button, select, input, [tabindex]")].find((one) => nameOf(one) === name);
  const target = again || byId("view-title") || byId("content");
  target.focus({ preventScroll: true });
}
function show() {
  unfold = null;
  let parts;
  try { parts = decodeURIComponent(location.hash.slice(1)).split("/"); } catch { parts = location.hash.slice(1).split("/"); }
  searching++;
  if (parts[0] === "search" && parts.length > 1) { showSearch(parts.slice(1).join("/")); return; }
  if (parts[0] === "compile") {
    for (let stop = parts.length; stop > 1; stop--) {
      const key = parts.slice(1, stop).join("/");
      if (articles.has(key)) { showCompile(key, parts[stop] || "code", parts.slice(stop + 1)); return; }
    }
    byId("view").replaceChildren(make("p", { id: "view-title", tabindex: "-1" }, "This report has no compile " + parts.slice(1).join("/") + ". ", make("a", { href: "#" }, "Overview")));
    byId("view").hidden = false; byId("overview").hidden = true;
    return;
  }
  showOverview();
}

function ready() {
  shelf.append(byId("compiles"));
  for (const pre of shelf.querySelectorAll("pre[id]")) pres.set(pre.id, pre);
  for (const article of shelf.querySelectorAll("#compiles > article")) articles.set(article.dataset.key, article);
  root.dataset.ready = "true";
  if (location.hash.length > 1) show();
}
addEventListener("hashchange", () => { route(); scrollTo(0, 0); });
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) { byId("search").focus(); event.preventDefault(); }
  if (event.key === "Escape") {
    if (document.activeElement === byId("search")) byId("search").blur();
    free();
    for (const card of document.querySelectorAll("#panel .card")) card.dispatchEvent(new Event("reset"));
  }
});
// On paper nothing can be opened or scrolled: all of the view is built and unfolded before it is printed.
let folded = [];
addEventListener("beforeprint", () => {
  if (unfold) unfold();
  for (const pane of panes) pane.finish();
  folded = [...document.querySelectorAll("main details:not([open])")];
  for (const one of folded) one.open = true;
  const fit = byId("fit");
  if (fit) fit.click();
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; folded = []; });
byId("theme").addEventListener("click", switchTheme);
let typing = 0;
byId("search").addEventListener("input", (event) => {
  clearTimeout(typing);
  const query = event.target.value.trim();
  // what is typed further takes the place of the search before it: Back leads to where it was begun
  typing = setTimeout(() => location[location.hash.startsWith("#search/") ? "replace" : "assign"](query.length > 1 ? "#search/" + encodeURIComponent(query) : "#"), 180);
});
for (const button of document.querySelectorAll("button[data-shows]")) button.addEventListener("click", () => {
  const hidden = [...button.parentElement.querySelectorAll("[data-more]")], next = hidden[0] && hidden[0].querySelector("a");
  const more = () => { for (const one of hidden.splice(0, 150)) one.removeAttribute("data-more"); if (hidden.length) idle(more); };
  more();
  button.remove();
  if (next) next.focus();
});
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready); else ready();
})();
