// The page's behaviour. Texts stay in the page as text and only ever become text nodes; nothing is loaded from anywhere.
import { showCompile } from "./compile";
import { byId, make, store, stored } from "./dom";
import { free } from "./panes";
import { showSearch } from "./search";
import { state } from "./state";
import { idle } from "./steps";
import { articles, shelve } from "./texts";

const root = document.documentElement;
root.classList.add("js");

// ---- light and dark ----

const theme = stored("theme", "");
if (theme) root.classList.add(theme);
function switchTheme() {
  const dark =
    root.classList.contains("dark") ||
    (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.remove("dark", "light");
  root.classList.add(dark ? "light" : "dark");
  store("theme", dark ? "light" : "dark");
}

// ---- routes ----

function showOverview() {
  state.searching++;
  state.panes = [];
  state.pinned = null;
  byId("view").hidden = true;
  byId("view").replaceChildren();
  byId("overview").hidden = false;
  document.title = title;
}
const title = document.title;
// The control that has the focus, so that the same one can have it after a view was built again.
function nameOf(control: Element | null): string {
  if (!control) return "";
  return (
    control.id ||
    control.tagName + "|" + (control.getAttribute("aria-label") || control.textContent)
  );
}
function route() {
  const active = document.activeElement,
    name = byId("view").contains(active) ? nameOf(active) : "";
  show();
  if (document.activeElement === active && active !== document.body && !active?.closest("[hidden]"))
    return;
  const again =
    name &&
    [...byId("view").querySelectorAll<HTMLElement>("a, button, select, input, [tabindex]")].find(
      (one) => nameOf(one) === name,
    );
  const target = again || byId("view-title") || byId("content");
  target.focus({ preventScroll: true });
}
/** Panes and pictures end where the window ends, however high what stands above them is. */
function fitToWindow() {
  const [first] = byId("view").querySelectorAll(".panes, .picture");
  const above = first ? Math.round(first.getBoundingClientRect().top + scrollY) : 0;
  if (above) root.style.setProperty("--above", above + "px");
  root.classList.toggle("filled", above > 0);
}
function show() {
  showView();
  fitToWindow();
}
function showView() {
  state.unfold = null;
  let parts: string[];
  try {
    parts = decodeURIComponent(location.hash.slice(1)).split("/");
  } catch {
    parts = location.hash.slice(1).split("/");
  }
  state.searching++;
  if (parts[0] === "search" && parts.length > 1) {
    showSearch(parts.slice(1).join("/"));
    return;
  }
  if (parts[0] === "compile") {
    for (let stop = parts.length; stop > 1; stop--) {
      const key = parts.slice(1, stop).join("/");
      if (articles.has(key)) {
        showCompile(key, parts[stop] || "code", parts.slice(stop + 1));
        return;
      }
    }
    byId("view").replaceChildren(
      make(
        "p",
        { id: "view-title", tabindex: "-1" },
        "This report has no compile " + parts.slice(1).join("/") + ". ",
        make("a", { href: "#" }, "Overview"),
      ),
    );
    byId("view").hidden = false;
    byId("overview").hidden = true;
    return;
  }
  showOverview();
}

function ready() {
  shelve(byId("compiles"));
  root.dataset.ready = "true";
  if (location.hash.length > 1) show();
}
addEventListener("resize", fitToWindow);
addEventListener("pointerdown", () => root.classList.remove("keyed"));
addEventListener("hashchange", () => {
  scrollTo(0, 0);
  route();
});
addEventListener("keydown", (event) => {
  if (!event.altKey && !event.ctrlKey && !event.metaKey) root.classList.add("keyed");
  if (
    event.key === "/" &&
    !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")
  ) {
    byId("search").focus();
    event.preventDefault();
  }
  if (event.key === "Escape") {
    if (document.activeElement === byId("search")) byId("search").blur();
    free();
    for (const card of document.querySelectorAll("#panel .card"))
      card.dispatchEvent(new Event("reset"));
  }
});
// A browser leaves what it sees a part of where it is: a link at the edge of a wide table would have half a frame.
addEventListener("focusin", (event) => {
  const one = event.target as Element;
  if (one.matches(":focus-visible") && one.closest(".scroll"))
    one.scrollIntoView({ block: "nearest", inline: "nearest" });
});
// On paper nothing can be opened or scrolled: all of the view is built and unfolded before it is printed.
let folded: HTMLDetailsElement[] = [];
addEventListener("beforeprint", () => {
  state.unfold?.();
  for (const pane of state.panes) pane.finish();
  folded = [...document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")];
  for (const one of folded) one.open = true;
  const fit = byId("fit");
  if (fit) fit.click();
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
  folded = [];
});
byId("theme").addEventListener("click", switchTheme);
let typing: ReturnType<typeof setTimeout> | undefined;
const search = byId<HTMLInputElement>("search");
search.addEventListener("input", () => {
  clearTimeout(typing);
  const query = search.value.trim();
  // what is typed further takes the place of the search before it: Back leads to where it was begun
  typing = setTimeout(
    () =>
      location[location.hash.startsWith("#search/") ? "replace" : "assign"](
        query.length > 1 ? "#search/" + encodeURIComponent(query) : "#",
      ),
    180,
  );
});
for (const button of document.querySelectorAll("button[data-shows]"))
  button.addEventListener("click", () => {
    const hidden = [...(button.parentElement?.querySelectorAll("[data-more]") ?? [])],
      next = hidden[0]?.querySelector("a");
    const more = () => {
      for (const one of hidden.splice(0, 150)) one.removeAttribute("data-more");
      if (hidden.length) idle(more);
    };
    more();
    button.remove();
    if (next) next.focus();
  });
// the pictures of the flow whose functions or files hold the text
const flowFilter = document.getElementById("flow-filter") as HTMLInputElement | null;
flowFilter?.addEventListener("input", () => {
  const wanted = flowFilter.value.trim().toLowerCase();
  let found = 0;
  for (const group of document.querySelectorAll<HTMLElement>(".flow-group")) {
    group.hidden = !(group.textContent ?? "").toLowerCase().includes(wanted);
    if (group.hidden) continue;
    found++;
    if (wanted) group.removeAttribute("data-more");
  }
  byId("flow-count").textContent = found ? "" : "No matches";
});
// a picture that goes on below the edge of its box fades there, and a line says so
for (const box of document.querySelectorAll<HTMLElement>(".flow-box")) {
  const mark = () => {
    box.classList.toggle("cut", box.scrollHeight - box.clientHeight - box.scrollTop > 8);
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
}
state.route = route;
state.fit = fitToWindow;
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
else ready();
