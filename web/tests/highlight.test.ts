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

test("what a graph and a kernel are made of has styles", () => {
  expect(painted('L_x_: "f32[2, 3][3, 1]cpu", y')).toEqual(['t:"f32[2, 3][3, 1]cpu"']);
  const state = { quote: "" };
  const into = document.createElement("span");
  paint(into, "k = async_compile.cpp_pybinding(['float*'], r'''", "kernel", state, null);
  expect(state).toEqual({ quote: "'''", inside: "cpp" });
  paint(into, 'extern "C" void kernel(const float* in) // one', "kernel", state, null);
  const styles = [...into.querySelectorAll("span")].map((one) => one.className + one.textContent);
  expect(styles).toContain("kvoid");
  expect(styles).toContain("c// one");
});

test("a kernel in Triton is a program, not a text", () => {
  const state = { quote: "" };
  const into = document.createElement("span");
  paint(into, "k = async_compile.triton('k', '''", "kernel", state, null);
  const line = document.createElement("span");
  paint(line, "def k(in_ptr0):  # one", "kernel", state, null);
  const styles = [...line.querySelectorAll("span")].map((one) => one.className + one.textContent);
  expect(styles).toEqual(["kdef", "dk", "c# one"]);
  paint(into, "''', device_str='cuda')", "kernel", state, null);
  const behind = document.createElement("span");
  paint(behind, "x = '''def", "kernel", state, null);
  paint(behind, "if", "kernel", state, null);
  expect([...behind.querySelectorAll("span")].at(-1)?.className).toBe("s");
});

test("names of functions that are called are links", () => {
  const into = document.createElement("span");
  const links = new Map([["__resume_at_4", "1/0"]]);
  paint(into, "    return __resume_at_4(x)  # __resume_at_4", "python", { quote: "" }, links);
  expect([...into.querySelectorAll("a")].map((one) => one.getAttribute("href"))).toEqual([
    "#compile/1/0",
  ]);
});

test("a long line takes time in proportion to its length", () => {
  for (const part of ["f'{", "<<", '"', "((", "f'{{x", 'R"('])
    for (const kind of ["python", "kernel"]) {
      const start = performance.now();
      const line = part.repeat(4000 / part.length);
      const state = { quote: "", wholeCpp: kind === "kernel" };
      paint(document.createElement("span"), line, kind, state, null);
      expect(performance.now() - start).toBeLessThan(2000);
    }
});
