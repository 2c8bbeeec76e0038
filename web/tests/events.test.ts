import { expect, test } from "vitest";
import { namesOf, phasesOf } from "../src/events";
import type { TimedEvent } from "../src/types";

const EVENTS: TimedEvent[] = [
  ["entire_frame_compile", 0, 100, 0],
  ["compile_attempt_0", 1, 20, 1],
  ["bytecode_tracing", 2, 10, 2],
  ["compile_attempt_1", 30, 60, 1],
  ["backend_compile", 40, 40, 2],
  ["create_aot_dispatcher_function", 41, 30, 3],
  ["compile_fx_inner", 45, 20, 4],
  ["compile_file", 50, 10, 5],
  ["something else", 51, 5, 6],
  ["build_guards", 92, 5, 1],
];

test("events have the phase of what they are inside", () => {
  expect(phasesOf(EVENTS)).toEqual([
    "dynamo",
    "dynamo",
    "dynamo",
    "dynamo",
    "aot",
    "aot",
    "inductor",
    "kernels",
    "kernels",
    "dynamo",
  ]);
});

test("what is compiled to be measured is autotuning", () => {
  const events: TimedEvent[] = [
    ["GraphLowering.codegen", 0, 100, 0],
    ["mm_template_precompiling", 1, 20, 1],
    ["async_compile.precompile", 2, 10, 2],
    ["benchmark_fused_nodes", 30, 20, 1],
    ["async_compile.precompile", 60, 20, 1],
  ];
  expect(phasesOf(events)).toEqual([
    "inductor",
    "autotuning",
    "autotuning",
    "autotuning",
    "kernels",
  ]);
});

test("a backend that does not use AOTAutograd has a phase of its own", () => {
  const some = EVENTS.filter(([name]) => !/aot|fx|file/.test(name));
  expect(phasesOf(some).filter((phase) => phase !== "dynamo")).toEqual(["backend"]);
});

test("attempts that torch began again are named as thrown away, the last one is not", () => {
  const names = namesOf(EVENTS);
  expect(names[1]).toBe("thrown away: attempt 1");
  expect(names[3]).toBe("compile_attempt_1");
  expect(namesOf([["compile_attempt_0", 0, 1, 0]])).toEqual(["compile_attempt_0"]);
  expect(namesOf([])).toEqual([]);
});
