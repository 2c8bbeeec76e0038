// Search in names, reasons, texts and guards.
import { byId, make } from "./dom";
import { state } from "./state";
import { articles, data, ownTexts, textOf, told } from "./texts";
import { finder } from "./words";

export function showSearch(query: string): void {
  const mine = ++state.searching,
    box = byId("view");
  const list = make("ul", { class: "results" }),
    status = make("p", { class: "dim", role: "status" }, "searching…");
  box.replaceChildren(
    make(
      "div",
      { class: "head" },
      make("h2", { id: "view-title", tabindex: "-1" }, "Search: ", make("code", {}, query)),
    ),
    status,
    list,
  );
  box.hidden = false;
  byId("overview").hidden = true;
  state.panes = [];
  document.title = "Search · depyf";
  let found = 0,
    capped = false;
  if (!query.trim()) {
    status.textContent = "No matches"; // each text holds an empty word
    return;
  }
  const find = finder(query);
  const add = (link: string, title: string, place: string, line: string) => {
    const hit = find(line);
    if (!hit) return;
    if (found++ >= 300) {
      capped = true;
      return;
    }
    const from = Math.max(0, hit.at - 60);
    const end = hit.at + hit.length;
    const code = make(
      "code",
      {},
      from ? "…" : "",
      line.slice(from, hit.at),
      make("mark", {}, line.slice(hit.at, end)),
      line.slice(end, end + 140),
    );
    list.append(
      make(
        "li",
        {},
        make("a", { href: link }, title),
        " ",
        make("span", { class: "dim" }, place),
        code,
      ),
    );
  };
  const work: (() => void)[] = [];
  for (const [key, article] of articles)
    work.push(() => {
      const name = article.dataset.name + " " + article.dataset.place + " " + key;
      add("#compile/" + key, article.dataset.name + " " + key, "compile", name);
      for (const reason of told(article).querySelectorAll(".reason")) {
        const text = (reason.textContent ?? "").replace(/\s+/g, " ");
        add("#compile/" + key + "/why", article.dataset.name + " " + key, "why", text);
      }
      for (const own of ownTexts(article)) {
        const text = textOf(own);
        if (!find(text)) continue;
        const view = data(key),
          meta = view.texts.find((one) => one.text === own);
        let number = 0,
          here = 0;
        const guards = new Set<string>(); // many are made by one line of the program
        for (const line of text.split("\n")) {
          number++;
          if (!find(line)) continue;
          if (++here > 20) {
            capped = true;
            break;
          }
          const shownLine =
            meta && meta.role === "source" && view.first ? view.first + number - 1 : number;
          if (meta)
            add(
              "#compile/" + key + "/code/" + meta.role + "/L" + shownLine,
              article.dataset.name + " " + key,
              meta.title + ", line " + shownLine,
              line,
            );
          else {
            // the expression, or that of the guard's fields which holds the text
            const shown =
              [2, 1, 0, 3, 4].map((at) => line.split("\t")[at] ?? "").find(find) ?? line;
            if (guards.has(shown)) {
              here--;
              continue;
            }
            guards.add(shown);
            add("#compile/" + key + "/guards", article.dataset.name + " " + key, "guard", shown);
          }
        }
      }
    });
  const step = () => {
    if (mine !== state.searching) return;
    const end = performance.now() + 15;
    while (work.length && performance.now() < end && found < 300) work.shift()?.();
    if (work.length && found < 300) {
      setTimeout(step, 0);
      return;
    }
    status.textContent = found
      ? Math.min(found, 300) +
        (found === 1 ? " place" : " places") +
        (capped ? ", and more; a longer word finds fewer" : "")
      : "No matches";
  };
  setTimeout(step, 0);
}
