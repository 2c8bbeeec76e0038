// What torch's timed events are of: the phase that each belongs to, and which attempts were thrown away.
import type { TimedEvent } from "./types";

/** Events that begin a phase; those inside them are of the same one. */
const BEGIN: [RegExp, string][] = [
  [/(^|[._])(backward|bw_compiler)/, "backward"],
  [
    /^(\w+_template_|benchmark_|CachingAutotuner\.(benchmark|coordinate|combo)|collective_compute_do)/,
    "autotuning",
  ],
  [/^(compile_file|async_compile|triton|CachingAutotuner|PyCodeCache|TritonBundler)/i, "kernels"],
  [/^(inductor|compile_fx_inner|fx_codegen|fw_compiler|GraphLowering|Scheduler)/i, "inductor"],
  [/^(create_aot_dispatcher|aot_|AOTAutograd)/, "aot"],
];
const LATER = ["dynamo", "backend", "aot", "inductor", "kernels", "autotuning", "backward"];
const ATTEMPT = /^compile_attempt_(\d+)$/;

/** The phase of each event, in their order; an event inside another is never of an earlier phase. */
export function phasesOf(events: TimedEvent[]): string[] {
  const open: string[] = [];
  const begun = events.map(([name]) => BEGIN.find(([begin]) => begin.test(name))?.[1]);
  // The backend's time is AOTAutograd's where the backend uses that, as Inductor does.
  const backend = begun.some((phase) => phase) ? "aot" : "backend";
  return events.map(([name, , , depth], at) => {
    const outer = depth > 0 ? (open[depth - 1] ?? "dynamo") : "dynamo";
    const own = (name === "backend_compile" ? backend : begun[at]) ?? outer;
    open.length = depth;
    open[depth] = LATER.indexOf(own) > LATER.indexOf(outer) ? own : outer;
    return open[depth];
  });
}
/** What each event is called: of attempts that torch began again, only the last one was used. */
export function namesOf(events: TimedEvent[]): string[] {
  const number = (name: string) => Number(ATTEMPT.exec(name)?.[1] ?? -1);
  const last = events.reduce((most, [name]) => Math.max(most, number(name)), -1);
  return events.map(([name]) => {
    const own = number(name);
    return own >= 0 && own < last ? "thrown away: attempt " + (own + 1) : name;
  });
}
