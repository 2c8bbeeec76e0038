"""How long each view of the report takes to open: from the change of the address to the frame that
shows it. The table of docs/cost.md.

Beside the time on the clock stands the processor time of the page's main thread (Chromium's task
times in thread ticks), which does not grow when the machine has other work.

Usage: python bench/views.py DUMP [--compiles 1000] [--rounds 7]

DUMP is a folder that prepare_debug or `depyf run` wrote. Its compiles are copied, each copy with
texts of its own, until there are as many as asked for; a graph, a kernel, guards and events far
larger than those of the dump are put into one of them.
"""

import argparse
import copy
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from depyf.report import document, page

#: in the page: goes to a route, and gives the milliseconds until the second frame after it, by when the first one has been painted
OPEN = """async (route) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const settled = () => new Promise((done) => setTimeout(done, 60));
  await settled(); await frame();
  const start = performance.now();
  const changed = new Promise((done) => addEventListener("hashchange", done, {once: true}));
  location.hash = route;
  await changed; await frame(); await frame();
  return performance.now() - start;
}"""
#: the same for a click
CLICK = """async (selector) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await new Promise((done) => setTimeout(done, 60)); await frame();
  const start = performance.now();
  document.querySelector(selector).dispatchEvent(new MouseEvent("click", {bubbles: true}));
  await frame(); await frame();
  return performance.now() - start;
}"""
#: views of a compile of usual size: route behind #compile/KEY -> what it is called
TABS = {
    "": "code",
    "/code/kernel": "code, kernel",
    "/code/source/L15": "code, a line",
    "/why": "why",
    "/graph": "graph",
    "/guards": "guards",
    "/time": "time (flame graph)",
    "/bytecode": "bytecode",
    "/files": "files (artifacts)",
}
#: views of the compile with large texts
LARGE = {
    "/code": "20,000 lines of graph and kernel",
    "/graph": "graph of 4,000 operations",
    "/guards": "5,000 guards",
    "/time": "400 events",
}


def multiplied(folder, count):
    """A run with `count` compiles, copies of those of a dump, each with texts of its own."""
    (one,) = document.load_all(folder)
    originals = [function for function in one["functions"] if function["entries"]]
    run = dict(one, functions=[])
    made = 0
    while made < count:
        for original in originals:
            function = copy.deepcopy(original)
            function["global_name"] += "_%d" % made
            function["name"] += "" if function["is_resume"] else "_%d" % made
            for entry in function["entries"]:
                entry["compile_id"] = "%d/0" % made
                entry["calls"] = ["%s_%d" % (name, made + 1) for name in entry["calls"]]
                for artifact in entry["artifacts"]:
                    artifact["text"] += "\n# of compile %d\n" % made
                made += 1
            run["functions"].append(function)
            if made >= count:
                break
    return run


def with_large_texts(run, count):
    """Puts large texts into the last compiles of a run, each with texts of its own; returns their
    keys.
    """
    entries = [
        entry
        for function in run["functions"]
        for entry in function["entries"]
        if len(entry["guards"]) > 1
    ]
    return [_enlarged(entry) for entry in entries[-count:]]


def _enlarged(entry):
    key = entry["compile_id"]
    graph = ["class GraphModule(torch.nn.Module):", '    def forward(self, L_x_: "f32[10]"):']
    for number in range(4000):
        graph += [
            "        # File: /srv/model/layers.py:%d in forward, code: x = torch.sin(x)"
            % (number % 900),
            '        sin_%d: "f32[10]" = torch.sin(%s)'
            % (number, "sin_%d" % (number - 1) if number else "L_x_"),
            "        ",
        ]
    graph.append("        return (sin_3999,)")
    kernel = ["import torch", "def call(args):"] + [
        "    buf%d = extern_kernels.mm(arg%d, arg%d)  # a call" % (n, n, n) for n in range(20000)
    ]
    own = "# of compile %s\n" % key
    kinds = {
        "Captured_Graph": "\n".join(graph) + "\n" + "# padding\n" * 8000 + own,
        "kernel": "\n".join(kernel) + "\n" + own,
    }
    for artifact in entry["artifacts"]:
        if artifact["stage"] in kinds and not artifact["index"]:
            artifact["text"] = kinds.pop(artifact["stage"])
    guard = entry["guards"][0]
    entry["guards"] = [
        dict(guard, text="L['x%d'] == %d" % (n, n), expression=None, source="L['x%d']" % n)
        for n in range(5000)
    ]
    entry["events"] = [["event %d" % (n % 40), n * 10, 9 * (1 + n % 7)] for n in range(1000)]
    return key


