"""Where calls spent their time, for the page: the profiles of a run and those of each entry."""

import re
from typing import Any, Dict, List, Optional

#: the parts of a call in their order, with what they are called where they are shown
PARTS = (
    ("guards", "guards: is there an entry for this call?"),
    ("python", "Python of the transformed code, before and between graphs"),
    ("wrappers", "runtime wrappers around graphs"),
    ("graphs", "graphs: generated code"),
    ("operators", "operators that run one by one"),
    ("autograd", "autograd"),
    ("waiting", "waiting for the GPU"),
    ("compiling", "compiling"),
    ("other", "the rest: code that is not compiled"),
)
_OPERATORS = 12


def short_time(value: float) -> str:
    """Seconds of one call as people say them."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1:
            return "%.3g %s" % (value * factor, unit)
    return "%.2f µs" % (value * 1e6) if value > 0 else "0"


def short_bytes(count: float) -> str:
    """A number of bytes as people say it."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return "%.3g %s" % (count / size, unit)
    return "%d bytes" % count


#: types in the template of a kernel that do not tell what it does
_PLAIN_TYPE = re.compile(r"(std::.*|true|false|int|float|double|bool|long|char|unsigned|void)$")
#: functions of ATen that tell what an elementwise kernel does
_TELLING = re.compile(r"Functor|kernel_impl$|kernel_cuda$")


def kernel_title(name: str) -> str:
    """What a kernel is called for people: a C++ function without namespaces and types.

    One name of its template stays, the one that tells what the kernel does:
    `vectorized_elementwise_kernel<FillFunctor>`. Other names stay as they are.

    Args:
        name: as torch.profiler has it, for example `void at::native::f<4, g<float> >(int, g)`.
    """
    if not name.startswith("void "):
        return name
    text = name[len("void ") :].replace("(anonymous namespace)::", "")
    head = re.split(r"[<(]", text, maxsplit=1)[0]
    title = head.rpartition("::")[2]
    if not title:
        return name
    if not text[len(head) :].startswith("<"):
        return title
    template = text[len(head) :].partition(">(")[0]
    kinds = [
        kind.rpartition("::")[2]
        for kind in re.findall(r"(?<!\w)[A-Za-z_][\w:]*", template)
        if not _PLAIN_TYPE.match(kind)
    ]
    telling = [kind for kind in kinds if _TELLING.search(kind)] or kinds
    return "%s<%s>" % (title, telling[0]) if telling else title


