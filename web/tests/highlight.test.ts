// @vitest-environment jsdom
import { expect, test } from "vitest";
import { paint } from "../src/highlight";

function painted(text: string, state = { quote: "" }) {
  const into = document.createElement("span");
  paint(into, text, "python", state, null);
  expect(into.textContent).toBe(text);
  return [...into.querySelectorAll("span")].map((one) => one.className + ":" + one.textContent);
}

test("keywords, names that are defined, numbers, strings and comments have styles", () => {
  expect(painted("def f(x): return 1  # one")).toEqual([
    "k:def",
    "d:f",
    "k:return",
    "n:1",
    "c:# one",
  ]);
  expect(painted("x = 'a # b'")).toEqual(["s:'a # b'"]);
});

test("a string goes on over lines", () => {
  const state = { quote: "" };
  painted('x = """a', state);
  expect(state.quote).toBe('"""');
  expect(painted('b""" + 1', state)).toEqual(["s:b", 's:"""', "n:1"]);
  expect(state.quote).toBe("");
});

test("no text becomes an element", () => {
  const into = document.createElement("span");
  paint(into, "<img src=x onerror=alert(1)> <b>", "python", { quote: "" }, null);
  expect(into.querySelector("img, b")).toBeNull();
});