def timed_views(browser, run, place, rounds, told=None, render=page.render):
    """Opens each view of a run several times.

    Args:
        told: called with each row when it is there.
        render: makes the page's text of a list of runs and a folder.
    Returns:
        Dicts with `view`, `ms` (the median on the clock), `worst` and `processor` (the median of
        processor time, in ms); the first two rows are an empty page's frames, and the page's first
        view, of which `ms` is the time of its first paint. The page is left in `place`.
    """
    large = with_large_texts(run, 2 * rounds)
    path = pathlib.Path(place, "index.html")
    page.write(str(path), render([run], str(place)))
    empty = pathlib.Path(place, "empty.html")
    empty.write_text("<!doctype html><title>empty</title><p>nothing")
    rows = []

    def add(name, times):
        clock = [row[0] for row in times]
        rows.append(
            {
                "view": name,
                "ms": statistics.median(clock),
                "worst": max(clock),
                "processor": statistics.median(row[1] for row in times),
            }
        )
        if told is not None:
            told(rows[-1])

    context = browser.new_context(viewport={"width": 1500, "height": 950})
    context.set_default_timeout(120000)
    try:
        shown = context.new_page()
        devtools = context.new_cdp_session(shown)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

        def processor():
            metrics = devtools.send("Performance.getMetrics")["metrics"]
            return next(row["value"] for row in metrics if row["name"] == "TaskDuration") * 1000

        def timed(script, argument):
            before = processor()
            clock = shown.evaluate(script, argument)
            return clock, processor() - before

        def opened(route):
            return timed(OPEN, route)

        shown.goto(empty.as_uri())
        add("an empty page", [opened("x%d" % number) for number in range(rounds)])
        paints = []
        for _ in range(min(rounds, 3)):
            shown.goto("about:blank")
            before = processor()
            shown.goto(path.as_uri())
            paint = shown.evaluate(
                "performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]"
            )
            paints.append((paint, processor() - before))
        add("first view of the page", paints)
        end = time.monotonic() + 60
        while (
            shown.evaluate("document.documentElement.dataset.ready") != "true"
            and time.monotonic() < end
        ):
            shown.wait_for_timeout(20)
        keys = [
            entry["compile_id"]
            for function in run["functions"]
            if not function["is_resume"]
            for entry in function["entries"]
        ]
        keys = [key for key in keys if key not in large]
        picked = [keys[number * (len(keys) - 1) // max(1, rounds - 1)] for number in range(rounds)]
        back = []
        for tab, name in TABS.items():
            times = []
            for key in picked:
                times.append(opened("compile/" + key + tab))
                back.append(opened(""))
            add(name, times)
        add("back to the overview", back)
        for tab, name in LARGE.items():
            times = []
            for key in (
                large[rounds:] if tab == "/graph" else large[:rounds]
            ):  # no graph that was read for another view
                times.append(opened("compile/" + key + tab))
                opened("")
            add(name, times)
        opened("compile/" + large[0] + "/time")
        add(
            "flame graph, an event alone",
            [timed(CLICK, ".flame rect:last-of-type") for _ in range(rounds)],
        )
        for word, name in (("torch.abs", "search, many places"), ("zzzz", "search, none")):
            times = []
            for number in range(rounds):
                times.append(opened("search/" + word))
                opened("")
            add(name, times)
        if shown.locator("button[data-shows=functions]").count():
            add("all functions", [timed(CLICK, "button[data-shows=functions]")])
    finally:
        context.close()
    return rows


def main():
    """Prints one row for each view."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("--compiles", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    executable = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if executable is None:
        sys.exit("error: there is no Chromium (Debian, Ubuntu: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        print("| view | ms | worst | processor time, ms |")
        print("| --- | --- | --- | --- |")
        timed_views(
            browser,
            multiplied(options.dump, options.compiles),
            place,
            options.rounds,
            lambda row: print(
                "| %(view)s | %(ms).0f | %(worst).0f | %(processor).0f |" % row, flush=True
            ),
        )
        browser.close()
        size = os.path.getsize(os.path.join(place, "index.html"))
    print(
        "\n%d compiles, a page of %.0f MiB, medians of %d"
        % (options.compiles, size / 2**20, options.rounds)
    )


if __name__ == "__main__":
    main()
