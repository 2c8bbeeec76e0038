"""Stepping: pdb and debugpy, driven as their users drive them, stop in the dumped files."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import depyf
import pytest
from forms import long_form
import torch
import warm
from processes import environment

HERE = Path(__file__).parent
PROGRAM = HERE / "stepping.py"
READY = next(
    number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if '"ready"' in line
)


def call_line(folder):
    """The line of the transformed code that calls the graph."""
    lines = (folder / "__transformed_code_0_for_toy_example.py").read_text().splitlines()
    return next(
        number for number, line in enumerate(lines, 1) if re.search(r"__compiled_fn_\w+\(", line)
    )


def graph_line(folder):
    """A line in the middle of the first captured graph."""
    path = sorted(folder.glob("__compiled_fn_*.Captured_Graph.0.py"))[0]
    lines = path.read_text().splitlines()
    return path, next(
        number for number, line in enumerate(lines, 1) if "torch.abs" in line and "#" not in line
    )


@pytest.fixture
def prepared(tmp_path):
    """A dump made by a first run, to know lines beforehand; the run under the debugger writes the
    same folder again.
    """
    folder = tmp_path / "dump"
    done = warm.run([PROGRAM, "eager", folder], environment(tmp_path / "cache"))
    assert done.returncode == 0 and "finished" in done.stdout, done.stderr
    return folder


def test_pdb_stops_in_transformed_code_and_steps_into_the_graph(prepared, tmp_path):
    transformed = prepared / "__transformed_code_0_for_toy_example.py"
    graph, line = graph_line(prepared)
    commands = [
        "tbreak %s:%d" % (PROGRAM, READY),
        "continue",
        "break %s:%d" % (transformed, call_line(prepared)),
        "break %s:%d" % (graph, line),
        "continue",
        "p ('locals', sorted(n for n in locals() if n in 'ab'), a.shape, b.sum().item())",
        "step",
        "step",
        "continue",
        "p ('graph input', l_a_.shape)",
        "continue",
        "quit",
    ]
    done = warm.run(
        ["-m", "pdb", PROGRAM, "eager", prepared],
        environment(tmp_path / "cache"),
        input="\n".join(commands) + "\n",
    )
    text = done.stdout + done.stderr
    assert "('locals', ['a', 'b'], torch.Size([10]), 10.0)" in text, text
    assert "%s(%d)" % (transformed, call_line(prepared)) in text, text
    assert re.search(r"--Call--\n> %s\(\d+\)forward\(\)" % re.escape(str(graph)), text), (
        text
    )  # the first step is in the graph
    assert "%s(%d)forward()" % (graph, line) in text, text
    assert "('graph input', torch.Size([10]))" in text, text
    assert "finished" in text, text


def test_pdb_pauses_at_the_line_that_asked_for_it(tmp_path):
    program = tmp_path / "pauses.py"
    program.write_text(
        "import depyf\nvalue = 41\nwith depyf.debug(pause=True):\n    print('inside')\n"
    )
    done = warm.run([program], environment(tmp_path / "cache"), input="p value + 1\ncontinue\n")
    assert done.returncode == 0, done.stderr
    # from CPython 3.13 on pdb stops before the frame goes on
    assert re.search(r"> .*pauses\.py\([34]\)<module>\(\)", done.stdout), done.stdout
    assert "--Return--" not in done.stdout and "debug.py" not in done.stdout, done.stdout
    assert "42" in done.stdout and "inside" in done.stdout


class DebugAdapter:
    """A client of the Debug Adapter Protocol, as small as the tests need it."""

    def __init__(self, port, deadline=600):
        self._deadline = time.time() + deadline
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), timeout=5)
                break
            except OSError:
                if time.time() > self._deadline:
                    raise
                time.sleep(0.1)
        self._stream = self._socket.makefile("rb")
        self._number = 0
        self._events = []

    def send(self, command, **arguments):
        self._number += 1
        body = json.dumps(
            {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        ).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self._number

    def _read(self):
        self._socket.settimeout(max(1, self._deadline - time.time()))
        length = 0
        while True:
            line = self._stream.readline()
            assert line, "the debugger closed the connection"
            if line in (b"\r\n", b"\n"):
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self._stream.read(length).decode())

    def response(self, number):
        while True:
            message = self._read()
            if message["type"] == "event":
                self._events.append(message)
            elif message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body") or {}

    def event(self, name):
        while True:
            for position, message in enumerate(self._events):
                if message["event"] == name:
                    return self._events.pop(position).get("body") or {}
            message = self._read()
            if message["type"] == "event":
                self._events.append(message)

    def request(self, command, **arguments):
        return self.response(self.send(command, **arguments))

    def stopped(self):
        thread = self.event("stopped")["threadId"]
        frame = self.request("stackTrace", threadId=thread, levels=1)["stackFrames"][0]
        return thread, frame

    def locals(self, frame):
        scope = self.request("scopes", frameId=frame["id"])["scopes"][0]
        found = self.request("variables", variablesReference=scope["variablesReference"])[
            "variables"
        ]
        return {one["name"]: one["value"] for one in found}

    def finish(self):
        """Waits until the program has ended and lets it go."""
        self.event("terminated")
        self.send("disconnect")
        self._socket.close()

    def close(self):
        self._socket.close()


@pytest.fixture
def adapter(tmp_path):
    pytest.importorskip("debugpy")
    started = []

    def start(backend, folder, program=PROGRAM):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = open(str(tmp_path / "output"), "wb")
        process = subprocess.Popen(
            [
                sys.executable,
                "-Xfrozen_modules=off",
                "-m",
                "debugpy",
                "--listen",
                "127.0.0.1:%d" % port,
                "--wait-for-client",
                str(program),
                backend,
                str(folder),
            ],
            stdin=subprocess.DEVNULL,
            env=environment(tmp_path / "cache", PYDEVD_DISABLE_FILE_VALIDATION="1"),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        log.close()
        started.append(process)
        client = DebugAdapter(port)
        started.append(client)
        client.request(
            "initialize",
            adapterID="test",
            clientID="test",
            pathFormat="path",
            linesStartAt1=True,
            columnsStartAt1=True,
        )
        attached = client.send(
            "attach", justMyCode=True, subProcess=False
        )  # torch's compile workers would wait for a client
        client.event("initialized")
        client.request(
            "setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=[{"line": READY}]
        )
        client.request("configurationDone")
        client.response(attached)
        return process, client

    yield start
    for one in reversed(started):
        if isinstance(one, DebugAdapter):
            one.close()
        else:
            try:
                os.killpg(one.pid, signal.SIGKILL)  # debugpy's adapter too
            except ProcessLookupError:
                pass
            one.wait(timeout=30)


def test_debug_pauses_under_an_ide_that_gives_the_program_no_terminal(adapter, tmp_path):
    program = tmp_path / "pauses.py"
    lines = ["import depyf", "with depyf.debug():", "    x = 1", "print('finished')"]
    program.write_text("\n".join(lines) + "\n")
    process, client = adapter("none", tmp_path, program)
    thread, frame = client.stopped()
    assert Path(frame["source"]["path"]) == program and frame["line"] == 2
    assert "finished" not in (tmp_path / "output").read_text()
    assert "set breakpoints" in (tmp_path / "output").read_text()
    client.request("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 4}])
    client.request("continue", threadId=thread)
    thread, frame = client.stopped()
    assert Path(frame["source"]["path"]) == program and frame["line"] == 4
    client.request("continue", threadId=thread)
    client.finish()
    process.wait(timeout=300)
    assert "finished" in (tmp_path / "output").read_text()


def test_debugpy_stops_in_transformed_code_and_steps_into_the_graph(prepared, adapter, tmp_path):
    process, client = adapter("eager", prepared)
    thread, frame = client.stopped()
    assert frame["line"] == READY
    transformed = prepared / "__transformed_code_0_for_toy_example.py"
    graph, line = graph_line(prepared)
    client.request("setBreakpoints", source={"path": str(PROGRAM)}, breakpoints=[])
    client.request(
        "setBreakpoints",
        source={"path": str(transformed)},
        breakpoints=[{"line": call_line(prepared)}],
    )
    client.request("setBreakpoints", source={"path": str(graph)}, breakpoints=[{"line": line}])
    client.request("continue", threadId=thread)

    thread, frame = client.stopped()
    assert Path(frame["source"]["path"]) == transformed and frame["line"] == call_line(prepared)
    values = client.locals(frame)
    assert values["a"].startswith("tensor([0., 1., 2.") and values["b"].startswith("tensor([1., 1.")

    client.request("stepIn", threadId=thread)
    thread, frame = client.stopped()
    assert Path(frame["source"]["path"]) == graph and frame["name"] == "forward"

    client.request("continue", threadId=thread)
    thread, frame = client.stopped()
    assert Path(frame["source"]["path"]) == graph and frame["line"] == line
    assert client.locals(frame)["l_a_"].startswith("tensor([0., 1., 2.")

    client.request("continue", threadId=thread)
    client.finish()
    process.wait(timeout=300)
    assert "finished" in (tmp_path / "output").read_text()


@long_form
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_debugpy_stops_in_transformed_code_under_other_backends(adapter, tmp_path, backend):
    folder = tmp_path / "dump"
    # inductor under a debugger and with cold caches takes minutes
    warmed = warm.run([PROGRAM, backend, folder], environment(tmp_path / "cache"))
    assert warmed.returncode == 0, warmed.stderr
    process, client = adapter(backend, folder)
    thread, _ = client.stopped()
    transformed = folder / "__transformed_code_0_for_toy_example.py"
    client.request(
        "setBreakpoints",
        source={"path": str(transformed)},
        breakpoints=[{"line": call_line(folder)}],
    )
    client.request("continue", threadId=thread)
    thread, frame = client.stopped()
    assert Path(frame["source"]["path"]) == transformed
    assert {"a", "b"} <= set(client.locals(frame))
    client.request("continue", threadId=thread)
    client.finish()
    process.wait(timeout=300)
    assert "finished" in (tmp_path / "output").read_text()


def test_nothing_compiles_inside_and_all_is_as_before(tmp_path):
    def function(x):
        return x + 1

    compiled = torch.compile(function, backend="eager", dynamic=False)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        compiled(torch.ones(3))
    module = run.functions[0].entries[0].graph_module
    before = type(module).forward.__code__
    installed = run.functions[0].entries[0].global_name
    value = globals()[installed]
    with depyf.capture() as inside, depyf.debug():
        assert type(module).forward.__code__.co_filename.endswith(".Captured_Graph.0.py")
        assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
        if hasattr(
            torch.compiler, "set_stance"
        ):  # without it, torch forgets a function that fits no entry
            assert torch.equal(compiled(torch.ones(4)), torch.full((4,), 2.0))
    assert inside.functions == []
    assert type(module).forward.__code__ is before
    assert globals()[installed] is value
    with depyf.capture() as after:
        compiled(torch.ones(4))
    assert len(after.functions) == 1


def test_an_exception_restores_everything(tmp_path):
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        compiled(torch.ones(3))
    module = run.functions[0].entries[0].graph_module
    before = type(module).forward.__code__
    with pytest.raises(ZeroDivisionError), depyf.debug():
        1 / 0
    assert type(module).forward.__code__ is before
    with depyf.capture() as run:
        torch.compile(lambda x: x + 2, backend="eager")(torch.ones(3))
    assert run.functions


@pytest.mark.skipif(
    torch.__version__ < "2.8", reason="torch up to 2.6 compiles what a trace function calls"
)
def test_a_debugger_that_stops_inside_the_block_is_not_compiled(tmp_path):
    import bdb

    seen = []

    def described(value):  # what a debugger shows of a variable; it would be compiled with a break
        if isinstance(value, torch.Tensor):
            return value.sum().item()
        return repr(value)

    class Debugger(bdb.Bdb):
        def user_line(self, frame):
            if "__transformed_code" in frame.f_code.co_filename:
                seen.append({name: described(value) for name, value in frame.f_locals.items()})

    def stopped(x):
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        return y

    def numbers(folder, trace):
        torch._dynamo.reset()
        function = torch.compile(stopped, backend="eager")
        before = sys.gettrace()
        with depyf.prepare_debug(str(folder)) as run:
            function(torch.ones(3))
            sys.settrace(trace or before)
            try:
                function(torch.ones(3))
            finally:
                sys.settrace(before)
            function(torch.ones(3).double())
        names = {one.name for one in run.functions}
        assert "stopped" in names and not names & {"described", "user_line", "trace_dispatch"}
        found = [int(one.graph_name.rpartition("_")[2]) for one in run.entries() if one.graph_name]
        return [number - min(found) for number in sorted(found)]

    debugger = Debugger()
    debugger.reset()
    assert numbers(tmp_path / "a", debugger.trace_dispatch) == numbers(tmp_path / "b", None)
    assert seen
