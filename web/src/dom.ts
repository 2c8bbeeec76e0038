// Elements, what the browser stores, and what is said to a screen reader.

export type Child = Node | string | null | undefined | Child[];
// biome-ignore lint/suspicious/noExplicitAny: listeners take the event that they are registered for
export type Attributes = Record<string, any> | null;

/** The element of an id that the page's template has. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  return fill(node, attributes, children);
}
export function draw<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes?: Attributes,
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill<E extends Element>(
  node: E,
  attributes: Attributes | undefined,
  children: Child[],
): E {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value as EventListener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(9) as (Node | string | null | undefined)[])
    if (child !== null && child !== undefined) node.append(child);
  return node;
}
export function stored<T>(name: string, fallback: T): T {
  try {
    const found = localStorage.getItem("depyf." + name);
    return found === null ? fallback : JSON.parse(found);
  } catch {
    return fallback;
  }
}
export function store(name: string, value: unknown): void {
  try {
    localStorage.setItem("depyf." + name, JSON.stringify(value));
  } catch {
    /* private mode */
  }
}
export function say(text: string): void {
  byId("say").textContent = text;
}
export function copyButton(text: string | (() => string), label: string): HTMLButtonElement {
  return make(
    "button",
    {
      type: "button",
      title: label,
      "aria-label": label,
      onclick: (event: MouseEvent) => {
        const button = event.target as HTMLElement,
          value = typeof text === "function" ? text() : text;
        const done = () => {
          button.textContent = "copied";
          say("copied");
          setTimeout(() => {
            button.textContent = "copy";
          }, 1200);
        };
        const byHand = () => {
          const area = make("textarea");
          area.value = value;
          document.body.append(area);
          area.select();
          try {
            document.execCommand("copy");
            done();
          } finally {
            area.remove();
          }
        };
        if (navigator.clipboard && window.isSecureContext)
          navigator.clipboard.writeText(value).then(done, byHand);
        else byHand();
      },
    },
    "copy",
  );
}
// One of many shapes can be reached with Tab; the arrow keys lead from it to the others, Enter and Space press it.
export function rove(svg: SVGElement, selector: string): void {
  const all = [...svg.querySelectorAll<SVGElement>(selector)];
  all.forEach((one, index) => one.setAttribute("tabindex", index ? "-1" : "0"));
  svg.addEventListener("keydown", (event) => {
    const at = all.indexOf(document.activeElement as unknown as SVGElement);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      all[at].dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return;
    }
    const steps: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: all.length - 1,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (!all[next]) return;
    all[at].setAttribute("tabindex", "-1");
    all[next].setAttribute("tabindex", "0");
    all[next].focus({ preventScroll: true });
  });
}
