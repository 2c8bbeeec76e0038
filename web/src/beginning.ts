// Where a text begins for a reader.
import { CPP_DEFINITION, KERNEL_DEFINITION } from "./kernels";
import type { Text } from "./types";

/** The number of that line: behind imports and parameters. */
export function beginning(kind: Text["kind"], lines: string[]): number {
  if (kind === "kernel") {
    let at = lines.findIndex((line) => KERNEL_DEFINITION.test(line) || CPP_DEFINITION.test(line));
    if (at < 0) at = lines.findIndex((line) => /^\s*def call\(/.test(line));
    while (at > 0 && /^#/.test(lines[at - 1])) at--; // what the kernel was made of stands above it
    return Math.max(0, at);
  }
  if (kind !== "graph") return 0;
  let at = lines.findIndex((line) => /^\s*def forward\(/.test(line));
  if (at < 0) return 0;
  while (at < lines.length && !/\)(?:\s*->.*)?:\s*$/.test(lines[at])) at++;
  // each input gets the name of its node, without a place, before the first operation
  const first = lines.findIndex(
    (line, number) => number > at && !/^\s*$|^\s*\w+(?:: "[^"]*")? = \w+\s*(?:;.*)?$/.test(line),
  );
  return Math.max(0, first);
}
