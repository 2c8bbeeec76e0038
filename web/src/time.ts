// Where a compile's time went: phases, and torch's own events as a flame graph.
import { draw, make, rove } from "./dom";
import { namesOf, phasesOf } from "./events";
import type { View } from "./types";
import { seconds } from "./words";

export function showTime(panel: HTMLElement, view: View): void {
  const card = make("div", { class: "card" });
  const total = view.phases.reduce((sum, phase) => sum + phase[1], 0);
  if (total) {
    const bar = draw("svg", {
      class: "bar total",
      viewBox: "0 0 1000 16",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    let x = 0;
    for (const [, value, name] of view.phases) {
      bar.append(
        draw("rect", { class: "p-" + name, x, width: (1000 * value) / total, height: 16 }),
      );
      x += (1000 * value) / total;
    }
    card.append(
      bar,
      make(
        "ul",
        { class: "legend" },
        view.phases.map(([label, value, name]) =>
          make(
            "li",
            {},
            draw(
              "svg",
              { width: 10, height: 10, "aria-hidden": "true" },
              draw("rect", { class: "p-" + name, width: 10, height: 10, rx: 2 }),
            ),
            " " + label + " ",
            make("b", {}, seconds(value)),
          ),
        ),
      ),
    );
  }
  panel.append(card);
  if (!view.events.length) return;
  const flame = make("div", { class: "card" }, make("h2", {}, "torch's events"));
  const hint = make(
    "p",
    { class: "lead" },
    "Width is time; colours are those of the phases above. A click on an event shows it alone; Esc or the top one shows all again.",
  );
  const box = make("div");
  flame.append(hint, box);
  panel.append(flame);
  const phases = phasesOf(view.events),
    names = namesOf(view.events);
  const events = view.events.map(([, start, length, depth], at) => ({
    name: names[at],
    phase: phases[at],
    start,
    length,
    depth,
  }));
  const whole: [number, number] = [0, Math.max(...view.events.map((row) => row[1] + row[2]))];
  const render = (from: number, to: number) => {
    const width = Math.max(300, box.clientWidth || 900),
      scale = width / (to - from || 1),
      rowHeight = 21;
    const visible = events.filter(
      (one) => one.start < to && one.start + one.length > from && one.length * scale >= 0.6,
    );
    const deepest = Math.max(0, ...visible.map((one) => one.depth));
    const svg = draw("svg", {
      class: "flame",
      viewBox: "0 0 " + width + " " + (deepest + 1) * rowHeight,
      height: (deepest + 1) * rowHeight,
      role: "group",
      "aria-label":
        "Flame graph of the compile; arrow keys walk the events, the table below holds the same",
    });
    const alone = (start: number, length: number) => () =>
      start === from && start + length === to ? render(...whole) : render(start, start + length);
    for (const { name, phase, start, length, depth } of visible) {
      const x = Math.max(0, (start - from) * scale),
        end = Math.min(width, (start + length - from) * scale);
      const rect = draw(
        "rect",
        {
          class: "f-" + phase,
          x,
          y: depth * rowHeight,
          width: Math.max(0.8, end - x),
          height: rowHeight - 1,
          rx: 2,
          role: "button",
          "aria-label": name + ", " + seconds(length / 1e6),
          onclick: alone(start, length),
        },
        draw("title", {}, name + ": " + seconds(length / 1e6)),
      );
      svg.append(rect);
      const letters = Math.floor((end - x - 8) / 6.2);
      if (letters > 3)
        svg.append(
          draw(
            "text",
            { x: x + 4, y: depth * rowHeight + 14 },
            name.length > letters
              ? name.slice(0, letters - 1) + "…"
              : name + (letters > name.length + 9 ? "  " + seconds(length / 1e6) : ""),
          ),
        );
    }
    const focused = box.contains(document.activeElement);
    box.replaceChildren(svg);
    rove(svg, "rect");
    if (focused) svg.querySelector("rect")?.focus();
  };
  render(...whole);
  flame.addEventListener("reset", () => render(...whole));
  const sums = new Map<string, [number, number]>();
  for (const { name, length } of events) {
    const row: [number, number] = sums.get(name) ?? [0, 0];
    row[0] += length;
    row[1]++;
    sums.set(name, row);
  }
  const rows = [...sums].sort((a, b) => b[1][0] - a[1][0]).slice(0, 60);
  flame.append(
    make(
      "details",
      {},
      make("summary", {}, "the same as a table"),
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            make("th", {}, "event"),
            make("th", { class: "num" }, "times"),
            make("th", { class: "num" }, "time"),
          ),
        ),
        make(
          "tbody",
          {},
          rows.map(([name, [length, count]]) =>
            make(
              "tr",
              {},
              make("td", {}, make("code", {}, name)),
              make("td", { class: "num" }, String(count)),
              make("td", { class: "num" }, seconds(length / 1e6)),
            ),
          ),
        ),
      ),
    ),
  );
}
