import type { Steps } from "./types";

// What takes long on large texts is written as steps, so that it can be done in slices between which the page answers.
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
export function* eachLine(lines: string[], take: (line: string, at: number) => void): Steps<void> {
  for (let at = 0; at < lines.length; at++) {
    if (at % 500 === 499) yield undefined;
    take(lines[at], at);
  }
}
export function idle(work: () => void): void {
  if (window.requestIdleCallback) window.requestIdleCallback(work, { timeout: 300 });
  else setTimeout(work, 1);
}
