// The view of one compile.
import { byId, copyButton, make, store, stored } from "./dom";
import { showFiles } from "./files";
import { showGuards } from "./guards";
import { codePane, free, type Pane, pin, scrollTo, whenRelated } from "./panes";
import { showGraph } from "./picture";
import { state } from "./state";
import { articles, data, readable, textOf, told } from "./texts";
import { showTime } from "./time";
import type { Text, View } from "./types";

export const TABS = [
  ["code", "Code"],
  ["why", "Why"],
  ["graph", "Graph"],
  ["guards", "Guards"],
  ["time", "Time"],
  ["run", "Run time"],
  ["bytecode", "Bytecode"],
  ["files", "Files"],
];

export function showCompile(key: string, tab: string, rest: string[]): void {
  const article = articles.get(key),
    view = data(key),
    box = byId("view");
  if (!article) return;
  const has: Record<string, unknown> = {
    why: article.querySelector(".reason"),
    graph: view.texts.some((text) => text.kind === "graph" && text.text !== null),
    guards: view.guards !== null,
    run: article.querySelector(".run-block"),
    time: view.phases.length || view.events.length,
    code: readable(view).length > 0,
    files: view.texts.length > 0,
    bytecode: view.texts.some((text) => text.kind === "bytecode"),
  };
  if (!has[tab]) tab = ["code", "why", "time"].find((one) => has[one]) || "code";
  if (
    view.texts.every(
      (text) => text.text === null || text.role === "before" || text.role === "after",
    ) &&
    tab === "code" &&
    has.why &&
    !rest.length
  )
    tab = "why";
  state.panes = [];
  state.pinned = null;
  state.open = () => {};
  state.belongs = () => {};
  const head = make(
    "div",
    { class: "head" },
    make(
      "h2",
      { id: "view-title", tabindex: "-1" },
      make("code", {}, view.name),
      " ",
      make("span", { class: "key" }, key),
    ),
    make(
      "span",
      { class: "dim" },
      view.file + ":" + view.line + (view.resumes ? ", resumed after line " + view.resumes : ""),
    ),
  );
  if (view.of > 1) {
    const select: HTMLSelectElement = make("select", {
      "aria-label": "entry of this function",
      onchange: () => {
        location.hash = "compile/" + select.value + "/" + tab;
      },
    });
    view.siblings.forEach((one, index) =>
      select.append(
        make(
          "option",
          { value: one, selected: one === key },
          "entry " + (index + 1) + " of " + view.of + "  " + one,
        ),
      ),
    );
    head.append(select);
  }
  for (const one of view.callers)
    head.append(make("a", { class: "chip", href: "#compile/" + one }, "← called from " + one));
  if (view.failure)
    head.append(
      make("a", { class: "chip bad", href: "#compile/" + key + "/why" }, "✕ " + view.failure),
    );
  if (view.reset) head.append(make("span", { class: "chip" }, view.reset));
  const verdict = article.querySelector(".verdict");
  if (verdict) {
    const chip = make("span", {
      class:
        "chip " +
        (verdict.classList.contains("good")
          ? "good"
          : verdict.classList.contains("bad")
            ? "bad"
            : ""),
    });
    chip.append(...[...verdict.childNodes].map((node) => node.cloneNode(true)));
    head.append(chip);
  }
  const bar = make("div", {
    class: "tabs",
    role: "tablist",
    "aria-label": "Views of this compile",
  });
  const counts: Record<string, number> = {
    guards: view.guard_count,
    why: article.querySelectorAll(".reason").length,
    files: view.texts.length,
  };
  for (const [name, label] of TABS)
    if (has[name])
      bar.append(
        make(
          "a",
          {
            role: "tab",
            id: "tab-" + name,
            href: "#compile/" + key + (name === "code" ? "" : "/" + name),
            "aria-selected": String(name === tab),
            tabindex: name === tab ? "0" : "-1",
            "aria-controls": "panel",
          },
          label,
          counts[name] ? make("sup", {}, String(counts[name])) : null,
        ),
      );
  bar.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const all = [...bar.querySelectorAll<HTMLElement>("[role=tab]")],
      at = all.indexOf(document.activeElement as HTMLElement);
    const next = all[(at + (event.key === "ArrowRight" ? 1 : all.length - 1)) % all.length];
    next.focus();
    location.hash = next.getAttribute("href") ?? "";
  });
  const panel = make("div", { id: "panel", role: "tabpanel", "aria-labelledby": "tab-" + tab });
  box.replaceChildren(head, bar, panel);
  box.hidden = false;
  byId("overview").hidden = true;
  document.title = view.name + " " + key + " · depyf";
  if (tab === "why") showBlock(panel, told(article).querySelector(".why-block"));
  else if (tab === "run") showBlock(panel, article.querySelector(".run-block"));
  else if (tab === "graph") showGraph(panel, view, rest);
  else if (tab === "guards") showGuards(panel, view);
  else if (tab === "time") showTime(panel, view);
  else if (tab === "bytecode") showBytecode(panel, view);
  else if (tab === "files") showFiles(panel, view, article);
  else showCode(panel, view, rest, bar);
}

