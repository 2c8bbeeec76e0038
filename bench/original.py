"""Speed beside the original depyf (from PyPI), on the functions of a standard library that both can
decompile.

    python bench/original.py [--functions N] [--seed S] [--original VERSION]

Makes an environment with the original for this Python in a temporary folder. Each package runs in a
process of its own, since both are called depyf; they are handed the same batches in turn, and each
call of `depyf.decompile(code)` is timed by itself (processor time). A function counts where both
return a text; whether the texts are right is not asked. This depyf is the one that `import depyf`
finds; it is timed without its proof, which the original does not have, and with it.
"""

import argparse
import json
import marshal
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import venv

WORKER = r"""
import json, marshal, signal, sys, time, types
import depyf
how = {"check": False} if "unchecked" in sys.argv else {}
def stop(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, stop)
replies, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    reply = []
    for text in json.loads(line):
        code = marshal.loads(bytes.fromhex(text))
        signal.setitimer(signal.ITIMER_REAL, 20)
        start = time.process_time()
        try:
            done = isinstance(depyf.decompile(code, **how), str)
        except (Exception, RecursionError):
            done = False
        reply.append([time.process_time() - start, done])
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(reply), file=replies, flush=True)
"""


class Worker:
    """A Python process that times `depyf.decompile` on batches of marshalled code objects."""

    def __init__(self, python, *how, environment=None):
        self.process = subprocess.Popen(
            [python, "-c", WORKER, *how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def run(self, batch):
        """[(seconds, returned a text), ...] of the batch."""
        print(json.dumps(batch), file=self.process.stdin, flush=True)
        reply = self.process.stdout.readline()
        if not reply:
            raise SystemExit(
                "a worker ended with %r: is depyf installed for it?" % self.process.wait()
            )
        return json.loads(reply)


def functions_of_library():
    """Marshalled code objects of the functions of this Python's standard library, each with what is
    nested in it.
    """
    library = sysconfig.get_paths()["stdlib"]
    for folder, names, files in os.walk(library):
        names[:] = sorted(
            n
            for n in names
            if n not in ("site-packages", "test", "tests", "idle_test", "lib2to3", "__pycache__")
        )
        for name in sorted(files):
            if not name.endswith(".py"):
                continue
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    todo = [compile(file.read(), path, "exec", dont_inherit=True)]
            except (SyntaxError, ValueError):
                continue
            while todo:
                inside = [
                    constant for constant in todo.pop().co_consts if hasattr(constant, "co_code")
                ]
                for code in inside:
                    if code.co_flags & 1 and not code.co_name.startswith(
                        "<"
                    ):  # CO_OPTIMIZED: a function
                        yield marshal.dumps(code).hex()
                    else:
                        todo.append(code)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--original", default="0.20.0", help="version on PyPI")
    arguments = parser.parse_args()
    everything = list(functions_of_library())
    sample = random.Random(arguments.seed).sample(
        everything, min(arguments.functions, len(everything))
    )
    with tempfile.TemporaryDirectory(prefix="depyf-bench-") as folder:
        venv.create(folder, with_pip=True)
        peer_python = os.path.join(folder, "bin", "python")
        subprocess.run(
            [peer_python, "-m", "pip", "install", "--quiet", "depyf==" + arguments.original],
            check=True,
        )
        elsewhere = {
            name: value for name, value in os.environ.items() if name != "PYTHONPATH"
        }  # which may name this depyf
        ours, peer = Worker(sys.executable, "unchecked"), Worker(peer_python, environment=elsewhere)
        proving = Worker(sys.executable)
        both, ours_done, peer_done, ours_time, peer_time, ratios = 0, 0, 0, 0.0, 0.0, []
        proved_time = 0.0
        for start in range(0, len(sample), 50):
            batch = sample[start : start + 50]
            rows = zip(ours.run(batch), peer.run(batch), proving.run(batch))
            for (mine, done), (its, its_done), (proved, _) in rows:
                ours_done += done
                peer_done += its_done
                if done and its_done:
                    both += 1
                    ours_time += mine
                    peer_time += its
                    proved_time += proved
                    ratios.append(its / max(mine, 1e-7))
    ratios.sort()
    print(
        "%d functions of CPython %d.%d's library, seed %d"
        % (len(sample), *sys.version_info[:2], arguments.seed)
    )
    print(
        "text from depyf: %d, from the original %s: %d, from both: %d"
        % (ours_done, arguments.original, peer_done, both)
    )
    print(
        "on those: %.3f s against %.3f s, %.0f times as fast in all; median of each %.0f, fastest tenth from %.0f"
        % (
            ours_time,
            peer_time,
            peer_time / ours_time,
            ratios[len(ratios) // 2],
            ratios[len(ratios) * 9 // 10],
        )
    )
    print("with the proof: %.3f s, %.0f times as fast" % (proved_time, peer_time / proved_time))


if __name__ == "__main__":
    main()
