// Panes of code: lines that light what they became, from keyboard and mouse.
import { beginning } from "./beginning";
import { make, say, stored } from "./dom";
import { type Highlighting, paint, programIn } from "./highlight";
import { relate, relationCache, relations } from "./relations";
import { state } from "./state";
import { idle } from "./steps";
import { linesOf, textOf } from "./texts";
import type { Place, Relations, Text, View } from "./types";
import { spans } from "./words";

interface OtherPlace extends Place {
  group: number;
  heads: boolean;
}
export interface Pane {
  view: View;
  text: Text;
  label: string;
  element: HTMLElement;
  box?: HTMLElement;
  first: number;
  lines: string[];
  marks: Map<number, string>;
  byGroup: Map<number, number[]>;
  byNear: Map<number, number[]>;
  byName: Map<string, number[]>;
  cursor: number;
  related: boolean;
  count(): number;
  finish(): void;
  row(number: number): HTMLElement | null;
  place(number: number): OtherPlace | null;
  mark(number: number, style: string): void;
  relate(related: Relations): void;
  /** Brings the first kernel or operation into view. */
  begin(): void;
  /** Brings a line into view. */
  reveal(number: number): void;
}

// A text is cut into parts of so many lines. What is seen is built at once, the rest when nothing else is to be done or when it is needed.
export const LONGEST = 4000,
  PART = 100,
  SEEN = 50;

// Where the parts of a text of so many lines begin: the first one holds no more than a pane shows.
export function partsOf(count: number): number[] {
  const begins: number[] = [];
  for (let at = 0; at < count; at += at ? PART : SEEN) begins.push(at);
  return begins;
}

// The kind of string that is open where a part begins, found as far as it is asked for.
export function openStrings(
  lines: string[],
  begins: number[],
  isKernel: boolean,
  wrapper: boolean,
): (part: number) => Highlighting {
  const starts: Highlighting[] = [];
  let quote = "",
    inside: Highlighting["inside"],
    number = 0;
  return (part: number) => {
    for (; starts.length <= part; number++) {
      if (number === begins[starts.length]) starts.push({ quote, inside });
      const line = lines[number];
      for (let at = 0; at >= 0; ) {
        const found = quote
          ? line.indexOf(quote, at)
          : Math.min(
              ...['"""', "'''"]
                .map((one) => line.indexOf(one, at))
                .map((one) => (one < 0 ? Infinity : one)),
            );
        if (found < 0 || found === Infinity) break;
        if (quote) quote = "";
        else {
          quote = line.slice(found, found + 3);
          inside = programIn(line, isKernel, wrapper);
        }
        at = found + 3;
      }
    }
    return starts[part];
  };
}

/** How far a line stands below the upper edge of its pane. */
function below(element: HTMLElement, line: HTMLElement): number {
  return line.getBoundingClientRect().top - element.getBoundingClientRect().top;
}
// What the reader does ends a scroll that waits for heights.
const READER = ["wheel", "pointerdown", "keydown", "touchstart"];
const settled = new WeakMap<HTMLElement, () => void>();

/**
 * Scrolls a pane so that a line stands at this share of its height, and keeps it there until the
 * reader does something: parts get their heights when they are first painted, which can be late.
 */
export function scrollTo(element: HTMLElement, line: HTMLElement, share: number): void {
  settled.get(element)?.();
  const move = () => {
    if (!line.isConnected) stop();
    else element.scrollTop += below(element, line) - share * element.clientHeight;
  };
  const sizes = new ResizeObserver(move);
  const stop = () => {
    sizes.disconnect();
    settled.delete(element);
    for (const event of READER) removeEventListener(event, stop, true);
  };
  settled.set(element, stop);
  for (const event of READER) addEventListener(event, stop, { capture: true, passive: true });
  sizes.observe(element);
  for (const part of element.children) sizes.observe(part, { box: "border-box" });
  move();
}

