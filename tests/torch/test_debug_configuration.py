"""The launch configuration of docs/debugging.md, driven over the Debug Adapter Protocol as an
editor does it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest
from processes import environment
from programs import TORCH
from test_debug import PROGRAM, DebugAdapter, call_line, prepared  # noqa: F401

DOCUMENT = Path(__file__).parents[2] / "docs" / "debugging.md"


def configurations_of_code():
    text = DOCUMENT.read_text(encoding="utf-8")
    return json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL).group(1))["configurations"]


def test_the_configurations_for_pycharm_can_be_read():
    files = re.findall(r"```xml\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    configurations = [
        xml.etree.ElementTree.fromstring(text).find("configuration") for text in files
    ]
    assert [one.get("type") for one in configurations] == ["PythonConfigurationType"] * 2
    values = [
        {option.get("name"): option.get("value") for option in one.findall("option")}
        for one in configurations
    ]
    # the same as in the one for Visual Studio Code, and a command that there is
    (code, *_) = configurations_of_code()
    assert values[0]["INTERPRETER_OPTIONS"] == " ".join(code["pythonArgs"])
    assert {one.get("name"): one.get("value") for one in configurations[0].iter("env")} == code[
        "env"
    ]
    assert (values[1]["SCRIPT_NAME"], values[1]["MODULE_MODE"], values[1]["PARAMETERS"]) == (
        "depyf",
        "true",
        "run --open program.py",
    )


def filled(value, variables):
    """The variables of Visual Studio Code replaced, as it does before it starts an adapter."""
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", lambda match: variables[match.group(1)], value)
    if isinstance(value, list):
        return [filled(one, variables) for one in value]
    if isinstance(value, dict):
        return {key: filled(one, variables) for key, one in value.items()}
    return value


class Editor(DebugAdapter):
    """A client that opens terminals for the adapter, as editors do."""

    terminal = None
    environment = None
    log = None

    def _read(self):
        while True:
            message = super()._read()
            if message["type"] != "request":
                return message
            assert message["command"] == "runInTerminal", message
            arguments = message["arguments"]
            env = dict(self.environment)
            env.update({key: value for key, value in (arguments.get("env") or {}).items() if value})
            self.terminal = subprocess.Popen(
                arguments["args"],
                cwd=arguments.get("cwd") or None,
                env=env,
                stdout=self.log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            body = json.dumps(
                {
                    "seq": 100000 + message["seq"],
                    "type": "response",
                    "request_seq": message["seq"],
                    "command": "runInTerminal",
                    "success": True,
                    "body": {"processId": self.terminal.pid},
                }
            ).encode()
            self._socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def test_breakpoints_bind_in_dumped_files(prepared, tmp_path):  # noqa: F811
    pytest.importorskip("debugpy")
    configuration = filled(
        configurations_of_code()[0],
        {"file": str(PROGRAM), "command:python.interpreterPath": sys.executable},
    )
    assert configuration.pop("type") == "debugpy" and configuration.pop("request") == "launch"
    configuration["args"] = ["eager", str(prepared)]  # what the program itself wants
    configuration["cwd"] = str(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = environment(tmp_path / "cache")
    log = open(str(tmp_path / "output"), "wb")
    server = subprocess.Popen(
        [sys.executable, "-m", "debugpy.adapter", "--host", "127.0.0.1", "--port", str(port)],
        env=env,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    editor = None
    try:
        editor = Editor(port)
        editor.environment, editor.log = env, log
        editor.request(
            "initialize",
            adapterID="debugpy",
            clientID="vscode",
            pathFormat="path",
            linesStartAt1=True,
            columnsStartAt1=True,
            supportsRunInTerminalRequest=True,
        )
        launched = editor.send("launch", **configuration)
        editor.event("initialized")
        transformed = prepared / "__transformed_code_0_for_toy_example.py"
        bound = editor.request(
            "setBreakpoints",
            source={"path": str(transformed)},
            breakpoints=[{"line": call_line(prepared)}],
        )["breakpoints"]
        assert [one["verified"] for one in bound] == [True], bound
        editor.request("configurationDone")
        editor.response(launched)
        thread, frame = editor.stopped()
        assert Path(frame["source"]["path"]) == transformed
        assert frame["line"] == call_line(prepared)
        # this stop is outside of depyf.debug(), where Dynamo of torch up to 2.6 compiles the
        # debugger's functions as well
        if TORCH > (2, 6):
            assert editor.locals(frame)["a"].startswith("tensor([0., 1., 2.")
        editor.request("setBreakpoints", source={"path": str(transformed)}, breakpoints=[])
        editor.request("continue", threadId=thread)
        editor.finish()
        editor.terminal.wait(timeout=600)
        assert "finished" in (tmp_path / "output").read_text()
    finally:
        log.close()
        for process in (server, editor.terminal if editor is not None else None):
            if process is not None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait(timeout=60)