def device_row(profile: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """How much of the time a GPU computed, as a row below those of the parts.

    Args:
        profile: one of `profiles` in docs/run_schema.md.
    Returns:
        `share` in percent, `each` in seconds, and `words`; None where no device did anything.
    """
    device = profile.get("device")
    if not (device and device["kernels"]):
        return None
    calls = max(profile["calls"], 1)

    def each(number: float) -> str:
        return "%.3g" % (number / calls) if profile["calls"] else "%d" % number

    count, graphs = each(device["kernels"]), each(device["graphs"])
    kernels = "1 kernel or copy" if count == "1" else "%s kernels and copies" % count
    if device["graphs"]:
        kernels += ", and %s launch%s of a CUDA graph," % (graphs, "" if graphs == "1" else "es")
    return {
        "share": 100 * device["busy"] / max(profile["whole"], device["busy"], 1e-12),
        "each": device["busy"] / calls,
        "words": "the GPU computes meanwhile: %s%s" % (kernels, " a call" * bool(profile["calls"])),
    }


def _rows(parts: Dict[str, float], whole: float, calls: int) -> List[Dict[str, Any]]:
    """Rows of the parts that took something, each with its share and its place in a bar."""
    rows, x = [], 0.0
    for name, words in PARTS:
        seconds = parts.get(name, 0.0)
        if seconds > 0:
            width = 1000.0 * seconds / max(whole, seconds)
            rows.append(
                {
                    "name": name,
                    "words": words,
                    "each": seconds / max(calls, 1),
                    "share": width / 10,
                    "x": round(x, 2),
                    "width": round(width, 2),
                }
            )
            x += width
    return rows


def verdict(profile: Dict[str, Any]) -> str:
    """Compiled against eager, as far as the noise tells; "" where one was not measured."""
    compiled, eager = profile.get("compiled"), profile.get("eager")
    if not (compiled and eager and compiled["median"] and eager["median"]):
        return ""
    fast, slow = sorted((compiled, eager), key=lambda one: one["median"])
    if fast["high"] >= slow["low"]:
        return "compiled and eager take the same time, within the noise"
    how = "faster" if fast is compiled else "slower"
    return "compiled is %.2f times %s than eager" % (slow["median"] / fast["median"], how)


#: parts of an entry that are not what it computes
_AROUND = ("guards", "python", "wrappers")
#: from how many calls on the time of one is told from, and up to how long a call is a small one
_REPEATED, _SMALL = 10, 2e-3


def conclusions(profile: Dict[str, Any]) -> List[str]:
    """What the figures of a profile come to, in sentences: what takes the time, what helps.

    Args:
        profile: one of `profiles` in docs/run_schema.md.
    """
    parts = profile["parts"]
    whole = max(profile["whole"], sum(parts.values()), 1e-12)
    found = []
    compiling = parts.get("compiling", 0.0) / whole
    if compiling >= 0.2:
        found.append(
            "%.0f %% of the time went to compiling: --recompiles and --breaks say for what."
            % (100 * compiling)
        )
    repeated = [one for one in profile["entries"] if one["calls"] >= _REPEATED]
    for entry in sorted(repeated, key=lambda one: -sum(one["parts"].values()))[:1]:
        found += _of_entry(entry)
    other = parts.get("other", 0.0) / whole
    if other >= 0.5:
        found.append("%.0f %% of the time is code that is not compiled." % (100 * other))
    if not found and "slower" in verdict(profile):
        found.append(
            "Eager runs the same operations in less time, so they are not what costs it: the "
            "function is too small, or broken into parts that are. Compile the loop or the "
            "function around it, or leave it alone; --breaks says where it is broken."
        )
    if not found:
        found += _of_device(profile)
    work = (
        sum(parts.get(name, 0.0) for name in ("graphs", "operators", "autograd", "waiting")) / whole
    )
    if not found and work >= 0.5:
        if _is_one_by_one(profile):
            found.append(
                "%.0f %% of the time is operators that run %s." % (100 * work, _ONE_BY_ONE)
            )
        else:
            found.append(
                "%.0f %% of the time is what the graphs compute: only other kernels, or less to "
                "compute, make it faster." % (100 * work)
            )
    return found


#: what helps where a backend generates no code
_ONE_BY_ONE = (
    "one by one, as the backend generates no code for the graphs: a backend that fuses operators, "
    'such as torch.compile\'s own ("inductor"), may make it faster'
)


def _is_one_by_one(profile: Dict[str, Any]) -> bool:
    """Whether what was computed are operators, and no code that a backend generated."""
    parts = profile["parts"]
    generated = [one for one in profile.get("operators") or () if one["name"].startswith("triton_")]
    return parts.get("operators", 0.0) > 0 and not parts.get("graphs") and not generated


#: from how many kernels for each launch on it pays to launch them as one CUDA graph
_MANY_LAUNCHES = 10


def _of_device(profile: Dict[str, Any]) -> List[str]:
    """What a GPU's part of the calls comes to."""
    device = profile.get("device")
    if not (device and device["kernels"] and profile["calls"]):
        return []
    busy = device["busy"] / profile["calls"]
    # the profiler makes launches slower, not kernels
    timing = profile.get("compiled")
    each = max(busy, timing["median"] if timing else profile["whole"] / profile["calls"], 1e-12)
    on_device = [one for one in profile.get("operators") or () if one["device"] != "cpu"]
    if busy >= each / 2 and on_device and not device["graphs"] and _is_one_by_one(profile):
        computes = "The GPU computes for %s of the %s of a call. Its operators run %s."
        return [computes % (short_time(busy), short_time(each), _ONE_BY_ONE)]
    if busy >= each / 2:
        return [
            "The GPU computes for %s of the %s of a call: only other kernels, or less to compute, "
            "make it faster." % (short_time(busy), short_time(each))
        ]
    text = (
        "The GPU computes for %s of the %s of a call; the rest of the time it waits for what "
        % (
            short_time(busy),
            short_time(each),
        )
    )
    text += "the processor does between launches. "
    if device["graphs"] or device["kernels"] < _MANY_LAUNCHES * profile["calls"]:
        return [text + "Larger inputs, or more work in one call, use it better."]
    return [
        text
        + 'mode="reduce-overhead" launches the %d kernels of a call as CUDA graphs.'
        % (device["kernels"] / profile["calls"])
    ]


def _of_entry(entry: Dict[str, Any]) -> List[str]:
    each = sum(entry["parts"].values()) / entry["calls"]
    around = sum(entry["parts"].get(name, 0.0) for name in _AROUND) / entry["calls"]
    if around <= each - around or each > _SMALL:
        return []
    computed = [
        "%s%s" % (one["name"], " at " + one["lines"][0] if one["lines"] else "")
        for one in (entry.get("operators") or ())[:2]
    ]
    return [
        "%s [%s]: %s of %s for each call are guards, Python and wrappers around what it "
        "computes%s. It is too small to be compiled by itself: compile the loop or the function "
        "around it."
        % (
            entry["name"] or "an entry",
            entry["compile_id"],
            short_time(around),
            short_time(each),
            " (%s)" % ", ".join(computed) if computed else "",
        )
    ]


def _memory(profile: Dict[str, Any]) -> List[str]:
    return [
        "%s: %s at most, %s after the call"
        % (what, short_bytes(one["peak"]), short_bytes(one["kept"]))
        for what in ("compiled", "eager")
        for one in [profile["memory"][what]]
        if one["device"]
    ]


def _titled(operators: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [dict(one, title=kernel_title(one["name"])) for one in operators]


def profiles_of(runs: List[Dict[str, Any]], nodes: List[Any]) -> List[Dict[str, Any]]:
    """The profiles of runs in the form that the page shows, each with its entries.

    Args:
        runs: documents of `depyf.report.document`.
        nodes: the compiles of these runs, of `depyf.report.overview`. Those that ran get an element
            in their `runtime` for each profile.
    """
    found = []
    for run in runs:
        by_id: Dict[str, Any] = {}
        for node in nodes:
            if node.run is run:
                # ids start again after torch._dynamo.reset(); a profile is of the last one
                by_id[str(node.entry.get("compile_id"))] = node
        for profile in run.get("profiles") or ():
            calls, whole = profile["calls"], profile["whole"]
            head = profile["function"] or "the whole program"
            shown = {
                "head": "%d call%s of %s" % (calls, "" if calls == 1 else "s", head)
                if calls
                else head,
                "calls": calls,
                "rank": run.get("rank"),
                "each": whole / max(calls, 1),
                "parts": _rows(profile["parts"], whole, calls),
                "compiled": profile["compiled"],
                "eager": profile["eager"],
                "verdict": verdict(profile),
                "memory": _memory(profile),
                "skips": profile["cudagraph_skips"],
                "conclusions": conclusions(profile),
                "operators": _titled(profile["operators"][:_OPERATORS]),
                "device": device_row(profile),
                "entries": [],
            }
            for entry in profile["entries"]:
                seconds = sum(entry["parts"].values())
                row = {
                    "node": by_id.get(entry["compile_id"]),
                    "entry": entry,
                    "profile": shown,
                    "seconds": seconds,
                    "each": seconds / max(entry["calls"], 1),
                    "share": 100 * seconds / max(whole, seconds, 1e-12),
                    "parts": _rows(entry["parts"], seconds, entry["calls"]),
                    "operators": _titled(entry["operators"][:_OPERATORS]),
                }
                shown["entries"].append(row)
                if row["node"] is not None:
                    row["node"].runtime.append(row)
            found.append(shown)
    return found
