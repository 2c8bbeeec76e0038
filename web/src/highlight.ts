import { make } from "./dom";

/** What is open at the end of a line. */
export interface Highlighting {
  quote: string;
  cpp?: boolean;
  wrapper?: boolean;
  wholeCpp?: boolean;
}
type Links = Map<string, string> | null;

// ---- highlighting: enough of Python and C++ to read by, a line at a time ----

export const PYTHON_WORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case".split(
    " ",
  ),
);
export const CPP_WORDS = new Set(
  "auto bool break case char class const constexpr continue default delete do double else enum extern false float for if inline int int32_t int64_t long namespace new nullptr operator private public return short signed sizeof static static_cast struct switch template this true typedef typename unsigned using void volatile while uint8_t half bfloat16".split(
    " ",
  ),
);
export const PYTHON =
  /(#.*)|((?:\b[rRbBfFuUtT]{1,2})?(?:"""|'''))|((?:\b[rRbBfFuUtT]{1,2})?(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
export const CPP =
  /(\/\/.*|\/\*.*?(?:\*\/|$)|^\s*#\w+.*)|(\b\B)|("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
export const BYTECODE = /(^#.*)|(\b\B)|(\(.*\))|(\b\d+\b)|([A-Z][A-Z_0-9]{2,})/g;

export function paint(
  into: HTMLElement,
  text: string,
  kind: string,
  state: Highlighting,
  links: Links,
): void {
  const end = state.quote ? text.indexOf(state.quote) : -1;
  if (state.quote) {
    const inside = end < 0 ? text : text.slice(0, end);
    if (state.cpp) tokens(into, inside, CPP, CPP_WORDS, state, null);
    else into.append(make("span", { class: "s" }, inside));
    if (end < 0) return;
    into.append(make("span", { class: "s" }, state.quote));
    text = text.slice(end + 3);
    state.quote = "";
  }
  if (kind === "python" || kind === "graph" || kind === "kernel")
    tokens(
      into,
      text,
      state.wholeCpp ? CPP : PYTHON,
      state.wholeCpp ? CPP_WORDS : PYTHON_WORDS,
      state,
      links,
      kind,
    );
  else if (kind === "bytecode") tokens(into, text, BYTECODE, null, state, null);
  else into.append(text);
}
export function tokens(
  into: HTMLElement,
  text: string,
  grammar: RegExp,
  words: Set<string> | null,
  state: Highlighting,
  links: Links,
  kind?: string,
): void {
  let at = 0,
    last = "";
  grammar.lastIndex = 0;
  for (let match = grammar.exec(text); match !== null; match = grammar.exec(text)) {
    if (match[0] === "") {
      grammar.lastIndex += 1;
      continue;
    }
    let style = "";
    if (match[1]) style = "c";
    else if (match[2]) {
      const quote = match[2].slice(-3),
        close = text.indexOf(quote, grammar.lastIndex);
      if (match.index > at) into.append(text.slice(at, match.index));
      const stop = close < 0 ? text.length : close + 3;
      into.append(make("span", { class: "s" }, text.slice(match.index, stop)));
      if (close < 0) {
        state.quote = quote;
        state.cpp = kind === "kernel" && (/cpp/.test(text) || state.wrapper);
      }
      grammar.lastIndex = at = stop;
      continue;
    } else if (match[3]) style = /^"[a-z]+\d+\w*\[/.test(match[3]) ? "t" : "s";
    else if (match[4]) style = "n";
    else if (words === null) style = "k";
    else if (words.has(match[5])) style = "k";
    else if (last === "def" || last === "class") style = "d";
    last = match[0];
    const link = links && match[5] ? links.get(match[5]) : null;
    if (!style && !link) continue;
    if (match.index > at) into.append(text.slice(at, match.index));
    into.append(
      link
        ? make("a", { href: "#compile/" + link, title: "open " + link }, match[0])
        : make("span", { class: style }, match[0]),
    );
    at = match.index + match[0].length;
  }
  if (at < text.length) into.append(text.slice(at));
}
