// Search in names, reasons, texts and guards.
import { byId, make } from "./dom";
import { state } from "./state";
import { articles, data } from "./texts";

export function showSearch(query: string): void {
  const mine = ++state.searching,
    box = byId("view"),
    wanted = query.toLowerCase();
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
  const add = (link: string, title: string, place: string, line: string, at: number) => {
    if (found++ >= 300) {
      capped = true;
      return;
    }
    const from = Math.max(0, at - 60),
      piece = line.slice(from, at + wanted.length + 140);
    const code = make(
      "code",
      {},
      from ? "…" : "",
      line.slice(from, at),
      make("mark", {}, line.slice(at, at + wanted.length)),
      piece.slice(at - from + wanted.length),
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
  const seen = new Set<string>();
  for (const [key, article] of articles)
    work.push(() => {
      const name = article.dataset.name + " " + article.dataset.place + " " + key;
      const at = name.toLowerCase().indexOf(wanted);
      if (at >= 0) add("#compile/" + key, article.dataset.name + " " + key, "compile", name, at);
      for (const reason of article.querySelectorAll(".reason")) {
        const text = (reason.textContent ?? "").replace(/\s+/g, " "),
          where = text.toLowerCase().indexOf(wanted);
        if (where >= 0)
          add("#compile/" + key + "/why", article.dataset.name + " " + key, "why", text, where);
      }
      for (const pre of article.querySelectorAll(".texts pre")) {
        if (seen.has(pre.id)) continue;
        seen.add(pre.id);
        const text = pre.textContent ?? "";
        if (!text.toLowerCase().includes(wanted)) continue;
        const view = data(key),
          meta = view.texts.find((one) => "t" + one.text === pre.id);
        let number = 0,
          here = 0;
        for (const line of text.split("\n")) {
          number++;
          const at = line.toLowerCase().indexOf(wanted);
          if (at < 0) continue;
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
              at,
            );
          else
            add(
              "#compile/" + key + "/guards",
              article.dataset.name + " " + key,
              "guard",
              line.split("\t")[2] || line,
              Math.max(0, (line.split("\t")[2] || line).toLowerCase().indexOf(wanted)),
            );
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
      : "Nothing holds this text.";
  };
  setTimeout(step, 0);
}
