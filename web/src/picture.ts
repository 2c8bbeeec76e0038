// The picture of a graph: folds that open, zoom, and walking it from the keyboard.
import { draw, make, rove } from "./dom";
import { arrange, type Box, type Drawing, type Edge, MOST } from "./fold";
import { layout, unread } from "./layout";
import { linksOf, whenKnown } from "./panes";
import { state } from "./state";
import { graphOf, readable } from "./texts";
import type { Graph, GraphNode, Text, View } from "./types";

/** Units of the drawing in a pixel, beyond which its texts are too small. */
const READABLE = 1.2;
/** The same, for a first row that is wide. */
const SMALLEST = 1.6;

function describeNode(node: GraphNode): string {
  const place = node.place
    ? "  (" +
      node.place.file.split("/").pop() +
      ":" +
      node.place.line +
      "  " +
      node.place.code +
      ")"
    : "";
  return (
    node.name +
    (node.shape ? ": " + node.shape : "") +
    (node.target ? " = " + node.target : "") +
    (node.module ? " in " + node.module : "") +
    (node.writes ? ", writes into " + node.writes.join(", ") : "") +
    place
  );
}
function describe(box: Box): string {
  if (box.kind === "fold") {
    const [title, ...lines] = box.whole.length ? box.whole : [box.title, ...box.lines];
    return title + ": " + lines.join(" ");
  }
  // what stands below an operator's own line is what it reads
  return [...box.nodes.map(describeNode), ...box.whole.slice(2)].join("\n");
}

function drawEdge(edge: Edge): SVGElement | null {
  if (!edge.path) return null;
  const named = (pairs: [string, string][]) => pairs.map((pair) => pair.join(">")).join(" ");
  const isWrite = !edge.pairs.length;
  const title = edge.writes.map(([writer, reader]) => writer + " writes what " + reader + " reads");
  return draw(
    "path",
    {
      class: isWrite ? "ge write" : "ge",
      d: edge.path,
      "data-from": edge.from.number,
      "data-to": edge.to.number,
      "data-pairs": named(edge.pairs) || null,
      "data-writes": named(edge.writes) || null,
    },
    isWrite ? draw("title", {}, title.slice(0, 6).join("\n")) : null,
  );
}

/** @param address - of the picture of a graph that the box's operation is given */
function drawBox(box: Box, address: (name: string) => string): SVGElement {
  const lines = box.lines.map((line, at) => {
    const text = draw("text", { class: "sub", x: box.x + 10, y: box.y + 31 + 13 * at }, line);
    const name = box.inner.get(at);
    // reached from the keyboard through the box, which is pressed
    return name ? draw("a", { href: address(name), tabindex: "-1" }, text) : text;
  });
  return draw(
    "g",
    {
      class: "gn " + box.kind + (box.inner.size ? " holds" : ""),
      "data-node": box.nodes[0].name,
      "data-box": box.number,
      role: "button",
      "aria-label": (box.kind === "fold" || box.inner.size ? "open " : "") + describe(box),
    },
    draw("title", {}, describe(box)),
    draw("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 7 }),
    draw("text", { x: box.x + 10, y: box.y + 17 }, box.title),
    lines,
  );
}

/** The uppermost boxes; inputs where there are some among them, since an operation without edges stands there too. */
function firstRow(boxes: Box[]): Box[] {
  const top = Math.min(...boxes.map((one) => one.y + one.height / 2));
  const row = boxes.filter((one) => one.y + one.height / 2 < top + 1);
  const inputs = row.filter((one) => one.kind === "input");
  return inputs.length ? inputs : row;
}

/** What one drawn graph is moved and scaled by. */
class Window {
  private box = [0, 0, 100, 100];
  svg: SVGSVGElement = draw("svg");
  apply(): void {
    this.svg.setAttribute("viewBox", this.box.join(" "));
  }
  look(x: number, y: number, width: number, height: number): void {
    this.box = [x, y, width, height];
    this.apply();
  }
  move(x: number, y: number): void {
    this.look(this.box[0] + x, this.box[1] + y, this.box[2], this.box[3]);
  }
  zoom(factor: number, x = this.box[0] + this.box[2] / 2, y = this.box[1] + this.box[3] / 2): void {
    const [left, top, width, height] = this.box;
    this.look(x - (x - left) * factor, y - (y - top) * factor, width * factor, height * factor);
  }
  /** Moves a box that has the focus to where it can be seen. */
  reveal(one: Box): void {
    const [left, top, width, height] = this.box;
    const x =
      one.x < left || one.x + one.width > left + width ? one.x + (one.width - width) / 2 : left;
    const y =
      one.y < top || one.y + one.height > top + height ? one.y + (one.height - height) / 2 : top;
    this.look(x, y, width, height);
  }
  /** Follows pointer and wheel. */
  follow(): void {
    let grip: [number, number] | null = null;
    const scale = () => this.box[2] / (this.svg.clientWidth || 1);
    this.svg.addEventListener("pointerdown", (event) => {
      grip = [event.clientX, event.clientY];
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!grip || !event.buttons) return;
      this.move((grip[0] - event.clientX) * scale(), (grip[1] - event.clientY) * scale());
      grip = [event.clientX, event.clientY];
    });
    this.svg.addEventListener("pointerup", () => {
      grip = null;
    });
    this.svg.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = this.svg.getBoundingClientRect();
        const x = this.box[0] + (event.clientX - at.left) * scale();
        const y = this.box[1] + (event.clientY - at.top) * scale();
        this.zoom(event.deltaY < 0 ? 0.87 : 1.15, x, y);
      },
      { passive: false },
    );
  }
}