export function codePane(view: View, text: Text, label: string): Pane {
  const lines = linesOf(text.text),
    own = text.text ?? -1;
  let groups = new Map<number, Set<number>>(),
    near = new Map<number, Set<number>>(),
    names = new Map<number, Set<string>>();
  let others: OtherPlace[] = []; // others: lines of other functions, numbered behind those of the text
  const isSource = text.role === "source",
    isKernel = text.kind === "kernel";
  const first = firstOf(view, text);
  const links = new Map(view.calls);
  const element = make("div", {
    class: "code" + (stored<boolean>("wrap", true) ? "" : " nowrap"),
    tabindex: "0",
    role: "region",
    "aria-label": label + ", " + lines.length + " lines; arrow keys walk the lines",
  });
  const wrapper = isKernel && lines.slice(0, 20).some((line) => /^cpp_wrapper_src = /.test(line));
  const wholeCpp = isKernel && !/^(import|from|# AOT|\w+ = )/m.test(lines.slice(0, 40).join("\n"));
  const begins = partsOf(lines.length),
    startOf = openStrings(lines, begins, isKernel, wrapper);
  const rows: HTMLElement[] = new Array(lines.length),
    parts: HTMLElement[] = [];
  const marks = new Map<number, string>(),
    byGroup = new Map<number, number[]>(),
    byNear = new Map<number, number[]>(),
    byName = new Map<string, number[]>();
  const breaks = isSource ? view.breaks : [];
  const count = () => lines.length + others.length;
  function row(number: number, from: Highlighting): HTMLElement {
    const line = lines[number];
    const shown = line.length > LONGEST ? line.slice(0, LONGEST) : line;
    const body = make("span");
    paint(body, shown, text.kind, from, text.role === "code" ? links : null);
    if (shown !== line)
      body.append(
        make(
          "button",
          {
            type: "button",
            class: "cutoff",
            onclick: (event: MouseEvent) => {
              event.stopPropagation();
              (event.target as HTMLElement).replaceWith(line.slice(LONGEST));
            },
          },
          "… " + (line.length - LONGEST).toLocaleString("en") + " more characters",
        ),
      );
    const found = make(
      "div",
      { class: /\S{30}/.test(shown) ? "ln long" : "ln" },
      make("i", { "aria-hidden": "true" }, String(first + number)),
      body,
    );
    for (const item of breaks)
      if (item.line === first + number && item.file === view.file) {
        found.firstChild?.replaceWith(
          make(
            "i",
            { title: item.why },
            make("span", { class: "cut", "aria-hidden": "true" }, "✂ "),
            String(first + number),
          ),
        );
        body.append(
          make(
            "a",
            { class: "scissors", href: "#compile/" + view.key + "/why", title: item.why },
            "✂ graph break: " + item.what,
          ),
        );
      }
    return found;
  }
  function otherRow(place: OtherPlace): HTMLElement {
    const body = make("span");
    paint(body, place.code, "python", { quote: "" }, null);
    return make(
      "div",
      { class: "ln" },
      make("i", { "aria-hidden": "true" }, String(place.line)),
      body,
    );
  }
  function tie(found: HTMLElement, number: number): void {
    const set = groups.get(number),
      tokens = names.get(number);
    if (!set && !tokens && !near.has(number)) return;
    found.dataset.g = set ? [...set].join(" ") : "";
    if (tokens) found.dataset.n = [...tokens].join(" ");
  }
  function build(at: number): void {
    if (parts[at].firstChild) return;
    const mine = begins[at] < lines.length,
      end = at + 1 < begins.length ? begins[at + 1] : count(),
      inside = document.createDocumentFragment();
    const from: Highlighting = mine ? { ...startOf(at), wrapper, wholeCpp } : { quote: "" };
    for (let number = begins[at]; number < end; number++) {
      const place = mine ? null : others[number - lines.length];
      if (place?.heads)
        inside.append(
          make(
            "div",
            { class: "ln head" },
            make("i"),
            make("span", { title: place.file }, "in " + place.file),
          ),
        );
      const found = place ? otherRow(place) : row(number, from);
      found.dataset.l = String(number);
      rows[number] = found;
      tie(found, number);
      const style = marks.get(number);
      if (style) found.classList.add(style);
      inside.append(found);
    }
    parts[at].append(inside);
  }
  // gives parts of the text, or of the lines behind it, their places in the pane
  function lay(from: number): void {
    for (let at = from; at < begins.length; at++) {
      const part = make("div", { class: "part" }),
        end = at + 1 < begins.length ? begins[at + 1] : count();
      part.style.containIntrinsicHeight = "auto " + (end - begins[at]) * 18.75 + "px";
      parts.push(part);
    }
    element.append(...parts.slice(from));
  }
  let built = 1,
    waiting = false;
  const later = () => {
    if (waiting || built >= parts.length) return;
    waiting = true;
    idle(() => {
      waiting = false;
      if (element.isConnected) {
        build(built++);
        later();
      }
    });
  };
  const pane: Pane = {
    view,
    text,
    label,
    element,
    first,
    lines,
    marks,
    byGroup,
    byNear,
    byName,
    count,
    cursor: -1,
    related: false,
    finish: () => parts.forEach((_part, at) => build(at)),
    row(number: number) {
      if (number >= 0 && number < count()) build(begins.findLastIndex((begin) => begin <= number));
      return rows[number] || null;
    },
    place: (number: number) => (number < lines.length ? null : others[number - lines.length]),
    begin() {
      const at = beginning(text.kind, lines),
        found = at ? pane.row(at) : null;
      if (found && below(element, found) > element.clientHeight / 3) scrollTo(element, found, 0);
    },
    reveal(number: number) {
      const found = pane.row(number),
        y = found ? below(element, found) : 0;
      if (found && (y < 0 || y > element.clientHeight - 40)) scrollTo(element, found, 1 / 3);
    },
    mark(number: number, style: string) {
      if (marks.has(number)) return;
      marks.set(number, style);
      if (rows[number]) rows[number].classList.add(style);
    },
    relate(related: Relations) {
      pane.related = true;
      groups = related.of.get(own) ?? groups;
      near = related.near.get(own) ?? near;
      names = related.names.get(own) ?? names;
      if (isSource) others = elsewhere(view, related);
      if (others.length)
        groups = new Map([
          ...groups,
          ...others.map((place, index): [number, Set<number>] => [
            lines.length + index,
            new Set([place.group]),
          ]),
        ]);
      invert(groups, byGroup);
      invert(near, byNear);
      invert(names, byName);
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
  element.addEventListener("mouseover", (event) => {
    if (!state.pinned) light(pane, lineOf(event));
  });
  element.addEventListener("mouseleave", () => {
    if (!state.pinned) light(null, null);
  });
  element.addEventListener("click", (event) => {
    if ((event.target as Element).closest("a, button") || String(getSelection())) return;
    pin(pane, lineOf(event));
  });
  element.addEventListener("keydown", (event) => walk(pane, event));
  return pane;
}

// Lines of other functions that the graph was made of, by file: they stand below the source.
function lineOf(event: Event): HTMLElement | null {
  return (event.target as Element).closest<HTMLElement>(".ln");
}
function invert<T>(table: Map<number, Set<T>>, back: Map<T, number[]>): void {
  for (const [number, found] of table)
    for (const one of found) {
      const numbers = back.get(one);
      if (numbers) numbers.push(number);
      else back.set(one, [number]);
    }
}
export function elsewhere(view: View, related: Relations): OtherPlace[] {
  const own = view.first
    ? linesOf(view.texts.find((text) => text.role === "source")?.text ?? null).length
    : 0;
  const others = related.places
    .map((place, group) => ({ ...place, group, heads: false }))
    .filter(
      (place) =>
        place.code &&
        !(
          place.file === view.file &&
          view.first &&
          place.line >= view.first &&
          place.line < view.first + own
        ),
    );
  others.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  others.forEach((place, index) => {
    place.heads = !index || place.file !== others[index - 1].file;
  });
  return others;
}

// Calls back when it is known which lines of a compile belong together: at once, or, where its texts are large, after they are shown.
export const SLOW = 400000;
export function whenRelated(view: View, done: () => void): void {
  whenKnown(
    view,
    () => state.panes.some((pane) => pane.view === view),
    () => {
      for (const pane of state.panes)
        if (pane.view === view && !pane.related) pane.relate(relations(view));
      done();
    },
  );
}
/** The same for what is no pane: works for as long as something wants to know. */
export function whenKnown(view: View, wanted: () => boolean, done: () => void): void {
  const work = () => {
    if (wanted()) done();
  };
  const size = view.texts.reduce(
    (sum, text) =>
      sum + (text.kind === "graph" || text.kind === "kernel" ? textOf(text.text).length : 0),
    0,
  );
  if (relationCache.has(view.key) || size < SLOW) {
    work();
    return;
  }
  const steps = relate(view);
  const slice = () => {
    if (relationCache.has(view.key) || !wanted()) {
      work();
      return;
    }
    for (const end = performance.now() + 8; performance.now() < end; ) {
      const step = steps.next();
      if (step.done) {
        relationCache.set(view.key, step.value);
        idle(work);
        return;
      }
    }
    idle(slice);
  };
  idle(slice);
}

export function groupsOf(line: HTMLElement): number[] {
  return line.dataset.g ? line.dataset.g.split(" ").map(Number) : [];
}
/** What a line belongs to: source lines, and nodes where they are known. */
interface Tie {
  groups: number[];
  names: string[];
}
// Lines of a text that belong to what another line belongs to. A node lights the nodes that it became; where that is
// not known, what belongs to the same source line is only near.
function tied(
  tie: Tie,
  byName: Map<string, number[]>,
  byGroup: Map<number, number[]>,
): { exact: number[]; style: "lit" | "near"; same: number[] } {
  const rows = (wanted: string[]) => wanted.flatMap((name) => byName.get(name) || []);
  let exact = rows(tie.names.filter((name) => !name.startsWith("c:")));
  if (!exact.length) exact = rows(tie.names.filter((name) => name.startsWith("c:")));
  return {
    exact,
    style: exact.length || (tie.names.length && byName.size) ? "near" : "lit",
    same: tie.groups.flatMap((group) => byGroup.get(group) || []),
  };
}
const tieOf = (line: HTMLElement): Tie => ({
  groups: groupsOf(line),
  names: line.dataset.n ? line.dataset.n.split(" ") : [],
});
export function light(pane: Pane | null, line: HTMLElement | null): void {
  for (const one of document.querySelectorAll(".ln.lit, .ln.near, .ln.pin, .gn.lit"))
    one.classList.remove("lit", "near", "pin");
  for (const one of state.panes) one.marks.clear();
  if (!pane || !line || line.dataset.g === undefined) return;
  const tie = tieOf(line),
    number = Number(line.dataset.l);
  pane.mark(number, "lit");
  for (const other of state.panes) {
    const { exact, style, same } = tied(tie, other.byName, other.byGroup);
    for (const found of exact) other.mark(found, "lit");
    for (const found of same) other.mark(found, style);
    for (const group of tie.groups)
      for (const found of other.byNear.get(group) || []) other.mark(found, "near");
    if (!tie.groups.length)
      for (const [group, found] of pane.byNear)
        if (found.includes(number)) {
          for (const one of other.byGroup.get(group) || []) other.mark(one, "near");
        }
  }
  line.classList.add("lit");
}
/** Lines of a pane that are lit, or near where none is. */
function shown(pane: Pane): number[] {
  const marked = (name: string) =>
    [...pane.marks]
      .filter((one) => one[1] === name)
      .map((one) => one[0])
      .sort((a, b) => a - b);
  const lit = marked("lit");
  return lit.length ? lit : marked("near");
}
/** Lines that a text which no pane shows would light. */
function hidden(view: View, text: Text, tie: Tie): number[] {
  if (text.text === null) return [];
  const known = relations(view),
    byName = new Map<string, number[]>(),
    byGroup = new Map<number, number[]>();
  invert(known.names.get(text.text) ?? new Map<number, Set<string>>(), byName);
  invert(known.of.get(text.text) ?? new Map<number, Set<number>>(), byGroup);
  const { exact, same } = tied(tie, byName, byGroup);
  return [...new Set(exact.length ? exact : same)].sort((a, b) => a - b);
}
/** Texts of a compile that no pane shows and that have lines for this one, those that explain most first. */
const EXPLAINS = ["source", "Captured_Graph", "kernel", "AFTER_POST_GRAD", "Forward_graph", "code"];
function closed(view: View, tie: Tie): { text: Text; lines: number[] }[] {
  const rank = (text: Text) => {
    const at = EXPLAINS.indexOf(text.role);
    return at < 0 ? EXPLAINS.length : at;
  };
  const open = new Set(state.panes.map((one) => one.text.text));
  return view.texts
    .filter((text) => !open.has(text.text))
    .map((text) => ({ text, lines: hidden(view, text, tie) }))
    .filter((one) => one.lines.length)
    .sort((a, b) => rank(a.text) - rank(b.text));
}
/** Links to what a line of a text that is in no pane belongs to, those that explain most first. */
export function linksOf(view: View, text: Text, line: number): HTMLElement[] {
  const known = relations(view),
    own = text.text ?? -1;
  const tie = {
    groups: [...(known.of.get(own)?.get(line) ?? [])],
    names: [...(known.names.get(own)?.get(line) ?? [])],
  };
  return closed(view, tie)
    .filter((one) => one.text.text !== text.text)
    .slice(0, 5)
    .map((one) => {
      const lines = one.lines.map((number) => firstOf(view, one.text) + number);
      const href = "#compile/" + view.key + "/code/" + one.text.role + "/L" + lines[0];
      return make("a", { href }, one.text.title + " " + lineWords(lines));
    });
}
const firstOf = (view: View, text: Text) => (text.role === "source" && view.first) || 1;
const lineWords = (numbers: number[]) =>
  "line" + (numbers.length > 1 ? "s " : " ") + spans(numbers);

export function pin(pane: Pane, line: HTMLElement | null): void {
  const again = state.pinned !== null && state.pinned === line;
  free();
  if (!line || again) return;
  if (line.dataset.g === undefined) {
    unconnected(pane, line);
    return;
  }
  const tie = tieOf(line);
  light(pane, line);
  const others = closed(pane.view, tie);
  // where no open text has anything to show, the one that explains most is opened beside this one
  if (!state.panes.some((one) => one !== pane && shown(one).length) && others.length) {
    state.open(others.shift()?.text ?? pane.text, pane);
    light(pane, line);
    pane.reveal(Number(line.dataset.l)); // panes are narrower now
  }
  state.pinned = line;
  line.classList.add("pin");
  const told: string[] = [],
    links: HTMLElement[] = [];
  for (const other of state.panes) {
    const lit = shown(other);
    if (other === pane || !lit.length) continue;
    other.reveal(lit[0]);
    const own = lit.filter((number) => !other.place(number)),
      away = lit.flatMap((number) => other.place(number) ?? []).slice(0, 8);
    const words: string[] = [];
    if (own.length)
      words.push(other.label + " " + lineWords(own.map((number) => other.first + number)));
    for (const place of away) words.push(place.file.split("/").pop() + " line " + place.line);
    told.push(...words);
    links.push(
      make(
        "button",
        {
          type: "button",
          onclick: () => {
            other.reveal(lit[0]);
            other.box?.scrollIntoView({ block: "nearest" });
          },
        },
        words.join(", "),
      ),
    );
  }
  for (const { text, lines } of others.slice(0, 4))
    links.push(
      make(
        "button",
        {
          type: "button",
          class: "closed",
          title: "open " + text.title,
          onclick: () => {
            state.open(text, pane);
            state.pinned = null;
            pin(pane, line);
          },
        },
        text.title + " " + lineWords(lines.map((number) => firstOf(pane.view, text) + number)),
      ),
    );
  // a kernel's definition and its calls are far from each other
  const away = apart(pane, Number(line.dataset.l));
  if (away.length)
    links.push(
      make(
        "button",
        { type: "button", onclick: () => pane.reveal(away[0]) },
        "here " + lineWords(away.map((number) => pane.first + number)),
      ),
    );
  say(told.length ? "belongs to " + told.join("; ") : "no related line in the other panes");
  state.belongs(links, links.length ? "belongs to " : "no related line");
}
/** Lit lines of a pane that are in another place than the lit ones around this line. */
function apart(pane: Pane, number: number): number[] {
  let from = number,
    to = number;
  while (pane.marks.get(from - 1) === "lit") from--;
  while (pane.marks.get(to + 1) === "lit") to++;
  return [...pane.marks]
    .flatMap(([at, style]) => (style === "lit" && (at < from || at > to) ? at : []))
    .sort((a, b) => a - b);
}
/** Says of a line that was clicked that nothing is known to belong to it. */
function unconnected(pane: Pane, line: HTMLElement): void {
  const number = Number(line.dataset.l);
  if (!/\S/.test(pane.lines[number] ?? "")) return;
  const words = pane.related
    ? "Nothing is known to belong to " + pane.label + " line " + (pane.first + number)
    : "The relations between lines are still being computed";
  say(words);
  state.belongs([], words);
}
export function free(): void {
  state.pinned = null;
  state.belongs([], "");
  light(null, null);
}
export function walk(pane: Pane, event: KeyboardEvent): void {
  if (event.target !== pane.element || event.ctrlKey || event.metaKey || event.altKey) return; // links and buttons in the text have keys of their own
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: 20,
    PageUp: -20,
    Home: -Infinity,
    End: Infinity,
  };
  const step = steps[event.key];
  if (event.key === "Enter") {
    pin(pane, pane.row(pane.cursor));
    event.preventDefault();
    return;
  }
  if (!step) return;
  event.preventDefault();
  const old = pane.row(pane.cursor);
  if (old) old.classList.remove("cursor");
  pane.cursor = Math.max(0, Math.min(pane.count() - 1, pane.cursor + step));
  const line = pane.row(pane.cursor);
  if (!line) return;
  line.classList.add("cursor");
  line.scrollIntoView({ block: "nearest" });
  if (!state.pinned) {
    light(pane, line);
    say(
      "line " +
        (line.firstChild?.textContent ?? "").replace("✂ ", "") +
        ": " +
        (line.lastChild?.textContent ?? "").slice(0, 200),
    );
  }
}
