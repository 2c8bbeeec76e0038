// Numbers, ranges, texts and places as people say them.
import { make } from "./dom";

export function seconds(value: number): string {
  return value >= 100
    ? Math.round(value) + " s"
    : value >= 1
      ? value.toFixed(1) + " s"
      : value >= 0.001
        ? Math.round(value * 1000) + " ms"
        : "<1 ms";
}
/** Where `wanted` begins in a text, upper and lower case alike, and how long it is there; null where it is not. */
export function finder(wanted: string): (text: string) => { at: number; length: number } | null {
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu");
  return (text) => {
    const found = pattern.exec(text);
    return found ? { at: found.index, length: found[0].length } : null;
  };
}
export function spans(numbers: number[]): string {
  const parts: string[] = [];
  for (let at = 0; at < numbers.length; at++) {
    let stop = at;
    while (numbers[stop + 1] === numbers[stop] + 1) stop++;
    parts.push(stop > at ? numbers[at] + " to " + numbers[stop] : String(numbers[at]));
    at = stop;
  }
  return parts.slice(0, 8).join(", ");
}
/** Parts of a text, those between backticks as code. */
export function ticks(text: string): (string | HTMLElement)[] {
  return text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}
/** A guard's comment with the name of its file alone: torch cuts paths from the left. */
export function placed(comment: string): string {
  return comment.replace(/^# /, "").replace(/(^|# )\S*\/([^\s/]+:\d+ in )/, "$1$2");
}
