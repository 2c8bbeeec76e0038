import type { Box, Edge } from "./fold";

export function place(boxes: Box[], edges: Edge[]): void {
  for (const box of boxes) {
    box.in = [];
    box.out = [];
    box.layer = 0;
    box.width = Math.max(
      60,
      20 + 7.4 * Math.max(Math.min(box.name.length, 34), Math.min(box.sub.length, 38) * 0.9),
    );
    box.height = box.sub ? 38 : 26;
  }
  for (const edge of edges) {
    edge.from.out.push(edge.to);
    edge.to.in.push(edge.from);
  }
  for (const box of boxes)
    for (const next of box.in) box.layer = Math.max(box.layer, next.layer + 1);
  for (const box of boxes)
    if (box.kind === "arg" && box.out.length)
      box.layer = Math.max(0, Math.min(...box.out.map((next) => next.layer)) - 1);
  const layers: Box[][] = [];
  for (const box of boxes) {
    layers[box.layer] ??= [];
    layers[box.layer].push(box);
  }
  const rows = layers.filter(Boolean);
  rows.forEach((row) =>
    row.forEach((box, index) => {
      box.order = index;
    }),
  );
  for (let sweep = 0; sweep < 6; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      for (const box of row) {
        const near = down ? box.in : box.out;
        box.weight = near.length
          ? near.reduce((sum, one) => sum + one.order, 0) / near.length
          : box.order;
      }
      row.sort((a, b) => a.weight - b.weight);
      row.forEach((box, index) => {
        box.order = index;
      });
    }
  }
  const gap = 22;
  let y = 10;
  for (const row of rows) {
    let x = 0;
    for (const box of row) {
      box.x = x;
      x += box.width + gap;
    }
    const shift = x / 2;
    for (const box of row) {
      box.x -= shift;
      box.y = y;
    }
    y += 82;
  }
  for (let sweep = 0; sweep < 8; sweep++)
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      for (const box of row) {
        const near = box.in.concat(box.out);
        if (near.length)
          box.want =
            near.reduce((sum, one) => sum + one.x + one.width / 2, 0) / near.length - box.width / 2;
        else box.want = box.x;
      }
      let edge = -Infinity;
      for (const box of row) {
        box.x = Math.max(edge, box.want);
        edge = box.x + box.width + gap;
      }
      let bound = Infinity;
      for (const box of [...row].reverse()) {
        const slack = Math.min(bound - box.width, box.x);
        if (slack < box.x) box.x = slack;
        bound = box.x - gap;
      }
      const drift = row.reduce((sum, box) => sum + box.x - box.want, 0) / row.length;
      for (const box of row) box.x -= drift;
    }
}
