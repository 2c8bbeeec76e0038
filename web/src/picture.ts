// The picture of a graph.
import { draw, make, rove } from "./dom";
import { type Box, fold } from "./fold";
import { readGraph } from "./graph";
import { place } from "./layout";
import { relationCache, relations } from "./relations";
import { finish } from "./steps";
import { linesOf, readable } from "./texts";
import type { Graph, Text, View } from "./types";

export const READABLE = 1.5; // units of the drawing in a pixel, beyond which its texts are too small
export function showGraph(panel: HTMLElement, view: View, rest: string[]): void {
  const choices = readable(view).filter((text) => text.kind === "graph");
  const open = new Set<string>();
  let text: Text = choices.find((one) => one.role === rest[0]) || choices[0],
    limit = 60;
  const select: HTMLSelectElement = make("select", {
    "aria-label": "Which graph",
    onchange: () => {
      open.clear();
      text = choices.find((one) => one.role === select.value) ?? text;
      paintIt();
    },
  });
  for (const one of choices)
    select.append(make("option", { value: one.role, selected: one === text }, one.title));
  const note = make("span", { class: "dim" }),
    frame = make("div", { class: "picture" }),
    detail = make("p", { class: "dim", role: "status" });
  let box = [0, 0, 100, 100];
  let svg = draw("svg");
  const apply = () => svg.setAttribute("viewBox", box.join(" "));
  const zoom = (factor: number, cx = box[0] + box[2] / 2, cy = box[1] + box[3] / 2) => {
    box = [
      cx - (cx - box[0]) * factor,
      cy - (cy - box[1]) * factor,
      box[2] * factor,
      box[3] * factor,
    ];
    apply();
  };
  const actions: [string, string, () => void][] = [
    ["+", "zoom in", () => zoom(0.8)],
    ["−", "zoom out", () => zoom(1.25)],
    ["fit", "show all of it", () => fitAll()],
  ];
  const buttons = actions.map(([label, title, act]) =>
    make(
      "button",
      {
        type: "button",
        id: label === "fit" ? "fit" : null,
        title,
        "aria-label": title,
        onclick: act,
      },
      label,
    ),
  );
  const foldButton = make("button", {
    type: "button",
    onclick: () => {
      limit = limit === Infinity ? 60 : Infinity;
      open.clear();
      paintIt();
    },
  });
  let fitAll = () => {};
  // moves a box that has the focus into the window
  const reveal = (one: Box) => {
    if (one.x < box[0] || one.x + one.width > box[0] + box[2])
      box[0] = one.x + one.width / 2 - box[2] / 2;
    if (one.y < box[1] || one.y + one.height > box[1] + box[3])
      box[1] = one.y + one.height / 2 - box[3] / 2;
    apply();
  };
  const read = new Map<number | null, Graph | undefined>();
  function paintIt(opened?: Box): void {
    if (!read.has(text.text))
      read.set(
        text.text,
        relationCache.has(view.key)
          ? relations(view).graphs.get(text.text ?? -1)
          : finish(readGraph(linesOf(text.text))),
      );
    const graph = read.get(text.text);
    if (!graph) return;
    const { boxes, edges, folded } = fold(graph, open, limit);
    const ops = graph.order.filter((node) => node.kind === "op").length;
    foldButton.hidden = ops <= 60 || ops > 3000;
    foldButton.textContent = folded ? "draw every node" : "fold by module";
    note.textContent =
      ops +
      (ops === 1 ? " operation" : " operations") +
      (folded ? ", folded; a click on a fold opens it" : "");
    if (!boxes.length) {
      frame.replaceChildren(
        make(
          "p",
          { class: "dim" },
          "Nothing in this text reads like a graph; it is in the view Code.",
        ),
      );
      return;
    }
    if (boxes.length > 3000) {
      frame.replaceChildren(
        make("p", { class: "dim" }, "Too many nodes to draw; the text is in the view Code."),
      );
      return;
    }
    place(boxes, edges);
    const width = frame.clientWidth || 900,
      height = frame.clientHeight || 500; // asked before the picture is there, which would be laid out twice
    svg = draw("svg", {
      role: "group",
      "aria-label":
        text.title +
        " as a picture: " +
        note.textContent +
        "; arrow keys walk the nodes, the view Code holds it as text",
    });
    for (const edge of edges) {
      // an edge past other layers leaves and arrives beside the middle, where the edges to the next layer are
      const far = edge.to.layer - edge.from.layer > 1,
        part = far ? 0.85 : 0.5,
        bend = far ? 60 : 0;
      const x1 = edge.from.x + edge.from.width * part,
        y1 = edge.from.y + edge.from.height,
        x2 = edge.to.x + edge.to.width * part,
        y2 = edge.to.y,
        my = (y1 + y2) / 2;
      svg.append(
        draw("path", {
          class: "ge",
          d:
            "M" +
            x1 +
            " " +
            y1 +
            "C" +
            (x1 + bend) +
            " " +
            my +
            " " +
            (x2 + bend) +
            " " +
            my +
            " " +
            x2 +
            " " +
            y2,
        }),
      );
      const shape = edge.shape.replace(/(\])(\[[^\]]*\])?(\w+)?(:\d+)?$/, "$1");
      if (shape && edges.length < 160)
        svg.append(
          draw(
            "text",
            { class: "gl", x: x1 + (x2 - x1) * 0.35 + 4 + bend * 0.55, y: y1 + (y2 - y1) * 0.36 },
            shape,
          ),
        );
    }
    const clip = (name: string, length: number) =>
      name.length > length ? name.slice(0, length - 1) + "…" : name;
    for (const one of boxes) {
      const group = draw(
        "g",
        {
          class: "gn " + one.kind,
          "data-node": one.nodes[0].name,
          role: "button",
          "aria-label": (one.kind === "fold" ? "open " : "") + describe(one),
        },
        draw("title", {}, describe(one)),
        draw("rect", { x: one.x, y: one.y, width: one.width, height: one.height, rx: 7 }),
        draw("text", { x: one.x + 10, y: one.y + 17 }, clip(one.name, 34)),
        one.sub
          ? draw("text", { class: "sub", x: one.x + 10, y: one.y + 31 }, clip(one.sub, 38))
          : null,
      );
      group.addEventListener("focus", () => reveal(one));
      if (one.kind === "fold")
        group.addEventListener("click", () => {
          const focused = group.contains(document.activeElement);
          open.add(one.key ?? "");
          paintIt(one);
          if (focused)
            frame
              .querySelector<SVGElement>("g[data-node='" + CSS.escape(one.nodes[0].name) + "']")
              ?.focus({ preventScroll: true });
        });
      else
        group.addEventListener("click", () => {
          for (const other of svg.querySelectorAll(".gn.lit")) other.classList.remove("lit");
          group.classList.add("lit");
          detail.replaceChildren(
            describe(one) + " ",
            make(
              "a",
              {
                href:
                  "#compile/" + view.key + "/code/" + text.role + "/L" + (one.nodes[0].line + 1),
              },
              "line " + (one.nodes[0].line + 1),
            ),
          );
        });
      svg.append(group);
    }
    const left = Math.min(...boxes.map((one) => one.x)) - 12,
      right = Math.max(...boxes.map((one) => one.x + one.width)) + 12,
      bottom = Math.max(...boxes.map((one) => one.y + one.height)) + 12;
    const all = Math.max((right - left) / width, bottom / height, 0.85);
    const look = (scale: number) => {
      box = [
        (left + right) / 2 - (width * scale) / 2,
        Math.min(0, (bottom - height * scale) / 2),
        width * scale,
        height * scale,
      ];
      apply();
    };
    fitAll = () => look(all);
    const now = opened && boxes.find((one) => one.nodes.includes(opened.nodes[0]));
    if (now) {
      box[0] += now.x - opened.x;
      box[1] += now.y - opened.y;
      apply();
    } else look(Math.min(all, READABLE));
    frame.replaceChildren(svg);
    rove(svg, ".gn");
    let grip: number[] | null = null;
    svg.addEventListener("pointerdown", (event) => {
      grip = [event.clientX, event.clientY, box[0], box[1]];
    });
    svg.addEventListener("pointermove", (event) => {
      if (!grip || !event.buttons) return;
      const scale = box[2] / svg.clientWidth;
      box[0] = grip[2] - (event.clientX - grip[0]) * scale;
      box[1] = grip[3] - (event.clientY - grip[1]) * scale;
      apply();
    });
    svg.addEventListener("pointerup", () => {
      grip = null;
    });
    svg.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const at = svg.getBoundingClientRect(),
          scale = box[2] / svg.clientWidth;
        zoom(
          event.deltaY < 0 ? 0.87 : 1.15,
          box[0] + (event.clientX - at.left) * scale,
          box[1] + (event.clientY - at.top) * scale,
        );
      },
      { passive: false },
    );
  }
  const describe = (one: Box) =>
    one.kind === "fold"
      ? one.name + ": " + one.sub
      : one.nodes
          .map(
            (node) =>
              node.name +
              (node.shape ? ": " + node.shape : "") +
              (node.target ? " = " + node.target : "") +
              (node.place
                ? "  (" +
                  node.place.file.split("/").pop() +
                  ":" +
                  node.place.line +
                  "  " +
                  node.place.code +
                  ")"
                : ""),
          )
          .join("\n");
  panel.append(
    make("div", { class: "filter" }, select, ...buttons, foldButton, note),
    frame,
    detail,
  );
  paintIt();
}
