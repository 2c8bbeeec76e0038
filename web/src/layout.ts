// Where boxes and edges are drawn: layers and order by dagre, edges between the boxes.
import { layout as dagre, Graph as Layers } from "@dagrejs/dagre";
import type { Box, Edge } from "./fold";

/** Layers that an edge may cross, and all edges together, before long ones are named instead of drawn. */
const LONGEST = 12;
const CROSSINGS = 2500;

interface Point {
  x: number;
  y: number;
}
/** The part of a layer that its boxes take. */
interface Band {
  middle: number;
  top: number;
  bottom: number;
}

/** How many layers each edge goes down, by the longest way to each box. */
function spans(boxes: Box[], edges: Edge[]): number[] {
  const layer = new Array<number>(boxes.length).fill(0);
  const into = new Map<number, Edge[]>();
  for (const edge of edges) {
    const known = into.get(edge.to.number);
    if (known) known.push(edge);
    else into.set(edge.to.number, [edge]);
  }
  for (const box of boxes)
    for (const edge of into.get(box.number) ?? [])
      layer[box.number] = Math.max(layer[box.number], layer[edge.from.number] + 1);
  return edges.map((edge) => layer[edge.to.number] - layer[edge.from.number]);
}

/** Gives each box its place and each edge its path, which no box that the edge does not end in lies on. */
export function layout(boxes: Box[], edges: Edge[]): void {
  const crossed = spans(boxes, edges);
  const many = crossed.reduce((sum, one) => sum + one, 0) > CROSSINGS;
  const drawn = edges.filter((edge, at) => {
    const named = many && crossed[at] > LONGEST;
    if (named) mention(edge);
    return !named;
  });
  const graph = new Layers();
  graph.setGraph({ nodesep: 22, edgesep: 14, ranksep: 44 });
  graph.setDefaultEdgeLabel(() => ({}));
  const loose = unread(boxes, edges);
  const joined = boxes.filter((box) => !loose.includes(box));
  for (const box of joined)
    graph.setNode(String(box.number), { width: box.width, height: box.height });
  for (const edge of drawn) graph.setEdge(String(edge.from.number), String(edge.to.number));
  dagre(graph);
  const points = new Map(
    drawn.map((edge) => {
      const label = graph.edge(String(edge.from.number), String(edge.to.number)) as {
        points?: Point[];
      };
      return [edge, label.points ?? []];
    }),
  );
  const places = joined.map((box) => graph.node(String(box.number)) as Point);
  if (isMirrored(drawn, points)) {
    const { width } = graph.graph() as { width: number };
    for (const point of new Set([...places, ...[...points.values()].flat()]))
      point.x = width - point.x;
  }
  for (const [number, at] of places.entries()) {
    const box = joined[number];
    box.x = at.x - box.width / 2;
    box.y = at.y - box.height / 2;
  }
  setBelow(loose, joined);
  const bands = bandsOf(boxes);
  const leaves = ports(drawn, points, "from");
  const arrives = ports(drawn, points, "to");
  for (const edge of drawn)
    edge.path = route(
      edge,
      points.get(edge) ?? [],
      leaves.get(edge) ?? 0,
      arrives.get(edge) ?? 0,
      bands,
    );
}

/** Operations without edges, such as a change of a setting, among others: side by side they would make the first row wide. */
export function unread(boxes: Box[], edges: Edge[]): Box[] {
  const ends = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
  const loose = boxes.filter((box) => (box.kind === "op" || box.kind === "fold") && !ends.has(box));
  return loose.length < boxes.length && ends.size ? loose : [];
}

/** Sets boxes in rows below the others, in their order. */
function setBelow(loose: Box[], joined: Box[]): void {
  const left = Math.min(...joined.map((box) => box.x));
  const right = Math.max(left + 600, ...joined.map((box) => box.x + box.width));
  let x = left;
  let y = Math.max(...joined.map((box) => box.y + box.height)) + 44;
  let height = 0;
  for (const box of loose) {
    if (x > left && x + box.width > right) {
      x = left;
      y += height + 22;
      height = 0;
    }
    Object.assign(box, { x, y });
    x += box.width + 22;
    height = Math.max(height, box.height);
  }
}

