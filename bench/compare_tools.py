"""What four ways of looking at the toy example leave behind: files, bytes, lines of output. The
table of docs/comparison.md.

Usage: python bench/compare_tools.py [PROGRAM | --run-time]   (needs torch; tlparse, from
requirements-docs.txt, in the same environment)
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(os.path.dirname(HERE), "examples", "toy.py")


def run(command, folder, **extra):
    """Runs a command; returns (seconds of processor time, its output as text)."""
    env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "cache"), **extra)
    begin = processor()
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return processor() - begin, done.stdout


def processor():
    """Seconds of processor time that all children so far took; the time of a clock tells little on
    a shared machine.
    """
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def size(folder):
    """(files, bytes) below a folder."""
    found = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    return len(found), sum(os.path.getsize(name) for name in found)


def row(name, seconds, files, count, lines, extra=""):
    """One row of the table."""
    print(
        "| %s | %.1f | %d | %.0f | %d | %s |" % (name, seconds, files, count / 1024, lines, extra)
    )


#: what each way of looking at run time leaves, of 100 calls of the toy example
RUN_TIME = """
import json, os, sys
import torch, depyf
sys.argv = ["toy.py"]
from toy import toy_example

toy = torch.compile(toy_example._torchdynamo_orig_callable, backend="aot_eager")
arguments = torch.randn(10), torch.ones(10)
for _ in range(3):
    toy(*arguments)
with torch.profiler.profile() as profiler:
    for _ in range(100):
        toy(*arguments)
table = profiler.key_averages().table()
rows = [line for line in table.splitlines() if line.strip() and not line.startswith("-")]
print("torch.profiler", len(rows) - 3, len(table.encode()) / 1024)
profiler.export_chrome_trace("trace.json")
events = json.load(open("trace.json"))["traceEvents"]
print("Perfetto", sum(1 for one in events if one.get("ph") == "X"), os.path.getsize("trace.json") / 1024)
found = str(depyf.profile(toy, *arguments, calls=100))
print("depyf.profile", len(found.splitlines()), len(found.encode()) / 1024)
"""


def run_time(folder):
    """Prints the rows of run time: lines or events, and KiB, of each tool."""
    with open(os.path.join(folder, "run_time.py"), "w", encoding="utf-8") as stream:
        stream.write(RUN_TIME)
    _, out = run([sys.executable, "run_time.py"], folder)
    print("\n| run time | lines or events | KiB |\n| --- | --- | --- |")
    for line in out.splitlines():
        name, _, rest = line.partition(" ")
        if name in ("torch.profiler", "Perfetto", "depyf.profile"):
            print("| %s | %s | %.0f |" % (name, rest.split()[0], float(rest.split()[1])))


def main():
    """Prints the tables; with --run-time only that of run time."""
    if "--run-time" in sys.argv:
        base = tempfile.mkdtemp()
        try:
            shutil.copy(PROGRAM, os.path.join(base, "toy.py"))
            run_time(base)
        finally:
            shutil.rmtree(base)
        return
    program = sys.argv[1] if len(sys.argv) > 1 else PROGRAM
    base = tempfile.mkdtemp()
    try:
        with open(program, encoding="utf-8") as stream:
            text = stream.read().split('if __name__ == "__main__":')[0]
        folders = {}
        for name in ("plain", "trace", "logs", "debug", "depyf"):
            folders[name] = os.path.join(base, name)
            os.mkdir(folders[name])
            with open(os.path.join(folders[name], "toy.py"), "w", encoding="utf-8") as stream:
                stream.write(text + "\nmain()\n")
        plain, _ = run([sys.executable, "toy.py"], folders["plain"])
        print("the program alone: %.1f s" % plain)
        print(
            "| | seconds more than alone | files | KiB | lines of output | of it the tool itself |"
        )
        print("| --- | --- | --- | --- | --- | --- |")
        seconds, _ = run([sys.executable, "toy.py"], folders["trace"], TORCH_TRACE="trace")
        log = os.path.join(
            folders["trace"], "trace", os.listdir(os.path.join(folders["trace"], "trace"))[0]
        )
        tool = shutil.which("tlparse") or os.path.join(os.path.dirname(sys.executable), "tlparse")
        parse, _ = run([tool, log, "-o", "out", "--no-browser"], folders["trace"])
        row(
            "TORCH_TRACE and tlparse",
            seconds - plain + parse,
            *size(os.path.join(folders["trace"], "out")),
            0,
            "%.1f s" % parse,
        )
        seconds, out = run(
            [sys.executable, "toy.py"],
            folders["logs"],
            TORCH_LOGS="+dynamo,graph_breaks,recompiles,guards,aot_graphs,output_code",
        )
        row("TORCH_LOGS", seconds - plain, 0, len(out.encode()), len(out.splitlines()))
        seconds, out = run([sys.executable, "toy.py"], folders["debug"], TORCH_COMPILE_DEBUG="1")
        row(
            "TORCH_COMPILE_DEBUG",
            seconds - plain,
            *size(os.path.join(folders["debug"], "torch_compile_debug")),
            len(out.splitlines()),
        )
        seconds, out = run([sys.executable, "-m", "depyf", "run", "toy.py"], folders["depyf"])
        again, _ = run([sys.executable, "-m", "depyf", "report", "depyf_dump"], folders["depyf"])
        row(
            "depyf run",
            seconds - plain,
            *size(os.path.join(folders["depyf"], "depyf_dump")),
            len(out.splitlines()),
            "%.1f s to build the page again" % again,
        )
        shutil.copy(PROGRAM, folders["plain"])
        run_time(folders["plain"])
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
