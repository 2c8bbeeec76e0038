// Compiles and their texts.
import { expand, type GraphData } from "./graph";
import type { Graph, Text, View } from "./types";

// Without scripts the texts are part of the page. With them they are kept beside it: what a browser does at each change of
// the address, such as looking at every link again, takes time with each element of the document.
export const shelf = document.createDocumentFragment(),
  pres = new Map<string, HTMLElement>();
export const articles = new Map<string, HTMLElement>();
const datas = new Map<string, View>();
export function data(key: string): View {
  let found = datas.get(key);
  if (!found) {
    const holder = articles.get(key)?.querySelector("script[type='application/json']");
    found = JSON.parse(holder?.textContent ?? "null") as View;
    datas.set(key, found);
  }
  return found;
}
export function readable(view: View): Text[] {
  return view.texts.filter((text) => text.text !== null);
}
export function textOf(number: number | null | undefined): string {
  const node = number === null || number === undefined ? null : pres.get("t" + number);
  return node ? (node.textContent ?? "") : "";
}
const lineCache = new Map<number | null, string[]>();
/** The graph of a text, made anew: what belongs together is written into its nodes. Null where the text is none. */
export function graphOf(text: Text): Graph | null {
  if (text.graph === undefined) return null;
  const value = shelf.getElementById("v" + text.graph)?.textContent;
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