export function showGraph(panel: HTMLElement, view: View, rest: string[]): void {
  const choices = readable(view).filter((text) => text.kind === "graph");
  const open = new Set<string>();
  const graphs = new Map<Text, Graph | null>();
  let text = choices.find((one) => one.role === rest[0]) ?? choices[0];
  // the graphs inside each other down to the one that is shown
  let inside = rest.slice(1);
  let all = false;
  const addressOf = (names: string[]): string =>
    "#compile/" + [view.key, "graph", text.role, ...names].map(encodeURI).join("/");
  const select: HTMLSelectElement = make("select", {
    "aria-label": "Which graph",
    onchange: () => {
      open.clear();
      all = false;
      inside = [];
      text = choices.find((one) => one.role === select.value) ?? text;
      paint();
    },
  });
  for (const one of choices)
    select.append(make("option", { value: one.role, selected: one === text }, one.title));
  const note = make("span", { class: "dim" });
  const way = make("span", { class: "way" });
  const legend = make("p", { class: "legend" });
  const frame = make("div", { class: "picture" });
  const detail = make("p", { class: "dim", role: "status" });
  const shown = new Window();
  let fitAll = () => {};
  const button = (id: string | null, label: string, title: string, act: () => void) =>
    make("button", { type: "button", id, title, "aria-label": title, onclick: act }, label);
  const buttons = [
    button(null, "+", "zoom in", () => shown.zoom(0.8)),
    button(null, "−", "zoom out", () => shown.zoom(1.25)),
    button("fit", "fit", "show all of it", () => fitAll()),
  ];
  const foldButton = make("button", {
    type: "button",
    onclick: () => {
      all = !all && !open.size;
      open.clear();
      paint();
    },
  });

  function choose(box: Box, group: SVGElement): void {
    for (const other of shown.svg.querySelectorAll(".gn.lit, .ge.lit"))
      other.classList.remove("lit");
    group.classList.add("lit");
    for (const edge of shown.svg.querySelectorAll<SVGElement>(".ge"))
      if (edge.dataset.from === String(box.number) || edge.dataset.to === String(box.number))
        edge.classList.add("lit");
    const line = box.nodes[0].line + 1;
    const link = "#compile/" + view.key + "/code/" + text.role + "/L" + line;
    const graphs = [...box.inner.values()].flatMap((name) => [
      make("a", { href: addressOf([...inside, name]) }, "open " + name),
      " ",
    ]);
    detail.replaceChildren(
      describe(box) + " ",
      ...graphs,
      line > 0 ? make("a", { href: link }, "line " + line) : "",
    );
    if (line <= 0) return;
    const place = detail.lastChild;
    const wanted = () => detail.isConnected && detail.lastChild === place;
    whenKnown(view, wanted, () => {
      const links = linksOf(view, text, line - 1).flatMap((one) => [", ", one]);
      detail.append(
        "; belongs to ",
        ...(links.length ? links.slice(1) : ["no line of other texts"]),
      );
    });
  }
  function activate(box: Box, group: SVGElement): void {
    const [only, more] = box.inner.values();
    if (only && !more) {
      location.hash = addressOf([...inside, only]);
      return;
    }
    if (box.kind !== "fold") {
      choose(box, group);
      return;
    }
    const focused = group.contains(document.activeElement);
    open.add(box.key);
    paint(box);
    const name = CSS.escape(box.nodes[0].name);
    if (focused)
      frame
        .querySelector<SVGElement>("g[data-node='" + name + "']")
        ?.focus({ preventScroll: true });
  }
  function say(graph: Graph, drawing: Drawing): void {
    const ops = graph.order.filter((node) => node.kind === "op").length;
    const folded = drawing.folded || open.size > 0;
    foldButton.hidden = !(all || folded) || (!open.size && ops > MOST);
    foldButton.textContent = all || open.size ? "fold by module" : "draw every node";
    const hint = drawing.full
      ? "; no more modules can be unfolded at once"
      : drawing.folded
        ? ", folded; a click on a fold opens it"
        : "";
    const dashes = draw(
      "svg",
      { width: 26, height: 8, "aria-hidden": "true" },
      draw("path", { class: "dashes", d: "M0 4H26" }),
    );
    const writes = drawing.edges.some((edge) => !edge.pairs.length);
    const words = "a write into a value, to what reads that value next (the output: the caller)";
    legend.replaceChildren(...(writes ? [make("span", {}, dashes, " " + words)] : []));
    const holds = "a graph that the operation is given, in a picture of its own";
    if (drawing.boxes.some((box) => box.inner.size))
      legend.append(make("span", {}, make("b", {}, "▸ "), holds));
    const { parameters, inputs } = drawing.held;
    const kinds = [inputs ? "inputs" : "", parameters ? "parameters and buffers" : ""].filter(
      Boolean,
    );
    const held = kinds.join(", ") + " stand in the box of the operation that reads them";
    if (kinds.length) legend.append(make("span", {}, held[0].toUpperCase() + held.slice(1)));
    if (unread(drawing.boxes, drawing.edges).length)
      legend.append(
        make("span", {}, "Operations below, without edges: no other one reads their results"),
      );
    legend.hidden = !legend.children.length;
    note.textContent = ops + (ops === 1 ? " operation" : " operations") + hint;
    way.hidden = !inside.length;
    const whole = make("a", { href: addressOf([]) }, "← the whole graph");
    const above = inside
      .slice(0, -1)
      .flatMap((name, at) => [
        " › ",
        make("a", { href: addressOf(inside.slice(0, at + 1)) }, name),
      ]);
    way.replaceChildren(whole, ...above, " › ", make("b", {}, inside[inside.length - 1] ?? ""));
  }
  function paint(opened?: Box): void {
    let graph = graphs.get(text);
    if (graph === undefined) {
      graph = graphOf(text);
      graphs.set(text, graph);
    }
    let shownGraph = graph;
    for (const [at, name] of inside.entries()) {
      const next: Graph | undefined = shownGraph?.inner.get(name);
      if (!next) inside = inside.slice(0, at);
      else shownGraph = next;
    }
    graph = shownGraph;
    const drawing = graph && arrange(graph, open, all);
    if (!graph || !drawing?.boxes.length) {
      frame.replaceChildren(
        make("p", { class: "dim" }, "This text is not a graph; the view Code shows it."),
      );
      return;
    }
    say(graph, drawing);
    const { boxes, edges } = drawing;
    layout(boxes, edges);
    state.fit(); // what stands above it has changed
    // asked before the picture is there, which would be laid out twice
    const width = frame.clientWidth || 900;
    const height = frame.clientHeight || 500;
    const label =
      text.title +
      " as a picture: " +
      note.textContent +
      "; arrow keys walk the nodes, the view Code holds it as text";
    shown.svg = draw("svg", { role: "group", "aria-label": label }, edges.map(drawEdge));
    for (const box of boxes) {
      const group = drawBox(box, (name) => addressOf([...inside, name]));
      group.addEventListener("focus", () => shown.reveal(box));
      group.addEventListener("click", () => activate(box, group));
      shown.svg.append(group);
    }
    place(boxes, width, height, opened);
    frame.replaceChildren(shown.svg);
    rove(shown.svg, ".gn");
    shown.follow();
  }
  /** Shows as much as can be read, or leaves what was opened where it was. */
  function place(boxes: Box[], width: number, height: number, opened?: Box): void {
    const left = boxes.reduce((least, one) => Math.min(least, one.x), Infinity) - 12;
    const right = boxes.reduce((most, one) => Math.max(most, one.x + one.width), 0) + 12;
    const bottom = boxes.reduce((most, one) => Math.max(most, one.y + one.height), 0) + 12;
    const whole = Math.max((right - left) / width, (bottom + 10) / height, 0.85);
    const middle = (left + right) / 2;
    const look = (scale: number, x = middle - (width * scale) / 2) =>
      shown.look(x, -10, width * scale, height * scale);
    fitAll = () => look(whole);
    const now = opened && boxes.find((one) => one.nodes.includes(opened.nodes[0]));
    if (now) shown.move(now.x - opened.x, now.y - opened.y);
    else {
      // the first row is seen whole, at a scale at which it can be read
      const first = firstRow(boxes);
      const begin = Math.min(...first.map((one) => one.x)) - 12;
      const end = Math.max(...first.map((one) => one.x + one.width)) + 12;
      const across = (right - left) / width;
      // a picture of which no row is cut then is seen in its whole width
      const wanted = across <= SMALLEST ? across : (end - begin) / width;
      const scale = Math.min(whole, Math.max(READABLE, Math.min(wanted, SMALLEST)));
      const x = middle - (width * scale) / 2;
      look(scale, Math.min(Math.max(x, end - width * scale), begin));
    }
  }
  panel.append(
    make("div", { class: "filter" }, select, ...buttons, foldButton, way, note),
    legend,
    frame,
    detail,
  );
  paint();
}
