// The table of guards.
import { copyButton, make } from "./dom";
import { state } from "./state";
import { idle } from "./steps";
import { textOf } from "./texts";
import type { FailedGuard, View } from "./types";
import { placed, ticks } from "./words";

interface Item {
  kind: string;
  expression: string;
  raw: string;
  failed: FailedGuard[];
  comment: string;
  text: string;
  words: string;
  /** How many guards the row stands for. */
  count: number;
  row?: HTMLElement;
}

const MARK = /^hasattr\((.+), '_dynamo_(\w+)_indices'\) == False$/;
/** The guards that ask whether `mark_dynamic()` and the like were called for a value, as one row for each value. */
export function foldMarks<
  T extends Pick<Item, "kind" | "expression" | "words" | "text" | "count" | "failed">,
>(items: T[]): T[] {
  const first = new Map<string, { item: T; marks: string[] }>();
  const found: T[] = [];
  for (const item of items) {
    const match = item.failed.length ? null : MARK.exec(item.expression);
    const known = match && first.get(match[1]);
    if (known) {
      known.marks.push(match[2]);
      known.item.count += item.count;
      known.item.text += " " + item.text;
      known.item.expression += "\n" + item.expression;
      continue;
    }
    found.push(item);
    if (match) first.set(match[1], { item, marks: [match[2]] });
  }
  for (const [name, { item, marks }] of first)
    item.words = plain(name) + " is marked by none of: " + marks.join(", ").replace(/_/g, " ");
  return found;
}

export function guardRows(view: View): string[][] {
  if (view.guards === null) return [];
  return textOf(view.guards)
    .split("\n")
    .map((line) => line.split("\t"));
}
export const plain = (text: string) => text.replace(/\b[LG]\['(\w+)'\]/g, "$1");
export function showGuards(panel: HTMLElement, view: View): void {
  const rows = guardRows(view),
    card = make("div", { class: "card" });
  const count = make("span", { class: "dim", role: "status" });
  const input = make("input", {
    type: "search",
    placeholder: "Filter: a name, a kind, a line",
    "aria-label": "Filter guards",
  });
  const kinds = make(
    "select",
    { "aria-label": "Kind of guard" },
    make("option", { value: "" }, "every kind"),
  );
  const tally = new Map<string, number>();
  for (const [kind] of rows) tally.set(kind, (tally.get(kind) ?? 0) + 1);
  for (const [kind, number] of [...tally].sort((a, b) => b[1] - a[1]))
    kinds.append(make("option", { value: kind }, kind + " (" + number + ")"));
  const body = make("tbody"),
    tensors = new Map<string, FailedGuard[]>(),
    guards = new Map<string, FailedGuard[]>();
  for (const one of view.failed) {
    const table = one.tensor ? tensors : guards,
      name = plain(one.tensor || one.guard);
    table.set(name, (table.get(name) ?? []).concat(one));
  }
  const cut = (text: string) =>
    text.length > 2000
      ? [
          text.slice(0, 2000),
          make(
            "button",
            {
              type: "button",
              class: "cutoff",
              onclick: (event: MouseEvent) =>
                (event.target as HTMLElement).replaceWith(text.slice(2000)),
            },
            "… " + (text.length - 2000).toLocaleString("en") + " more characters",
          ),
        ]
      : [text];
  const single: Item[] = rows.map(([kind, source, expression, raw, comment, words]) => {
    const byTensor = kind === "TENSOR_MATCH" ? (tensors.get(plain(source)) ?? []) : [];
    const failed = [
      ...new Set(
        byTensor.concat(guards.get(plain(expression)) ?? [], guards.get(plain(raw || "")) ?? []),
      ),
    ];
    return {
      kind,
      expression,
      raw,
      failed,
      comment: comment || "",
      text: [kind, source, expression, raw, comment, words].join(" ").toLowerCase(),
      words: words || "",
      count: 1,
    };
  });
  const items = foldMarks(single);
  const rowOf = (item: Item) => {
    item.row ??= make(
      "tr",
      { class: item.failed.length ? "failed" : null, title: item.raw || null },
      make("td", { class: "g-kind" }, item.kind),
      make(
        "td",
        {},
        item.words ? [make("div", { class: "g-words" }, item.words)] : [],
        item.count > 1
          ? make(
              "details",
              {},
              make("summary", {}, item.count + " guards"),
              make("div", { class: "g-raw" }, item.expression),
            )
          : item.words
            ? make("div", { class: "g-raw" }, cut(item.expression || ""))
            : cut(item.expression || ""),
        item.failed.map((one) =>
          make(
            "div",
            {},
            make(
              "a",
              { href: "#compile/" + one.key + "/why" },
              "↻ failed at " + one.key + ": ",
              ticks(one.words),
            ),
          ),
        ),
      ),
      make("td", { class: "dim", title: item.comment }, placed(item.comment)),
    );
    return item.row;
  };
  items.sort((a, b) => Number(b.failed.length > 0) - Number(a.failed.length > 0));
  let found = items,
    built = 0,
    turn = 0;
  const more = (count: number) => {
    body.append(...found.slice(built, built + count).map(rowOf));
    built += count;
  };
  const later = (mine: number) => () => {
    if (mine === turn && built < found.length && body.isConnected) {
      more(200);
      idle(later(mine));
    }
  };
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = items.filter(
      (item) =>
        words.every((word) => item.text.includes(word)) &&
        (!kinds.value || item.kind === kinds.value),
    );
    const shown = found.reduce((sum, item) => sum + item.count, 0);
    count.textContent = shown ? shown + " of " + rows.length : "No matches";
    body.replaceChildren();
    built = 0;
    more(60);
    idle(later(++turn));
  };
  input.addEventListener("input", apply);
  kinds.addEventListener("change", apply);
  apply();
  state.unfold = () => more(found.length);
  card.append(
    make(
      "div",
      { class: "filter" },
      input,
      kinds,
      count,
      copyButton(() => rows.map((row) => row[2]).join("\n"), "copy all guards"),
    ),
    make(
      "p",
      { class: "lead" },
      "All of these must hold for this entry to run. A marked guard failed when torch compiled again.",
    ),
    make(
      "div",
      { class: "scroll" },
      make(
        "table",
        { class: "guards" },
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            ["kind", "expression", "from the line"].map((name) =>
              make("th", { scope: "col" }, name),
            ),
          ),
        ),
        body,
      ),
    ),
  );
  panel.append(card);
}
