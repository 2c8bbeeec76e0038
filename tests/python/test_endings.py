"""How the commands end: interrupted, or with standard streams that cannot be written."""

import os
import py_compile
import signal
import subprocess
import sys
import time

import pytest

from tests.interpreters import native_command

COMMANDS = ["package", "native"]


def words_of(command):
    if command == "package":
        return [sys.executable, "-m", "depyf"]
    native = native_command()
    if native is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    return [native]


def heeds_interrupts():
    """For a child: what runs in the background of a shell ignores Ctrl-C, and so would its
    children.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def folder(tmp_path):
    """More files than are decompiled before the test interrupts it."""
    made = tmp_path / "in"
    made.mkdir()
    first = str(made / "m0.pyc")
    py_compile.compile(subprocess.__file__, cfile=first, doraise=True)
    for number in range(1, 1500):
        os.link(first, str(made / ("m%d.pyc" % number)))
    return made


def children_of(process):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as stream:
                    state, parent = stream.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == process and state != "Z":
                found.append(int(name))
    return found


def lives(process):
    try:
        with open("/proc/%d/stat" % process) as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupted_command_leaves_whole_files_and_no_process(
    command, number, folder, tmp_path
):
    out = tmp_path / "out"
    process = subprocess.Popen(
        words_of(command) + ["decompile", str(folder), "-o", str(out), "-j", "3"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, DEPYF_PYTHONS=os.path.dirname(os.path.realpath(sys.executable))),
        preexec_fn=heeds_interrupts,
    )
    wait_until(lambda: out.is_dir() and len(os.listdir(str(out))) > 5)
    beside = children_of(process.pid)
    process.send_signal(number)
    errors = process.communicate(timeout=60)[1]
    # a shell shows that as 130 or 143
    assert process.returncode == -number, errors
    assert "of 1500 files are done" in errors and "Traceback" not in errors
    wait_until(lambda: not any(lives(one) for one in beside))
    texts = {path.read_text() for path in out.iterdir()}
    assert len(texts) == 1 and not [path for path in out.iterdir() if path.suffix != ".py"]


def test_the_signals_are_as_they_were_after_a_command(folder):
    program = (
        "import signal, sys, depyf.cli\n"
        "before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]\n"
        "assert depyf.cli.main(['dis', sys.argv[1]]) == 0\n"
        "after = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]\n"
        "assert before == after\n"
        "try:\n"
        "    signal.raise_signal(signal.SIGINT) if hasattr(signal, 'raise_signal') else None\n"
        "except KeyboardInterrupt:\n"
        "    print('caught')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder / "m0.pyc")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        preexec_fn=heeds_interrupts,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("caught\n") or sys.version_info < (3, 8)


@pytest.mark.parametrize("streams", ["2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_message_goes_into_a_file_where_standard_streams_are_closed(command, streams, tmp_path):
    made = tmp_path / "in"
    made.mkdir()
    source = tmp_path / "mod.py"
    source.write_text("x = 1\n")
    for name in ("a", "c"):
        py_compile.compile(str(source), cfile=str(made / (name + ".pyc")), doraise=True)
    (made / "b.pyc").write_bytes(b"no bytecode at all")
    out = tmp_path / "out"
    line = '"$@" %s' % streams
    words = words_of(command) + ["decompile", str(made), "-o", str(out)]
    done = subprocess.run(["sh", "-c", line, "sh"] + words)
    assert done.returncode == 1
    assert {path.name: path.read_text() for path in out.iterdir()} == dict.fromkeys(
        ("a.py", "c.py"), "x = 1\n"
    )


def dead_pipe():
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


ERRORS = {
    "": 2,
    "decompil": 2,
    "--nonsense": 2,
    "decompile nowhere.pyc": 2,
    "run": 2,
    "run --nonsense": 2,
    "run nowhere.py": 2,
    "report": 2,
    "report nowhere": 2,
    "diff nowhere": 2,
    "diff nowhere neither": 2,
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("words", sorted(ERRORS))
def test_a_message_that_cannot_be_written_changes_no_exit_code(words, tmp_path):
    command = [sys.executable, "-m", "depyf"] + words.split()
    for streams in ("2>/dev/full", "2>&-", "1>&-", "1>/dev/full 2>/dev/full", "1>&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", '"$@" %s' % streams, "sh"] + command,
            cwd=str(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == ERRORS[words] and b"Traceback" not in done.stdout, streams
    with dead_pipe() as out, dead_pipe() as err:
        done = subprocess.run(command, cwd=str(tmp_path), stdout=out, stderr=err)
    assert done.returncode == ERRORS[words]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("verb", ["run", "report", "diff", "decompile"])
def test_help_that_cannot_be_written_is_a_failure(verb):
    command = [sys.executable, "-m", "depyf", verb, "--help"]
    for streams in (">/dev/full", ">&-"):
        done = subprocess.run(
            ["sh", "-c", '"$@" %s' % streams, "sh"] + command, stderr=subprocess.PIPE
        )
        assert done.returncode == 1 and b"Traceback" not in done.stderr
        assert b"the output is not complete" in done.stderr