/** Do more operands stand right of the next one of their operation than left of it? An operation's edges are in order. */
function isMirrored(edges: Edge[], points: Map<Edge, Point[]>): boolean {
  const before = new Map<Box, number>();
  let right = 0;
  for (const edge of edges) {
    const way = points.get(edge) ?? [];
    const x = way[way.length - 2]?.x ?? 0;
    right += Math.sign((before.get(edge.to) ?? x) - x);
    before.set(edge.to, x);
  }
  return right > 0;
}

/** Names an edge in the box that it would end in. */
function mention(edge: Edge): void {
  if (!edge.pairs.length) return; // the box that writes says into what
  const line = "← " + edge.from.title;
  if (edge.to.lines.includes(line)) return;
  edge.to.lines.push(line);
  edge.to.height += 13;
  edge.to.width = Math.max(edge.to.width, 20 + 6.5 * line.length);
}

function bandsOf(boxes: Box[]): Band[] {
  const found = new Map<number, Band>();
  for (const box of boxes) {
    const middle = Math.round(box.y + box.height / 2);
    const band = found.get(middle) ?? { middle, top: Infinity, bottom: -Infinity };
    band.top = Math.min(band.top, box.y);
    band.bottom = Math.max(band.bottom, box.y + box.height);
    found.set(middle, band);
  }
  return [...found.values()].sort((a, b) => a.middle - b.middle);
}

/** Where edges leave or enter their boxes: side by side, in the order of where they go or come from. */
function ports(edges: Edge[], points: Map<Edge, Point[]>, end: "from" | "to"): Map<Edge, number> {
  const sides = new Map<Box, Edge[]>();
  for (const edge of edges) {
    const known = sides.get(edge[end]);
    if (known) known.push(edge);
    else sides.set(edge[end], [edge]);
  }
  const found = new Map<Edge, number>();
  for (const [box, side] of sides) {
    const towards = (edge: Edge): number => {
      const way = points.get(edge) ?? [];
      return (end === "from" ? way[1] : way[way.length - 2])?.x ?? 0;
    };
    side.sort((a, b) => towards(a) - towards(b));
    side.forEach((edge, at) => {
      found.set(edge, box.x + (box.width * (at + 1)) / (side.length + 1));
    });
  }
  return found;
}

/** Straight down beside the boxes of each layer that is crossed, and curves in the space between layers. */
function route(edge: Edge, points: Point[], start: number, stop: number, bands: Band[]): string {
  const first = Math.round(edge.from.y + edge.from.height / 2);
  const last = Math.round(edge.to.y + edge.to.height / 2);
  const between = bands.filter((band) => band.middle > first && band.middle < last);
  const near = (band: Band): number => {
    let best = points[0]?.x ?? start;
    let distance = Infinity;
    for (const point of points) {
      const off = Math.abs(point.y - band.middle);
      if (off < distance) {
        distance = off;
        best = point.x;
      }
    }
    return best;
  };
  const own = bands.find((band) => band.middle === first);
  const target = bands.find((band) => band.middle === last);
  let x = start;
  let y = own?.bottom ?? edge.from.y + edge.from.height;
  let path = "M" + place(x, edge.from.y + edge.from.height) + "V" + y.toFixed(1);
  const curve = (toX: number, toY: number) => {
    const middle = (y + toY) / 2;
    path += "C" + place(x, middle) + " " + place(toX, middle) + " " + place(toX, toY);
    x = toX;
    y = toY;
  };
  for (const band of between) {
    curve(near(band), band.top);
    path += "V" + band.bottom.toFixed(1);
    y = band.bottom;
  }
  curve(stop, target?.top ?? edge.to.y);
  return path + "V" + edge.to.y.toFixed(1);
}
const place = (x: number, y: number): string => x.toFixed(1) + " " + y.toFixed(1);
