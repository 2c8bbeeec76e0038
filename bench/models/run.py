#!/usr/bin/env python3
"""Many models under torch.compile, plain and inside depyf.prepare_debug: is everything replaced,
proven and equal?

Every model runs in a process of its own, once for each way of breaking its source. A row is right
when every transformed code object was proven and replaced, results (gradients and buffers too) are
the same to the last bit as those of plain torch.compile, or both raise the same exception, and
depyf warned of nothing.

    python bench/models/run.py
            # all models, inference and training, backend eager
    python bench/models/run.py --ways statements operands         # with graph breaks everywhere
    python bench/models/run.py --models BertForMaskedLM --keep /tmp/dump

Needs transformers; timm (installed with --no-deps; pillow, pyyaml, safetensors and huggingface_hub
are what it needs) where its networks are wanted. Nothing is downloaded.
"""

import argparse
import json
import os
import signal
import sys
import traceback

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def child(stream, model, form, ways, keep):
    """What the forked process does: everything but returning."""
    import case
    import stand_in

    if model.kind == "timm":
        stand_in.put_up()
    if form is not None:
        import breaks

        breaks.put_up(form)
    case.main(stream, model, ways, keep)


def run_model(model, form, ways, limit, keep):
    """Rows of one model in the ways that share a form of source; a way that dies or takes too long
    gets a row as well.
    """
    rows, remaining = [], list(ways)
    while remaining:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                os.setpgid(0, 0)
                os.close(reading)
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                if not keep:
                    os.dup2(silent, 2)
                with os.fdopen(writing, "w") as stream:
                    child(stream, model, form, remaining, keep)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writing)
        current, died = None, "ended early"
        signal.signal(signal.SIGALRM, _late)
        with os.fdopen(reading) as stream:
            try:
                signal.alarm(limit)
                for line in stream:
                    found = json.loads(line)
                    if "begin" in found:
                        current = found["begin"]
                        signal.alarm(limit)
                    else:
                        rows.append(found)
                        remaining.remove(found["way"])
                        current = None
            except _Late:
                died = "took more than %d s" % limit
            finally:
                signal.alarm(0)
                try:
                    os.killpg(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                os.waitpid(process, 0)
        if remaining:
            way = current or remaining[0]
            remaining.remove(way)
            rows.append({"model": model.name, "group": model.group, "way": way, "crash": died})
    return rows


class _Late(Exception):
    pass


def _late(_number, _frame):
    raise _Late


def right(row):
    """Whether a row is as it should be."""
    return (
        "crash" not in row
        and row["equal"]
        and row["replaced"] == row["codes"]
        and not row["warnings"]
        and not row["problems"]
    )


def table(rows):
    """The rows as markdown: one line for each group and way, then those that are not right."""
    lines = [
        "| models | way | models | right | torch raises | code objects | replaced and proven | graph breaks | time, plain → with depyf |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = list(dict.fromkeys((row["group"], row["way"]) for row in rows))
    whole = [("all", way) for way in dict.fromkeys(row["way"] for row in rows)]
    for group, way in keys + whole:
        chosen = [row for row in rows if row["way"] == way and group in ("all", row["group"])]
        ran = [row for row in chosen if "crash" not in row]
        lines.append(
            "| %s | %s | %d | %d | %d | %d | %d | %d | %.0f s → %.0f s |"
            % (
                group,
                way,
                len(chosen),
                sum(right(row) for row in chosen),
                sum(bool(row["error"]) for row in ran),
                sum(row["codes"] for row in ran),
                sum(row["replaced"] for row in ran),
                sum(row["breaks"] for row in ran),
                sum(row["plain_seconds"] for row in ran),
                sum(row["seconds"] for row in ran),
            )
        )
    wrong = [row for row in rows if not right(row)]
    if wrong:
        lines += ["", "| not right | way | what |", "| --- | --- | --- |"]
        lines += ["| %s | %s | %s |" % (row["model"], row["way"], reason(row)) for row in wrong]
    return "\n".join(lines)


def reason(row):
    """Why a row is not right, in a few words."""
    if "crash" in row:
        return row["crash"].replace("\n", " ").replace("|", "/")[:200]
    found = []
    if not row["equal"]:
        found.append("results differ (%s; %s)" % (row["error"], row["looked_error"]))
    if row["replaced"] != row["codes"]:
        found.append("%d of %d not replaced" % (row["codes"] - row["replaced"], row["codes"]))
        found.append(row["unproven"][0]["detail"][:150])
    found += row["warnings"][:1] + row["problems"][:1]
    return "; ".join(found).replace("\n", " ").replace("|", "/")


def main(arguments=None):
    """Runs the chosen models and prints the table; exit status 1 when a row is not right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", help="names or groups; all when not given")
    parser.add_argument("--ways", nargs="+", default=["inference", "training"])
    parser.add_argument("--limit", type=int, default=600, help="seconds for one model in one way")
    parser.add_argument(
        "--json", help="file that gets a line for each row; rows that it has are not run again"
    )
    parser.add_argument("--keep", help="folder for the dump (of the last way, with one model)")
    parser.add_argument("--every", type=int, default=1, help="only each N-th model")
    parser.add_argument("--seed", type=int, default=0, help="which of the N")
    parser.add_argument(
        "--table", action="store_true", help="only print the table of the file --json"
    )
    options = parser.parse_args(arguments)

    rows = []
    if options.json and os.path.exists(options.json):
        with open(options.json) as stream:
            rows = [json.loads(line) for line in stream]
    if not options.table:
        import case
        import catalog
        import depyf.recompile  # noqa: F401  imported before the processes are forked
        import torch._dynamo  # noqa: F401
        import transformers

        if "inductor" in options.ways:
            import torch._inductor.compile_fx  # noqa: F401
        transformers.logging.set_verbosity_error()
        done = {(row["model"], row["way"]) for row in rows}
        models = catalog.MODELS[options.seed :: options.every]
        if options.models:
            models = [m for m in catalog.MODELS if {m.name, m.group} & set(options.models)]
        for model in models:
            forms = {}
            for way in options.ways:
                training, _backend, form, _extra = case.WAYS[way]
                if (model.name, way) not in done and (model.train or not training):
                    forms.setdefault(form, []).append(way)
            for form, ways in forms.items():
                for row in run_model(model, form, ways, options.limit, options.keep):
                    rows.append(row)
                    text = "ok" if right(row) else "NOT RIGHT: " + reason(row)
                    print(
                        "%-45s %-22s %3d codes  %s"
                        % (model.name, row["way"], row.get("codes", 0), text),
                        file=sys.stderr,
                    )
                    if options.json:
                        with open(options.json, "a") as stream:
                            stream.write(json.dumps(row) + "\n")
    print(table(rows))
    return not all(right(row) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