export function showCode(panel: HTMLElement, view: View, rest: string[], bar: HTMLElement): void {
  const choices = readable(view);
  if (!choices.length) {
    panel.append(make("p", { class: "dim" }, "This compile has no text: see the other views."));
    return;
  }
  const wide = innerWidth;
  let picks: string[] =
    stored<string[] | null>("panes", null) ||
    (wide < 1150 ? ["source", "Captured_Graph"] : ["source", "code", "Captured_Graph"]);
  picks = picks.filter((role) => typeof role === "string").slice(0, 4);
  const wanted = rest[0] && choices.find((text) => text.role === rest[0]);
  if (wanted) {
    if (!picks.includes(wanted.role))
      picks = picks.slice(0, Math.max(0, picks.length - 1)).concat(wanted.role);
  }
  const real: (string | null)[] = picks.map((role) =>
    choices.some((text) => text.role === role) ? role : null,
  );
  const fallbacks = [
    "source",
    "code",
    "Captured_Graph",
    "Forward_graph",
    "AFTER_POST_GRAD",
    "kernel",
    "after",
    "before",
  ].concat(choices.map((text) => text.role));
  for (let at = 0; at < real.length; at++)
    if (!real[at])
      real[at] =
        fallbacks.find(
          (role) => !real.includes(role) && choices.some((text) => text.role === role),
        ) || null;
  const box = make("div", { class: "panes" });
  const current = real.filter((role) => role !== null);
  // what stands in for texts that are not there goes where it belongs: from source to kernel
  if (current.some((role, at) => role !== picks[at]))
    current.sort(
      (a, b) =>
        choices.findIndex((text) => text.role === a) - choices.findIndex((text) => text.role === b),
    );
  panel.append(box);
  if (view.warm)
    panel.append(
      make(
        "p",
        { class: "dim warm" },
        "torch took this compile from its " +
          view.warm +
          ", which does not record the relations between nodes. So lines are related here if their texts name the same source line, and all nodes of a line are marked. For relations between nodes, compile with ",
        make("code", {}, "caches=False"),
        ", or fill the caches with ",
        make("code", {}, "INDUCTOR_PROVENANCE=1"),
        " in the environment.",
      ),
    );
  const shows = (role: string) => {
    const made = paneBox(view, choices, role, (picked) => {
      current[boxes.indexOf(made)] = picked;
      store("panes", current);
      free();
    });
    return made;
  };
  const boxes = current.map(shows);
  box.append(...boxes);
  for (const pane of state.panes) pane.begin();
  const belongs = make("p", { class: "belongs", role: "group", "aria-label": "belongs to" });
  belongs.hidden = true;
  panel.append(belongs);
  state.belongs = (links, words) => {
    belongs.hidden = !words;
    belongs.replaceChildren(words, ...links);
  };
  // a text that is closed takes the place of another one only where there is no room beside it
  state.open = (text, beside) => {
    const opened = shows(text.role),
      at = boxes.findIndex((one) => one !== beside.box);
    if (boxes.length < (wide < 1150 ? 2 : 3)) {
      const place = (role: string) => choices.findIndex((one) => one.role === role);
      const behind = current.findIndex((role) => place(role) > place(text.role));
      const where = behind < 0 ? boxes.length : behind;
      box.insertBefore(opened, boxes[where] ?? null);
      boxes.splice(where, 0, opened);
      current.splice(where, 0, text.role);
    } else {
      state.panes = state.panes.filter((one) => one.box !== boxes[at]);
      boxes[at].replaceWith(opened);
      boxes[at] = opened;
      current[at] = text.role;
    }
    for (const button of tools.querySelectorAll<HTMLElement>("[data-count]"))
      button.setAttribute("aria-pressed", String(button.dataset.count === String(boxes.length)));
    whenRelated(view, () => {});
    state.panes.find((one) => one.box === opened)?.begin();
  };
  const tools = make("div", { class: "tools" }, "panes");
  for (const count of [1, 2, 3, 4])
    tools.append(
      make(
        "button",
        {
          type: "button",
          "data-count": count,
          "aria-pressed": String(count === current.length),
          "aria-label": count + (count === 1 ? " pane" : " panes"),
          onclick: () => {
            const next = current.slice(0, count);
            for (const role of fallbacks)
              if (
                next.length < count &&
                !next.includes(role) &&
                choices.some((text) => text.role === role)
              )
                next.push(role);
            store("panes", next);
            state.route();
          },
        },
        String(count),
      ),
    );
  tools.append(
    make(
      "button",
      {
        type: "button",
        "aria-pressed": String(stored("wrap", true)),
        onclick: () => {
          store("wrap", !stored("wrap", true));
          state.route();
        },
      },
      "wrap",
    ),
  );
  bar.append(tools);
  const pane =
    rest[1] && /^L\d+$/.test(rest[1])
      ? state.panes.find((one) => one.text.role === rest[0])
      : undefined;
  const line = pane && jump(pane, Number(rest[1].slice(1)) - pane.first);
  whenRelated(view, () => {
    if (pane && line && line.dataset.g !== undefined) pin(pane, line);
  });
}
export function jump(pane: Pane, number: number): HTMLElement | null {
  const line = pane.row(number);
  if (!line) return null;
  scrollTo(pane.element, line, 1 / 3);
  pane.box?.scrollIntoView({ block: "nearest" });
  pane.cursor = number;
  line.classList.add("cursor", "lit");
  return line;
}
export function paneBox(
  view: View,
  choices: Text[],
  role: string,
  picked: (role: string) => void,
): HTMLElement {
  const box = make("section", { class: "pane" });
  const build = (name: string) => {
    const text = choices.find((one) => one.role === name),
      old = state.panes.findIndex((one) => one.box === box);
    if (!text) return;
    const pane = codePane(view, text, text.title);
    pane.box = box;
    if (old >= 0) state.panes[old] = pane;
    else state.panes.push(pane);
    const select: HTMLSelectElement = make("select", {
      "aria-label": "What this pane shows",
      title: text.title,
      onchange: () => {
        picked(select.value);
        build(select.value);
      },
    });
    for (const one of choices)
      select.append(make("option", { value: one.role, selected: one.role === name }, one.title));
    const file = text.link
      ? make(
          "a",
          {
            class: "file",
            href: text.link,
            title: text.torch ? "torch runs " + text.torch : text.path,
          },
          // cut at its beginning, where paths are alike
          make("bdi", { dir: "ltr" }, text.path),
        )
      : make(
          "span",
          { class: "file", title: text.role === "source" ? view.file : "" },
          make("bdi", { dir: "ltr" }, text.role === "source" ? view.file.split("/").pop() : ""),
        );
    const path = text.role === "source" ? view.file : text.path;
    const top = make(
      "div",
      { class: "bar-top" },
      select,
      file,
      path ? make("span", { class: "hidden" }, path) : null,
      copyButton(() => textOf(text.text), "copy this text"),
    );
    box.replaceChildren(top, pane.element);
    box.setAttribute("aria-label", text.title);
    if (old >= 0) {
      pane.begin();
      whenRelated(view, () => {});
      select.focus();
    }
  };
  build(role);
  return box;
}
export function showBytecode(panel: HTMLElement, view: View): void {
  const choices = readable(view),
    box = make("div", { class: "panes" });
  panel.append(box);
  for (const role of ["before", "after"])
    if (choices.some((text) => text.role === role))
      box.append(paneBox(view, choices, role, () => {}));
  whenRelated(view, () => {});
}
/** A copy of what the page's template wrote. */
export function showBlock(panel: HTMLElement, block: Element | null): void {
  const card = make("div", { class: "card" });
  card.append(...[...(block?.childNodes ?? [])].map((node) => node.cloneNode(true)));
  panel.append(card);
}
