// @vitest-environment jsdom
import { expect, test } from "vitest";
import { foldMarks } from "../src/guards";

const guard = (expression: string, failed: never[] = []) => ({
  kind: "K",
  expression,
  words: "",
  text: expression,
  count: 1,
  failed,
});
const mark = (name: string, what: string) =>
  guard("hasattr(L['" + name + "'], '_dynamo_" + what + "_indices') == False");

test("marks of one value are one row, in the place of the first", () => {
  const found = foldMarks([
    mark("x", "dynamic"),
    guard("len(L['y']) == 2"),
    mark("x", "weak_dynamic"),
    mark("z", "static"),
    mark("x", "static"),
  ]);
  expect(found.map((one) => one.count)).toEqual([3, 1, 1]);
  expect(found[0].words).toBe("x is marked by none of: dynamic, weak dynamic, static");
  expect(found[0].expression.split("\n")).toHaveLength(3);
  expect(found[1].words).toBe("");
});

test("a mark that failed stays a row of its own", () => {
  const failed = { ...mark("x", "dynamic"), failed: [{ key: "0/1" }] as never[] };
  expect(foldMarks([failed, mark("x", "static"), mark("x", "unbacked")])).toHaveLength(2);
});
