// Compiles and their texts.
import { unzlibSync } from "fflate";
import { expand, type GraphData } from "./graph";
import type { Graph, Text, View } from "./types";

// Without scripts the compiles, and the texts of a small page, are part of the document. With them they are kept beside
// it: what a browser does at each change of the address, such as looking at every link again, takes time with each element
// of the document.
export const shelf = document.createDocumentFragment(),
  pres = new Map<string, HTMLElement>();
export const articles = new Map<string, HTMLElement>();

// ---- packed texts: deflated, several to a block, which is inflated when one of its texts is needed ----

interface Block {
  first: number;
  holder: Element;
}
const packs = new Map<string, Block[]>();
/** Inflated blocks, the last used one last. */
const open = new Map<Block, string[]>();
const MOST_OPEN = 24;

/** Takes the texts of the page off the document. */
export function shelve(compiles: HTMLElement): void {
  shelf.append(compiles);
  for (const pre of shelf.querySelectorAll<HTMLElement>("pre[id]")) pres.set(pre.id, pre);
  for (const article of shelf.querySelectorAll<HTMLElement>("#compiles > article"))
    articles.set(article.dataset.key ?? "", article);
  for (const holder of shelf.querySelectorAll<HTMLElement>("script[data-pack]")) {
    const name = holder.dataset.pack ?? "",
      blocks = packs.get(name) ?? [];
    blocks.push({ first: Number(holder.dataset.first), holder });
    packs.set(name, blocks);
  }
}
/** The texts of a block: NUL parts them, which no text of the page has. */
export function inflate(base64: string): string[] {
  const letters = atob(base64),
    bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(unzlibSync(bytes)).split("\0");
}
function unpacked(name: string, number: number): string | undefined {
  const block = packs.get(name)?.findLast((one) => one.first <= number);
  if (!block) return undefined;
  const texts = open.get(block) ?? inflate(block.holder.textContent ?? "");
  open.delete(block);
  open.set(block, texts);
  for (const oldest of open.keys()) {
    if (open.size <= MOST_OPEN) break;
    open.delete(oldest);
  }
  return texts[number - block.first];
}

// ---- what the views read ----

const datas = new Map<string, View>();
export function data(key: string): View {
  let found = datas.get(key);
  if (!found) {
    const number = Number(articles.get(key)?.id.replace("compile-", ""));
    found = JSON.parse(unpacked("compile", number) ?? "null") as View;
    datas.set(key, found);
  }
  return found;
}
export function readable(view: View): Text[] {
  return view.texts.filter((text) => text.text !== null);
}
export function textOf(number: number | null | undefined): string {
  if (number === null || number === undefined) return "";
  return pres.get("t" + number)?.textContent ?? unpacked("text", number) ?? "";
}
/** A compile, with torch's own words where the page has them packed. */
export function told(article: HTMLElement): HTMLElement {
  for (const pre of article.querySelectorAll<HTMLElement>("pre[data-raw]")) {
    pre.textContent = unpacked("raw", Number(pre.dataset.raw)) ?? "";
    pre.removeAttribute("data-raw");
  }
  return article;
}
/** The numbers of the texts that stand in the page at a compile first. */
export function ownTexts(article: HTMLElement): number[] {
  const [from, to] = (article.dataset.own ?? "0 0").split(" ").map(Number);
  return Array.from({ length: to - from }, (_, at) => from + at);
}
const lineCache = new Map<number | null, string[]>();
/** The graph of a text, made anew: what belongs together is written into its nodes. Null where the text is none. */
export function graphOf(text: Text): Graph | null {
  if (text.graph === undefined) return null;
  const value = unpacked("graph", text.graph);
  return value ? expand(JSON.parse(value) as GraphData) : null;
}
export function linesOf(number: number | null): string[] {
  let lines = lineCache.get(number);
  if (!lines) {
    lines = textOf(number).split("\n");
    if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
    lineCache.set(number, lines);
  }
  return lines;
}
