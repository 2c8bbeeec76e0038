"""Runs Python programs in processes that have torch imported: the import takes longer than most
tests do.

A server imports torch once and forks for each program (`python warm.py FD`). `run` is what tests
use. A program whose environment torch would have read when it was imported gets a process of its
own.

What the server has is frozen for Python's garbage collector: a program would otherwise copy and
free all of torch's objects when it ends, which takes longer than most programs do.
"""

import atexit
import gc
import json
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import types

# What torch, Python or the libraries below them read when they are loaded. Torch reads the folder
# of its caches when it uses it, and `become` sets the path of modules.
_READ_AT_START = ("TORCH", "PYTORCH", "PYTHON", "OMP_", "MKL_", "KMP_", "LD_")
_READ_LATER = {"TORCHINDUCTOR_CACHE_DIR", "PYTHONPATH"}

# Triton's bindings tell at the end of what is alive, which what is frozen is.
_TOLD_OF_FROZEN = re.compile(r"^nanobind: leaked .*refleaks\.html\n?", re.M | re.S)

_server = None


def run(arguments, env, cwd=None, input=None, timeout=1200, fresh=False):
    """What `subprocess.run([sys.executable, *arguments], ...)` returns, output as text and apart.

    arguments: a script, or "-m" and a module, or "-c" and a text; then the program's own
    fresh: the program imports torch itself
    """
    arguments = [str(one) for one in arguments]
    from releases import TORCH  # not the server, which imports torch itself

    # an earlier torch has processes of its own, which a forked program waits for at its end
    fresh = fresh or not hasattr(os, "fork") or TORCH < (2, 4)
    fresh = fresh or (arguments[0].startswith("-") and arguments[0] not in ("-m", "-c"))
    if fresh or _at_start(env) != _running_server().at_start:
        return subprocess.run(
            [sys.executable] + arguments,
            env=env,
            cwd=cwd,
            input=input,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=timeout,
        )
    return _running_server().run(arguments, env, cwd or os.getcwd(), input or "", timeout)


def _environment():
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return found


def _at_start(env):
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_READ_AT_START) and name not in _READ_LATER
    }


def _running_server():
    global _server
    if _server is None:
        _server = _Server()
        atexit.register(_server.close)
    return _server


class _Server:
    def __init__(self):
        env = _environment()
        self.at_start = _at_start(env)
        self._socket, other = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), str(other.fileno())],
            pass_fds=[other.fileno()],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        other.close()
        self._answers = self._socket.makefile("r")

    def run(self, arguments, env, cwd, input, timeout):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("stdin", "stdout", "stderr")]
            for path in paths:
                with open(path, "w") as stream:
                    stream.write(input if path is paths[0] else "")
            request = {"arguments": arguments, "env": env, "cwd": str(cwd), "paths": paths}
            self._socket.settimeout(timeout)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            pid = None
            try:
                pid = int(self._answers.readline())
                code = int(self._answers.readline())
            except (OSError, ValueError):  # it takes too long, or the server is gone
                if pid is not None:
                    os.kill(pid, signal.SIGKILL)
                self.close()
                raise subprocess.TimeoutExpired(arguments, timeout)
            texts = []
            for path in paths[1:]:
                with open(path, encoding="utf-8", errors="backslashreplace") as stream:
                    texts.append(_TOLD_OF_FROZEN.sub("", stream.read()))
        return subprocess.CompletedProcess([sys.executable] + arguments, code, *texts)

    def close(self):
        global _server
        _server = None
        self._socket.close()
        self._process.kill()
        self._process.wait()


# ---- the server ----------------------------------------------------------------------------------


def serve(connection):
    """Forks for each request; returns the request in the forked process, None when there are no
    more.
    """
    requests = connection.makefile("r")
    for line in requests:
        pid = os.fork()
        if pid == 0:
            requests.detach()
            connection.close()
            return json.loads(line)
        connection.sendall(b"%d\n" % pid)
        status = os.waitpid(pid, 0)[1]
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        connection.sendall(b"%d\n" % code)
    return None


def become(request):
    """Makes this process what `python ARGUMENTS` would be when the program begins; returns what
    runs it.
    """
    os.chdir(request["cwd"])
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    wanted = request["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1 : 1 + len(paths)] = [path for path in wanted if path]
    os.environ.clear()
    os.environ.update(request["env"])
    for number, path in enumerate(request["paths"]):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    # an earlier torch remembers where the server's folder of caches had the header of its kernels
    codecache = sys.modules.get("torch._inductor.codecache")
    for name in ("cpp_prefix_path", "cpp_prefix"):
        getattr(getattr(codecache, name, None), "cache_clear", str)()
    first, *others = request["arguments"]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    if first == "-m":
        sys.argv[:] = others
        sys.path[0] = request["cwd"]
        return lambda: runpy._run_module_as_main(others[0])
    if first == "-c":
        sys.argv[:] = ["-c"] + others[1:]
        sys.path[0] = ""
        code = compile(others[0], "<string>", "exec")
    else:
        sys.argv[:] = [first] + others
        path = os.path.abspath(first)
        sys.path[0] = os.path.dirname(path)
        main.__file__ = path if sys.version_info >= (3, 9) else first
        with open(path, "rb") as stream:
            code = compile(stream.read(), first, "exec")
    return lambda: exec(code, main.__dict__)


def import_torch():
    import torch  # noqa: F401
    import torch._dynamo  # noqa: F401
    import torch._inductor.compile_fx  # noqa: F401


def measure_guards_cheaply():
    """Lets torch measure the guards of a compile without what it does first: it empties the
    processor's caches, 20 ms for each compile. `.torchs` of the new function is torch's own.
    """
    from time import perf_counter

    from torch._dynamo import guards

    def microseconds(root, scope, times):
        began = perf_counter()
        root.check(scope)
        return (perf_counter() - began) * 1e6

    if hasattr(guards, "profile_guard_manager"):
        microseconds.torchs = guards.profile_guard_manager
        guards.profile_guard_manager = microseconds


def threads():
    """How many threads the process has, where the system tells."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


def compile_once():
    """Lets Inductor learn what it learns once for a process: its patterns, the processor, the files
    of torch. It compiles a graph that Dynamo does not see, with caches that are then removed, and
    starts no threads, which forked processes would not have. Returns whether that is so.
    """
    import torch

    bars = sys.modules.get("tqdm")  # Inductor's bars have a thread that looks at them
    interval = bars and bars.tqdm.monitor_interval
    if bars:
        bars.tqdm.monitor_interval = 0
    before = threads()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        try:
            one = torch.ones(3)
            with torch._inductor.config.patch(compile_threads=1):
                torch._inductor.compile(torch.fx.symbolic_trace(lambda x: x + 1), [one])(one)
        except Exception:  # as at an older torch
            return False
        finally:
            del os.environ["TORCHINDUCTOR_CACHE_DIR"]
            if bars:
                bars.tqdm.monitor_interval = interval
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    return threads() == before


if __name__ == "__main__":
    import_torch()
    if len(sys.argv) == 2 and not compile_once():  # programs then begin without it
        os.execv(sys.executable, [sys.executable, *sys.argv, "plain"])
    measure_guards_cheaply()
    channel = socket.socket(fileno=int(sys.argv[1]))
    gc.collect()
    gc.freeze()
    asked = serve(channel)
    if asked is not None:
        program = become(asked)
        try:
            program()
        except Exception as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            sys.excepthook(type(error), error.with_traceback(trace), trace)
            sys.exit(1)
