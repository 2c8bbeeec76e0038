import { expect, test } from "vitest";
import { finder, placed, seconds, spans } from "../src/words";

test("seconds have as many digits as matter", () => {
  expect([0.0001, 0.0123, 3.25, 250.4].map(seconds)).toEqual(["<1 ms", "12 ms", "3.3 s", "250 s"]);
});

test("numbers in a row are a range", () => {
  expect(spans([1, 2, 3, 7, 9, 10])).toBe("1 to 3, 7, 9 to 10");
  expect(spans([])).toBe("");
});

test("a text is found whatever its case, at its place in the text itself", () => {
  expect(finder("torch.ABS(")("İ = Torch.abs(x)")).toEqual({ at: 4, length: 10 });
  expect(finder("a.b")("axb")).toBeNull();
  expect(finder("(")("f(x)")).toEqual({ at: 1, length: 1 });
});

test("the place of a guard is the file's name, without what torch leaves of its path", () => {
  expect(placed("# return x  # mp/tmpq/recompile.py:9 in f")).toBe(
    "return x  # recompile.py:9 in f",
  );
  expect(placed("# _dynamo/output_graph.py:1135 in init")).toBe("output_graph.py:1135 in init");
  expect(placed("# y = a / b  # a.py:3 in f")).toBe("y = a / b  # a.py:3 in f");
});
