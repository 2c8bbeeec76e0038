// @vitest-environment jsdom
import { strToU8, zlibSync } from "fflate";
import { expect, test } from "vitest";
import { articles, data, inflate, ownTexts, shelve, textOf } from "../src/texts";

const pack = (texts: string[]) => btoa(String.fromCharCode(...zlibSync(strToU8(texts.join("\0")))));

test("a block gives its texts back, whatever they hold", () => {
  const texts = ["", "</script><b>", "é\u{1f600}\ufeffx", "\n\t", "x".repeat(100000)];
  expect(inflate(pack(texts))).toEqual(texts);
});

test("texts are found by number in plain and in packed pages, and packed ones in more blocks than are kept open", () => {
  const compiles = document.createElement("div");
  compiles.id = "compiles";
  const article = document.createElement("article");
  article.id = "compile-1";
  Object.assign(article.dataset, { key: "0/1", own: "0 3" });
  const pre = document.createElement("pre");
  pre.id = "t0";
  pre.textContent = "plain";
  article.append(pre);
  compiles.append(article);
  const block = (name: string, first: number, texts: string[]) => {
    const holder = document.createElement("script");
    Object.assign(holder.dataset, { pack: name, first });
    holder.type = "text/plain";
    holder.textContent = pack(texts);
    compiles.append(holder);
  };
  for (let first = 1; first < 201; first += 2)
    block("text", first, [`text ${first}`, `text ${first + 1}`]);
  block("compile", 0, ['{"key":"0/0"}', '{"key":"0/1"}']);
  shelve(compiles);
  expect(articles.get("0/1")).toBe(article);
  expect(ownTexts(article)).toEqual([0, 1, 2]);
  expect(textOf(0)).toBe("plain");
  for (const number of [1, 2, 200, 57, 3, 200, 1]) expect(textOf(number)).toBe(`text ${number}`);
  expect([textOf(null), textOf(undefined)]).toEqual(["", ""]);
  expect(data("0/1").key).toBe("0/1");
});
