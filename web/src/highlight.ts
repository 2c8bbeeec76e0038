// Highlighting by Prism, a line at a time: a long text is built in parts, as they are seen.
import type { Grammar, Token } from "prismjs";
import { make } from "./dom";
import { Prism } from "./prism";

/** What is open at the end of a line. */
export interface Highlighting {
  quote: string;
  /** The language of the string that is open, where it is a program. */
  inside?: "cpp" | "python";
  wrapper?: boolean;
  wholeCpp?: boolean;
}
type Links = Map<string, string> | null;

const { languages } = Prism;
/** Types of graphs ("f32[2, 3]"), and strings that do not end on their line. */
languages.insertBefore("python", "string-interpolation", {
  shape: { pattern: /"[a-z]+\d+\w*\[[^"]*"/, greedy: true },
});
languages.insertBefore("python", "string", {
  open: { pattern: /(?:[rubft]{1,2})?(?:"""|''')[\s\S]*$/i, greedy: true },
});
const BYTECODE: Grammar = {
  comment: /^#.*/,
  string: /\(.*\)/,
  number: /\b\d+\b/,
  keyword: /[A-Z][A-Z_0-9]{2,}/,
};
const STYLES: Record<string, string> = {
  comment: "c",
  macro: "c",
  string: "s",
  open: "s",
  "triple-quoted-string": "s",
  "string-interpolation": "s",
  "raw-string": "s",
  char: "s",
  number: "n",
  keyword: "k",
  boolean: "k",
  "class-name": "d",
  shape: "t",
};

/** Appends a line to an element; `state` goes from line to line. */
export function paint(
  into: HTMLElement,
  text: string,
  kind: string,
  state: Highlighting,
  links: Links,
): void {
  if (kind === "bytecode") {
    append(into, Prism.tokenize(text, BYTECODE), "", null);
    return;
  }
  if (kind !== "python" && kind !== "graph" && kind !== "kernel") {
    into.append(text);
    return;
  }
  if (state.quote) {
    const end = text.indexOf(state.quote);
    const inside = end < 0 ? text : text.slice(0, end);
    if (state.inside)
      append(
        into,
        Prism.tokenize(inside, languages[state.inside]),
        "",
        null,
        state.inside === "python",
      );
    else if (inside) into.append(make("span", { class: "s" }, inside));
    if (end < 0) return;
    into.append(make("span", { class: "s" }, state.quote));
    text = text.slice(end + 3);
    state.quote = "";
  }
  const tokens = Prism.tokenize(text, state.wholeCpp ? languages.cpp : languages.python);
  for (const token of tokens)
    if (typeof token !== "string" && token.type === "open") {
      state.quote = /"""|'''/.exec(plain(token))?.[0] ?? "";
      state.inside = programIn(text, kind === "kernel", state.wrapper ?? false);
    }
  append(into, tokens, "", links, !state.wholeCpp);
}

/** The language of the string that generated code opens on a line, where it is a program: C++, or Triton, which is Python. */
export function programIn(
  line: string,
  isKernel: boolean,
  wrapper: boolean,
): Highlighting["inside"] {
  if (!isKernel) return undefined;
  if (wrapper || line.includes("cpp")) return "cpp";
  return /async_compile\.\w+\(/.test(line) ? "python" : undefined;
}

function plain(token: string | Token): string {
  if (typeof token === "string") return token;
  return Array.isArray(token.content) ? token.content.map(plain).join("") : plain(token.content);
}

/** Appends tokens; what has no style of its own has that of the token around it. */
function append(
  into: HTMLElement,
  tokens: (string | Token)[],
  style: string,
  links: Links,
  defines = false,
): void {
  for (const token of tokens) {
    if (typeof token === "string") {
      if (style) into.append(make("span", { class: style }, token));
      else if (links) linked(into, token, links);
      else into.append(token);
      continue;
    }
    // in Python only what `def` names is a function for Prism, in C++ everything that is called
    const own =
      token.type === "function" && defines
        ? "d"
        : token.type === "interpolation"
          ? ""
          : (STYLES[token.type] ?? style);
    const inside = Array.isArray(token.content) ? token.content : [token.content];
    append(into, inside, own, links, defines);
  }
}

function linked(into: HTMLElement, text: string, links: Map<string, string>): void {
  let at = 0;
  for (const { 0: name, index } of text.matchAll(/[A-Za-z_]\w*/g)) {
    const link = links.get(name);
    if (!link) continue;
    into.append(
      text.slice(at, index),
      make("a", { href: "#compile/" + link, title: "open " + link }, name),
    );
    at = index + name.length;
  }
  into.append(text.slice(at));
}
