// The table of a compile's texts and files.
import { copyButton, make } from "./dom";
import { textOf } from "./texts";
import type { View } from "./types";

export function showFiles(panel: HTMLElement, view: View, article: HTMLElement): void {
  const body = make("tbody");
  const full = article.querySelector(".texts a.full");
  if (full)
    body.append(
      make(
        "tr",
        {},
        make("td", {}, "What happens at each call"),
        make("td", {}, make("a", { href: full.getAttribute("href") }, full.textContent)),
        make("td", { class: "num" }),
        make("td"),
      ),
    );
  for (const text of view.texts)
    body.append(
      make(
        "tr",
        {},
        make(
          "td",
          {},
          text.text === null
            ? text.title
            : make("a", { href: "#compile/" + view.key + "/code/" + text.role }, text.title),
        ),
        make(
          "td",
          {},
          text.link
            ? make("a", { href: text.link }, text.path)
            : make("span", { class: "dim" }, text.role === "source" ? view.file : "in this page"),
          text.torch
            ? make("div", { class: "dim" }, "torch runs ", make("code", {}, text.torch))
            : null,
        ),
        make(
          "td",
          { class: "num" },
          text.text === null ? "" : textOf(text.text).length.toLocaleString("en"),
        ),
        make(
          "td",
          {},
          text.text === null ? null : copyButton(() => textOf(text.text), "copy " + text.title),
        ),
      ),
    );
  panel.append(
    make(
      "div",
      { class: "card scroll" },
      make(
        "table",
        { class: "files" },
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            make("th", {}, "text"),
            make("th", {}, "file"),
            make("th", { class: "num" }, "characters"),
            make("th", {}),
          ),
        ),
        body,
      ),
    ),
  );
}
