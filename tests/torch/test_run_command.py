"""`depyf run` on a program that knows nothing of depyf: what it sees, how it ends, what is left."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
import warm
from depyf import cli, dumped
from processes import environment, guards_tell_their_lines
from programs import TORCH, readme_of

PROGRAM = """
import atexit, os, pickle, sys
import torch

class Here:
    pass

def bye():
    pickle.dumps(Here())
    print("exit handler", sys.modules["__main__"].Here is Here)

atexit.register(bye)

def function(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2

def fail():
    raise ValueError("of the program")

print(sys.argv, __name__, os.path.basename(__file__), __spec__ and __spec__.name, __package__)
print(__builtins__.len("ab"))
print(sys.path[0] == os.environ["EXPECTED_PATH"], sys.modules["__main__"].__dict__ is globals())
compiled = torch.compile(function, backend="eager")
compiled(torch.ones(3)); compiled(torch.ones(4)); compiled(torch.ones(3).double())
if "fail" in sys.argv:
    fail()
if "quit" in sys.argv:
    sys.exit("last words")
sys.exit(7)
"""


@pytest.fixture
def start(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PROGRAM)

    def run(*arguments, depyf=True, fresh=False, **extra):
        command = ["-m", "depyf", "run"] if depyf else []
        environ = environment(tmp_path / "cache", EXPECTED_PATH=str(tmp_path), **extra)
        return warm.run(command + list(arguments), environ, cwd=tmp_path, fresh=fresh)

    return run


OWN_BLOCKS = """
import contextlib, sys, threading
import torch, torch._dynamo

def block(name):
    if "plain" in sys.argv:
        return contextlib.nullcontext()
    import depyf
    return depyf.prepare_debug(name)

def first(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2

def second(x):
    return x - 1

def third(x):
    return x * 3

def call(function):
    print(function.__name__, torch.compile(function, backend="eager")(torch.ones(3)))

def work():
    with block("in_thread"):
        opened.set()
        both.wait()
        call(second)

opened, both = threading.Event(), threading.Event()
thread = threading.Thread(target=work)
thread.start()
opened.wait()
with block("in_main"):
    call(first)
    both.set()
    thread.join()
call(third)
"""


def test_blocks_of_the_program_have_their_record_and_ours_has_all(start, tmp_path):
    (tmp_path / "own_blocks.py").write_text(OWN_BLOCKS)
    plain = start("own_blocks.py", "plain", depyf=False)
    done = start("--dump", "around", "own_blocks.py")
    assert done.returncode == plain.returncode == 0, done.stderr
    assert done.stdout == plain.stdout and plain.stdout.count("tensor") == 3
    records = {}
    for folder in ("around", "in_thread", "in_main"):
        document = json.loads((tmp_path / folder / "depyf.json").read_text())
        assert not document["problems"] and not document["unattributed"], document
        records[folder] = {
            entry["name"]: entry for one in document["functions"] for entry in one["entries"]
        }
    # two blocks of the program were open for `first` and `second`, and none for `third`
    names = {
        folder: {name.split("_for_")[-1] for name in found} for folder, found in records.items()
    }
    inside = {"first", "torch_dynamo_resume_in_first_at_13", "second"}
    assert names == {"around": inside | {"third"}, "in_thread": inside, "in_main": inside}
    for name, entry in records["around"].items():
        each = [found[name] for found in records.values() if name in found]
        assert [one["replaced"] for one in each].count(True) == 1
        assert len({(one["verdict"], len(one["guards"]), one["source"]) for one in each}) == 1
        writers = {folder for folder in records if records[folder].get(name, {}).get("replaced")}
        for one in each:
            told = [one["replaced_by"].endswith(os.sep + folder) for folder in writers]
            assert one["replaced"] or told == [True], one["replaced_by"]


def test_a_test_run_for_which_warnings_are_errors_is_what_it_is_without_depyf(tmp_path):
    (tmp_path / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
    pytest_run = ["-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "test_one.py"]
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "run"] + pytest_run,
        cwd=str(tmp_path),
        env=environment(tmp_path / "cache"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
    assert "warning" not in done.stdout


def test_a_script_sees_and_says_what_it_does_without_depyf(start, tmp_path):
    plain = start("program.py", "--dump", "x", "fail", depyf=False, fresh=True)
    done = start("--dump", "out", "program.py", "--dump", "x", "fail", fresh=True)
    assert done.stdout == plain.stdout and "exit handler True" in plain.stdout
    assert done.returncode == plain.returncode == 1
    assert done.stderr.endswith(plain.stderr), done.stderr
    assert "depyf/launch" not in done.stderr and "ValueError: of the program" in plain.stderr
    document = json.loads((tmp_path / "out" / "depyf.json").read_text())
    assert [function["name"] for function in document["functions"]][0] == "function"
    lines = done.stderr[: -len(plain.stderr)].splitlines()
    steps = [line for line in lines if re.search(r"\b\d+ s\b", line)]  # of a slow machine
    assert len(lines) - len(steps) <= 10, lines
    text = "\n".join(lines)
    assert "6 compiles of 1 function" in text and "3 graph breaks at 1 line, 4 recompiles" in text
    assert "program.py:16" in text and "dynamic=True" in text and "out" in lines[-1]


def test_a_module_and_only_the_recompiles(start, tmp_path):
    plain = start("-m", "package", "-m", "quit", depyf=False)
    done = start(
        "--recompiles",
        "--breaks",
        "--guards",
        "package/__main__.py:15",
        "-m",
        "package",
        "-m",
        "quit",
    )
    assert done.stdout == plain.stdout and "'-m', 'quit'" in plain.stdout
    assert done.returncode == plain.returncode == 1
    assert "last words" in plain.stderr and done.stderr.endswith("last words\n")
    assert not (tmp_path / "depyf_dump").exists()
    assert "size mismatch at index 0. expected 3, actual 4" in done.stderr
    assert re.search(
        r"__main__\.py:16: .*\bgraph_break\b", done.stderr
    )  # torch says it in words of its version
    if guards_tell_their_lines():
        assert "function [0/0]" in done.stderr
        assert "check_tensor(L['x']" in done.stderr or TORCH < (
            2,
            4,
        )  # there one guard, of no line, checks all tensors


def test_command_lines(monkeypatch):
    from depyf import cli, launch

    seen = []
    monkeypatch.setattr(
        launch,
        "run",
        lambda options: seen.append((options.module, options.program, options.dump)) or 3,
    )
    assert cli.main(["run", "--dump", "d", "a.py", "--dump", "x", "-m"]) == 3
    assert cli.main(["run", "-m", "a.b", "--open", "x"]) == 3
    assert cli.main(["run", "-ma.b", "x", "--open"]) == 3
    assert cli.main(["run", "--dump=d", "--", "a.py", "x"]) == 3
    assert seen == [
        (None, ["a.py", "--dump", "x", "-m"], "d"),
        (["a.b", "--open", "x"], [], None),
        (["a.b", "x", "--open"], [], None),
        (None, ["a.py", "x"], "d"),
    ]
    assert cli.main(["run"]) == 2
    for wrong in (
        ["run", "-m"],
        ["run", "--guards", "x", "a.py"],
        ["run", "--dum", "d", "a.py"],
    ):
        with pytest.raises(SystemExit) as error:
            cli.main(wrong)
        assert error.value.code == 2


def test_a_folder_with_a_main_module(tmp_path, monkeypatch):
    from depyf.launch import program

    package = tmp_path / "program"
    package.mkdir()
    (package / "__main__.py").write_text("import sys\nprint(sys.argv, __file__)\n")
    code, attributes, first = program._script(str(package))
    assert first == str(package) and attributes["__file__"] == str(package / "__main__.py")
    with pytest.raises(program.LaunchError, match="__main__"):
        program._script(str(tmp_path))


def test_find_nonfinite(start, tmp_path):
    (tmp_path / "program.py").write_text(
        "import torch\n"
        "@torch.compile\n"
        "def function(x):\n"
        "    return torch.log(x) * 2\n"
        "print(function(torch.tensor([1.0, -1.0])))\n"
    )
    done = start("--dump", "out", "--find-nonfinite", "program.py")
    assert done.returncode == 0 and "nan" in done.stdout
    if not hasattr(
        torch.compiler, "set_stance"
    ):  # then no other backend can be put in the place of the program's
        assert "no value was checked" in done.stderr and "set_stance" in done.stderr
        return
    assert "NaN made by log (torch.log)" in done.stderr and "program.py:4" in done.stderr
    # the input, what log makes, and what the product is
    head = "depyf: ran 1 captured graph operation by operation, and checked 3 values\n"
    assert head in done.stderr


def test_another_backend_than_the_programs(start, tmp_path):
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "def own(graph, inputs):\n"
        "    print('own backend')\n"
        "    return graph.forward\n"
        "print(torch.compile(lambda x: x + 1, backend=own)(torch.ones(1)))\n"
    )
    done = start("--backend", "eager", "own.py")
    assert done.returncode == 0 and done.stdout.endswith("tensor([2.])\n"), done.stderr
    if "--backend is ignored" in done.stderr:  # said where this torch cannot
        assert "own backend" in done.stdout and "set_stance" in done.stderr
    else:
        assert "own backend" not in done.stdout and "1 compile" in done.stderr
    done = start("--backend", "eager", "--find-nonfinite", "own.py")
    assert done.returncode == 2 and "leave --backend out" in done.stderr


def test_without_a_compiler_it_says_what_to_install_or_to_give(start, tmp_path):
    (tmp_path / "plain.py").write_text(
        "import torch\nprint(torch.compile(lambda x: x.sin() + 1)(torch.zeros(3)))\n"
    )
    without = {"CXX": "no-such-compiler", "CC": "no-such-compiler"}
    done = start("plain.py", fresh=True, **without)
    assert done.returncode == 1 and "InvalidCxxCompiler" in done.stderr, done.stderr
    said = " ".join(done.stderr.split())
    assert "found none" in said and "help: Install g++ or clang++" in said, done.stderr
    assert "depyf run --backend aot_eager" in said
    done = start("--backend", "aot_eager", "plain.py", fresh=True, **without)
    assert done.returncode == 0 and "tensor([1., 1., 1.])" in done.stdout, done.stderr


def test_what_cannot_be_started(start, tmp_path):
    (tmp_path / "wrong.py").write_text("x = = 1\n")
    plain, done = start("wrong.py", depyf=False, fresh=True), start("wrong.py", fresh=True)
    assert done.returncode == plain.returncode == 1 and done.stderr == plain.stderr
    done = start("absent.py")
    assert done.returncode == 2 and "can't open file" in done.stderr
    done = start()
    assert done.returncode == 2 and "usage: depyf run" in done.stderr


def test_what_python_does_not_find_is_told_with_its_words(start, tmp_path):
    """The exit code and the message are Python's own."""
    for name, text in (
        ("pack/__init__.py", ""),
        ("pack/inner/__init__.py", ""),
        ("empty/a.py", ""),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("broken", "needy"):
        (tmp_path / name).mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("raise ValueError('of the package')\n")
    (tmp_path / "needy" / "__init__.py").write_text("import nothing_of_this_name\n")
    with zipfile.ZipFile(str(tmp_path / "empty.zip"), "w") as archive:
        archive.writestr("a.py", "")
    for arguments in (
        ["-m", "absent"],
        ["-m", "absent.module"],
        ["-m", "pack"],
        ["-m", "pack.inner"],
        ["-m", "pack.absent"],
        ["-m", "math"],
        ["-m", ".relative"],
        ["-m", "pack.py"],
        ["empty"],
        ["empty.zip"],
        ["absent.py"],
    ):
        plain, done = (start(*arguments, depyf=one, fresh=True) for one in (False, True))
        assert done.returncode == plain.returncode != 0, arguments
        said, want = done.stderr.partition(": "), plain.stderr.partition(": ")
        assert (said[0], said[2]) == ("depyf run", want[2]), arguments
        assert not (tmp_path / "depyf_dump").exists()
    for name in ("broken", "broken.module", "needy"):
        plain, done = (start("-m", name, depyf=one, fresh=True) for one in (False, True))
        assert done.returncode == plain.returncode == 1
        last = plain.stderr[plain.stderr.index('__init__.py", line 1') :]
        assert done.stderr.endswith(last) and "depyf" not in done.stderr


def test_programs_of_every_form_run_as_python_runs_them(start, tmp_path):
    text = (
        "import sys\n"
        "print(sys.path[0], sys.argv, __file__, __package__, type(__loader__), __spec__ is None)\n"
    )
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(text)
    (tmp_path / "folder" / "__init__.py").write_text("import sys\nprint(sys.argv)\n")
    (tmp_path / "script.py").write_text(text)
    for name in ("file.zip", "other.ext"):
        with zipfile.ZipFile(str(tmp_path / name), "w") as archive:
            archive.writestr("__main__.py", text)
    for arguments in (
        ["folder", "a"],
        ["file.zip"],
        ["other.ext"],
        ["-m", "folder"],
        ["-m", "script", "a"],
        ["script.py", "-m"],
    ):
        plain, done = (start(*arguments, depyf=one, fresh=True) for one in (False, True))
        assert (done.returncode, done.stdout) == (0, plain.stdout) and plain.stdout, arguments


def test_standard_input_runs(tmp_path):
    text = "import sys\nprint(sys.path[0], sys.argv, __file__, __loader__)\nsys.exit(7)\n"
    done = [
        subprocess.run(
            [sys.executable] + arguments + ["-", "a"],
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            cwd=str(tmp_path),
        )
        for arguments in ([], ["-m", "depyf", "run"])
    ]
    assert [one.returncode for one in done] == [7, 7], done[1].stderr
    assert done[0].stdout == done[1].stdout != ""


SPLIT = """
import torch
@torch.compile(backend="eager")
def split(x):
    if x.sum() > 0:
        return x + 1
    return x - 1
print(split(torch.ones(3)))
"""


def test_without_a_folder_for_temporary_files_nothing_is_run(tmp_path, monkeypatch, capsys):
    """Where nothing can be written, `--breaks` without `--dump` has no place for workers' dumps."""
    import tempfile

    from depyf.cli import main

    def refuse(*_, **__):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    ran = tmp_path / "ran"
    (tmp_path / "program.py").write_text("open(%r, 'w').close()\n" % str(ran))
    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    assert main(["run", "--breaks", str(tmp_path / "program.py")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "No usable temporary directory" in line and "TMPDIR" in line and "--no-follow" in line
    assert not ran.exists()


def test_what_is_over_a_budget_is_told_once(start, tmp_path):
    (tmp_path / "split.py").write_text(SPLIT)
    advised = "help: torch.where(condition, a, b)"
    for options in ([], ["--breaks"], ["--breaks", "--dump", "out"]):
        done = start(*options, "--max-breaks", "0", "split.py")
        assert done.returncode == 3 and "depyf run: 1 graph break, 0 allowed" in done.stderr
        assert done.stderr.count(advised) == 1, done.stderr
        assert done.stderr.count("The branch depends on a") == 1, done.stderr
        assert done.stderr.count("[0/0] is torch's number of a compile") == 1, done.stderr
    done = start("--max-breaks", "1", "split.py")
    assert done.returncode == 0 and done.stderr.count(advised) == 1, done.stderr


ROUNDS = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def pick(self, x):
        kept = x[x.sum(1) > 0]
        if kept.size(0) == 0:
            return x[:0]
        return kept

    def forward(self, x):
        x = self.pick(self.first(x))
        return self.last(x).sum() * x[x[:, 0] > -9].sum()


@torch.compile(backend="eager")
def rounds(net, batches):
    total, right = [], 0
    for x in batches:
        y = net(x)
        total.append(y)
        right += int(y.abs() > 1)
    return torch.stack(total).sum(), right


@torch.compile(backend="eager")
def count(x):
    return torch.bincount(x).sum()


net = Net()
for n in (3, 4, 5):
    rounds(net, [torch.rand(n, 3), torch.rand(n + 1, 3)])
    count(torch.arange(n))
"""
DRAWS = """import numpy as np
import torch


@torch.compile(backend="eager")
def f(x):
    return x + torch.from_numpy(np.random.normal(0, 1, size=3))


@torch.compile(backend="eager")
def g(x):
    return x * 2


np.random.seed(0)
print(f(g(torch.zeros(3))).tolist())
"""


@pytest.mark.skipif(TORCH < (2, 13), reason="torch's words are those of the pinned torch")
def test_a_setting_that_a_change_above_makes_is_no_change_of_its_own(start, tmp_path, monkeypatch):
    from depyf import advise, summary

    (tmp_path / "rounds.py").write_text(ROUNDS)
    start("--dump", "dump", "rounds.py")
    monkeypatch.chdir(tmp_path)
    every = advise.text(summary.load("dump"), most=9)
    setting = "+torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    (change,) = [one for one in re.split(r"\n(?=\d+\. )", every) if setting in one]
    assert "rounds.py:17" in change and "rounds.py:32" in change  # whichever took longer is first
    assert "  torch.bincount returns one count for each value" in change
    assert every.count(setting) == 1
    # what keeps the function uncompiled then
    assert "rounds runs uncompiled at each call because of it; that time is not counted." in every
    assert "next break there is rounds.py:17: until it is removed, too, the function stays" in every


def test_numbers_of_numpy_that_torch_draws_with_its_own_generator_are_told(start, tmp_path):
    (tmp_path / "draws.py").write_text(DRAWS)
    done = start("--advise", "draws.py")
    told = "torch draws the numbers of np.random.normal (draws.py:7) with its own generator"
    assert done.stderr.count(told) == 1
    numpys = start("draws.py", depyf=False, TORCH_COMPILE_DISABLE="1").stdout
    assert numpys.startswith("[1.76405") and done.stdout != numpys
    config = "torch._dynamo.config.use_numpy_random_stream = True\n"
    (tmp_path / "draws.py").write_text(DRAWS.replace("np.random.seed", config + "np.random.seed"))
    done = start("--advise", "draws.py")
    assert done.stdout == numpys and told not in done.stderr


def test_the_advice_of_a_dump_is_that_of_its_run(start, tmp_path, capfd):
    from depyf import cli

    (tmp_path / "split.py").write_text(SPLIT)
    advised = start("--advise", "--dump", "out", "split.py").stderr
    assert cli.main(["report", "--advise", str(tmp_path / "out")]) == 0
    told = capfd.readouterr().out
    assert told.startswith("1. ") and "calls of compiled code" not in told
    change = "change: torch.where(condition, a, b)"
    assert change in told and change in advised


def test_help_in_the_summary_is_whole(start, tmp_path):
    from depyf.advice import breaks

    (tmp_path / "split.py").write_text(SPLIT)
    (branch,) = (row for row in breaks.ROWS if row.key == "branch")
    assert "help: %s\n" % branch.help[0].text in start("split.py").stderr


@pytest.mark.skipif(os.name == "nt", reason="no such file names")
def test_a_program_whose_name_has_a_line_break_is_the_programs_own(start, tmp_path):
    (tmp_path / "split.py").write_text(SPLIT)
    (tmp_path / "sp\nlit.py").write_text(SPLIT)
    names = ("split.py", "sp\nlit.py")
    plain, broken = (start("--dump", "dump", "--force", name).stderr for name in names)
    numbers = re.compile(r"up to [\d.]+ s\b|no compile time|[\d.]+ s\b")
    assert "split.py:" in plain
    assert numbers.sub("", broken) == numbers.sub("", plain).replace("split.py", "sp\\nlit.py")
    assert "sp\\nlit.py:" in readme_of(tmp_path / "dump")


NAMED_ODDLY = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        if self.n > 1:
            x = x + 1
        self.n += 1
        print("here")
        return x + self.n

@torch.compile(backend="eager")
def scaled(x, k):
    y = x.view(2, -1) * k
    torch._dynamo.graph_break()
    return y + k

m = torch.compile(M(), backend="eager")
for i in range(3):
    m(torch.ones(4))
for n, k in ((4, 2), (6, 3), (8, 3), (7, 3)):
    try:
        scaled(torch.ones(n), k)
    except RuntimeError:
        pass
"""


@pytest.mark.parametrize("name", ['my dir/a "b".py', "it's:7/c #.py"])
@pytest.mark.skipif(os.name == "nt", reason="no such file names")
def test_guards_and_breaks_are_found_in_a_program_whose_path_has(name, start, tmp_path):
    told = []
    for one in ("plain/p.py", name):
        (tmp_path / one).parent.mkdir(exist_ok=True)
        (tmp_path / one).write_text(NAMED_ODDLY)
        asked = "--breaks --recompiles --guards".split() + [os.path.basename(one) + ":10"]
        told.append(start(*asked, one).stderr)
    plain, odd = (re.sub(r"[\d.]+ s\b|\d{8,}", "", one) for one in told)
    assert "M.forward [0/1] EQUALS_MATCH: L['self'].n == 1" in plain
    assert 'print("here")' in plain and "guarded at plain/p.py:" in plain
    assert odd == plain.replace("plain/p.py", name).replace("p.py", os.path.basename(name))


def test_numbers_of_compiles_are_explained(start, tmp_path):
    (tmp_path / "split.py").write_text(SPLIT)
    told = start("--breaks", "split.py").stderr
    assert told.splitlines()[-1].startswith("[0/0] is torch's number of a compile: function 0, its")
    assert "number of a compile" not in start("--recompiles", "split.py").stderr
    start("--dump", "out", "split.py")
    text = readme_of(tmp_path / "out")
    for word in ("Compile 0/1 is", "*equivalent*:", "cache *hit*"):
        assert word in " ".join(text.split())


def test_a_failed_compile_is_one_of_those_counted(start, tmp_path):
    (tmp_path / "fails.py").write_text(
        "import torch\n"
        "def none(graph, inputs): raise ValueError\n"
        "torch.compile(lambda x: x + 1, backend=none)(torch.ones(3))\n"
    )
    told = start("fails.py").stderr
    assert re.search(r"depyf: 1 compile of 1 function in \S+ s, 1 of them failed\n", told), told
    assert "       0 graph breaks, 0 recompiles\n" in told  # this backend asks no cache


def test_help_names_all_subcommands(capfd):
    from depyf import cli

    assert cli.main(["--help"]) == 0
    text = capfd.readouterr().out
    for word in ("decompile", "depyf run", "depyf try", "depyf report", "depyf diff"):
        assert word in text


LONG = """
import os, signal, sys, threading, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])  # before any thread of torch's
signal.signal(signal.SIGUSR2, lambda *_: print("handler"))
import torch

def slow(graph, inputs):
    time.sleep(7)
    return graph.forward

os.kill(os.getpid(), signal.SIGUSR2)
print([one.name for one in threading.enumerate()], signal.SIGUSR2 in signal.sigpending())
print("compiling ... ", end="", file=sys.stderr, flush=True)
torch.compile(lambda x: x + 1, backend=slow)(torch.ones(2))
print("done", file=sys.stderr, flush=True)
if "redirect" in sys.argv:
    own, aside = os.dup(2), os.open("aside", os.O_RDWR | os.O_CREAT, 0o666)
    os.dup2(aside, 2)
    torch.compile(lambda x: x - 1, backend=slow)(torch.ones(2))
    os.dup2(own, 2)
"""


def on_a_terminal(command, folder):
    """What a program writes to standard output, and what to the terminal that its standard error
    is.
    """
    import pty
    import threading

    leader, follower = pty.openpty()
    found = []

    def read():
        try:
            while True:
                found.append(os.read(leader, 4096))
        except OSError:  # nobody has it open any more
            pass

    thread = threading.Thread(target=read)
    thread.start()
    try:
        done = subprocess.run(
            command,
            cwd=str(folder),
            env=environment(folder / "cache"),
            stdout=subprocess.PIPE,
            stderr=follower,
            universal_newlines=True,
            timeout=240,
        )
    finally:
        os.close(follower)
        thread.join()
        os.close(leader)
    assert done.returncode == 0
    return done.stdout, b"".join(found).decode()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no such terminals here")
def test_a_long_compile_is_told_on_a_terminal_alone(tmp_path):
    (tmp_path / "long.py").write_text(LONG)
    command = [sys.executable, "-m", "depyf", "run", "long.py", "redirect"]
    said, shown = on_a_terminal(command, tmp_path)
    assert said == "['MainThread'] True\n"
    # a line by itself, below the unfinished one of the program
    found = re.search("compiling ... \r\ndepyf: compiling (.*)\r\ndone\r\n", shown)
    assert found and re.match(
        r"<lambda> \[0/0\] \(the graph is captured\), \d s$", found.group(1)
    ), shown
    assert "\x1b[K" not in shown and (tmp_path / "aside").read_bytes() == b""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="nothing tells of threads here")
def test_where_there_is_no_terminal_no_thread_runs_beside_the_program(start, tmp_path):
    (tmp_path / "threads.py").write_text(
        "import os, threading\n"
        "def count():\n"
        "    return len(os.listdir('/proc/self/task')), threading.active_count()\n"
        "print(count())\n"
        "import torch\n"
        "print(count())\n"
    )
    plain, done = (start("threads.py", depyf=one, fresh=True) for one in (False, True))
    assert done.stdout == plain.stdout and plain.stdout


LATE = """
from concurrent.futures import ThreadPoolExecutor
import concurrent.futures.process  # torch 2.9 imports it in a compile, and fails where it is too late
import sys, threading, time
import torch

def late():
    time.sleep(0.5)
    print(threading.main_thread().is_alive())
    try:
        print(pool.submit(lambda: "accepted").result())
    except RuntimeError as error:
        print(error)
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))

pool = ThreadPoolExecutor(1)
thread = threading.Thread(target=late)
thread.start()
threading._register_atexit(print, "at the end of threading")
if "exit" in sys.argv:
    sys.exit(5)
"""


@pytest.mark.skipif(sys.version_info < (3, 9), reason="threads have no such functions")
@pytest.mark.parametrize("way", ["", "exit"])
def test_threads_of_the_program_end_as_without_depyf(start, tmp_path, way):
    (tmp_path / "late.py").write_text(LATE)
    plain, done = (start("late.py", way, depyf=one, fresh=True) for one in (False, True))
    assert "cannot schedule" in plain.stdout
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode)
    assert "1 compile of 1 function" in done.stderr


HOOKED = """
import sys

def hook(*_):
    raise RuntimeError("of the hook")

def fail():
    1 / 0

if sys.argv[1] == "raises":
    sys.excepthook = hook
elif sys.argv[1] == "deleted":
    del sys.excepthook
fail()
"""


@pytest.mark.parametrize("way", ["raises", "deleted", ""])
def test_what_is_said_of_a_failure_names_no_frame_of_depyf(start, tmp_path, way):
    (tmp_path / "hooked.py").write_text(HOOKED)
    plain, done = (start("hooked.py", way, depyf=one, fresh=True) for one in (False, True))
    assert done.returncode == plain.returncode == 1
    assert done.stderr.endswith(plain.stderr) and "ZeroDivisionError" in plain.stderr


IMPORTS = """
import os, sys
os.environ["TORCH_LOGS"] = "graph_breaks"  # torch reads it when it is imported
before = {"torch", "torch._dynamo", "torch._dynamo.convert_frame", "torch.distributed.nn"} & set(sys.modules)
import torch
after = {"torch._dynamo", "torch._dynamo.convert_frame", "torch.distributed.nn"} & set(sys.modules)
print(sorted(before), sorted(after), len(sys.meta_path))

def function(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2

if "compile" in sys.argv:
    torch.compile(function, backend="eager")(torch.ones(3))
"""


def test_modules_are_imported_when_the_program_imports_them(tmp_path, start):
    """When torch and Dynamo are imported decides what they read of the environment, and what they
    keep alive.
    """
    (tmp_path / "imports.py").write_text(IMPORTS)
    plain, watched = (
        start("imports.py", "compile", depyf=depyf, fresh=True) for depyf in (False, True)
    )
    assert plain.returncode == watched.returncode == 0, watched.stderr
    (modules, _, finders), (watched_modules, _, watched_finders) = (
        one.stdout.strip().rpartition(" ") for one in (plain, watched)
    )
    # one finder waits for torch, and one for multiprocessing.spawn where torch does not import it
    assert watched_modules == modules and int(watched_finders) - int(finders) in (1, 2)
    assert "depyf: 2 compiles of 1 function" in watched.stderr
    assert "Graph break" in plain.stderr and "Graph break" in watched.stderr  # TORCH_LOGS was heard
    nothing = start("imports.py", fresh=True)
    assert nothing.returncode == 0 and "torch compiled nothing" in nothing.stderr


def test_the_programs_own_hook_for_exceptions_sees_no_frames_of_depyf(tmp_path, start):
    (tmp_path / "hook.py").write_text(
        "import sys, traceback\n"
        "def fail():\n"
        "    raise ValueError(3)\n"
        "def hook(kind, error, trace):\n"
        "    print(kind, error, [one.name for one in traceback.extract_tb(trace)])\n"
        "    print(trace is error.__traceback__)\n"
        "sys.excepthook = hook\n"
        "fail()\n"
    )
    plain = start("hook.py", depyf=False)
    assert plain.stdout.splitlines()[0].endswith("3 ['<module>', 'fail']")
    assert start("hook.py").stdout == plain.stdout
    (tmp_path / "none.py").write_text("import sys\nsys.excepthook = None\n1 / 0\n")
    assert "'NoneType' object is not callable" in start("none.py").stderr


def test_a_console_of_the_program_writes_tracebacks_itself(tmp_path, start):
    # code.py does so where `sys.excepthook is sys.__excepthook__`
    (tmp_path / "console.py").write_text(
        "import code\n"
        "class Console(code.InteractiveConsole):\n"
        "    def write(self, text):\n"
        "        print('console:', text)\n"
        "Console().runsource('1/0')\n"
    )
    plain, watched = (start("console.py", depyf=depyf) for depyf in (False, True))
    assert "console: Traceback" in plain.stdout and watched.stdout == plain.stdout


def test_a_program_without_torch_is_run(tmp_path, start):
    (tmp_path / "small.py").write_text("import sys; print('torch' in sys.modules)")
    done = start("small.py", fresh=True)
    assert done.returncode == 0 and done.stdout == "False\n", done.stderr


def test_what_is_waited_for_is_told_once(tmp_path, monkeypatch):
    from depyf.imports import WhenImported

    (tmp_path / "awaited_one.py").write_text("found = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, told = list(sys.meta_path), []
    WhenImported("awaited_one", lambda: told.append(sys.modules["awaited_one"].found))
    never = WhenImported("awaited_two", lambda: told.append("never"))
    import awaited_one

    assert told == [1] and awaited_one.__spec__.loader.__class__.__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(awaited_one.__spec__.loader)
    never.remove()
    assert sys.meta_path == before
    del sys.modules["awaited_one"]


def test_a_break_that_several_compiles_meet_is_told_once():
    from depyf import summary

    found = {
        "reason": "A call",
        "location": "/a/b.py:3",
        "explanation": "It is so.",
        "hints": ["Do this.", "Do this."],
        "url": "",
    }
    entries = [
        {"compile_id": "0/%d" % number, "name": "f", "breaks": [dict(found)]} for number in range(2)
    ]
    other = {"compile_id": "1/0", "breaks": [dict(found, location="/a/b.py:4")]}
    text = summary.breaks_text({"functions": [{"entries": entries + [other]}], "unattributed": []})
    assert text.splitlines() == [
        "/a/b.py:3: A call [0/0, 0/1]",
        "    It is so.",
        "    torch's hint: Do this.",
        "/a/b.py:4: A call [1/0]",
        "    It is so.",
        "    torch's hint: Do this.",
    ]


def test_json_that_cannot_be_written_is_not_dropped_in_silence(monkeypatch):
    from depyf.launch.told import Output

    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="standard output is closed"):
        Output().write("{}")


def test_the_same_help_is_told_once():
    from depyf import summary

    one = {"reason": "A call", "hints": ["Do this.", "Or that."], "url": ""}
    met = [dict(one, location="/a/b.py:%d" % line) for line in (3, 4)]
    entries = [
        {"compile_id": "%d/0" % at, "name": "f", "breaks": [each]} for at, each in enumerate(met)
    ]
    document = {"functions": [{"entries": entries}], "unattributed": []}
    text = summary.breaks_text(document)
    assert text.count("Or that.") == 1
    assert text.splitlines()[-1] == "    help: as above for /a/b.py:3: A call"
    for entry in entries:
        entry.pop("name")  # torch made no code of it
    assert summary.breaks_text(document).splitlines()[-1].startswith("torch compiled nothing: ")


def test_places_are_links_only_where_they_can_be(monkeypatch, tmp_path):
    from depyf import terminal
    from depyf.trace import frames

    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "a b.py")
    assert terminal.place(path, 3) == "a b.py:3"
    link = terminal.place(path, 3, True)
    assert "\033]8;;file://" in link and "a%20b.py#3" in link and link.endswith("\033]8;;\033\\")
    assert terminal.place("<string>", 3, True) == "<string>:3"
    assert frames.parse_place('File "/x/a b.py", line 12, in f') == ("/x/a b.py", 12)
    assert frames.parse_place("/x/y.py:12 in f: code") == ("/x/y.py", 12)
    assert "\033" not in terminal.shown("a\033[31mb")
    monkeypatch.delenv("FORCE_HYPERLINK", raising=False)
    with open(os.devnull) as stream:
        assert not terminal.hyperlinks(stream)
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    assert terminal.hyperlinks(Path)


def test_the_command_is_a_front_door(start, tmp_path):
    def said(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "depyf"] + list(arguments),
            cwd=str(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    code, out, _ = said("--help")
    assert code == 0 and out.index("depyf run") < out.index("depyf decompile")
    assert said()[0] == 2 and said()[2].startswith("depyf shows what torch.compile makes")
    assert said("rnu", "x.py") == (2, "", "depyf: no command 'rnu'; did you mean 'run'?\n")
    code, _, err = said("run")
    assert code == 2 and "--recompiles" in err and "--dump" in err
    (tmp_path / "file").write_text("")
    (tmp_path / "ran.py").write_text("open('ran', 'w')")
    for wrong, told in (
        (["--adivse"], "unrecognized arguments: --adivse; did you mean --advise?"),
        (["--max-break", "0"], "unrecognized arguments: --max-break; did you mean --max-breaks?"),
        (["--xyz"], "unrecognized arguments: --xyz\n"),
        (["--max-breaks", "-1"], "argument --max-breaks: '-1' is not a number of 0 or more"),
        (
            ["--max-recompiles", "few"],
            "argument --max-recompiles: 'few' is not a number of 0 or more",
        ),
        (["--max-compile-seconds", "nan"], "'nan' is not a number of 0 or more"),
    ):
        code, _, err = said("run", *(wrong + ["ran.py"]))
        assert code == 2 and told in err and not (tmp_path / "ran").exists()
    code, _, err = said("run", "--dump", "file/x", "ran.py")
    assert code == 2 and "nothing was run" in err and not (tmp_path / "ran").exists()


def test_a_budget_decides_the_exit_code_of_a_program_that_ended_well(start, tmp_path):
    (tmp_path / "well.py").write_text(PROGRAM.replace("sys.exit(7)", ""))
    done = start("--json", "--no-caches", "--max-breaks", "0", "well.py")
    assert done.returncode == 3
    document = json.loads(done.stdout)  # it is all that stands there
    assert "__main__ well.py" in done.stderr and "exit handler True" in done.stderr
    assert document["schema"] == "depyf.run" and document["functions"]
    assert "0 allowed" in done.stderr and "help: Remove that call." in done.stderr
    done = start("--breaks", "--max-breaks", "0", "--dump", "told", "program.py")
    assert done.returncode == 7 and "0 allowed" in done.stderr
    assert os.path.join("told", "index.html") in done.stderr
    done = start("--breaks", "--max-breaks", "9", "--max-compile-seconds", "900", "well.py")
    assert done.returncode == 0 and "allowed" not in done.stderr


def test_causes_that_cost_nothing_stand_behind_the_others_and_failures_name_their_file():
    from depyf import summary

    def entry(number, seconds, **more):
        metrics = {"duration_us": seconds * 1e6, "co_name": "f", "co_filename": "/a/b.py"}
        base = {"compile_id": number, "metrics": dict(metrics, co_firstlineno=1), "name": ""}
        return dict(base, artifacts=[], breaks=[], reasons=[], guards=[], **more)

    cheap = {"reason": "Call to `torch._dynamo.graph_break()`", "location": "/a/b.py:%d"}
    entries = [entry("0/%d" % number, 0.0) for number in range(4)]
    for number, one in enumerate(entries):
        one["breaks"] = [dict(cheap, location="/a/b.py:%d" % number)]
    costly = entry("1/1", 2.0)
    costly["reasons"] = ["1/0: tensor 'x' size mismatch at index 0. expected 4, actual 5"]
    failed = entry("2/0", 0.0, failure="TorchRuntimeError: no")
    failed["qualname"] = "Model.forward"
    failed["metrics"].update(fail_user_frame_filename="/c/d.py", fail_user_frame_lineno=863)
    document = {"functions": [], "unattributed": entries + [costly, failed]}
    lines = [line for line in summary.summary(document).splitlines() if " s  " in line]
    assert "x.size(0) was 4" in lines[0]
    assert "not compiled" in lines[1] and "Model.forward: because of /c/d.py:863" in lines[1]


def test_guards_of_torchs_own_marks_are_one_row():
    from depyf import summary

    marks = [
        "hasattr(L['x'], '_dynamo_%s_indices') == False" % name for name in ("dynamic", "static")
    ]
    texts = ["check_tensor(L['x'])"] + marks
    guards = [{"text": text, "kind": "", "comment": "# y # b.py:3 in f"} for text in texts]
    function = {"name": "f", "filename": "/a/b.py"}
    function["entries"] = [{"compile_id": "0/0", "guards": guards}]
    lines = summary.guards_text({"functions": [function], "unattributed": []}, "3").splitlines()
    assert len(lines) == 2 and "check_tensor" in lines[0]
    assert "2 guards that no size is marked" in lines[1] and lines[1].endswith("of x")


def test_an_interrupted_compile_is_called_so():
    from depyf.report import words

    said = words.of_failure("KeyboardInterrupt: the compile was interrupted")
    assert said["why"] == "The compile was interrupted; torch did not fail."


ADVISED = {
    "where.py": """
import torch

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    if y.sum() < 0:
        y = y * -1
    return y

print(f(torch.ones(3)).sum(), f(-torch.ones(3) * 4).sum())
""",
    "not.py": """
import torch

@torch.compile(backend="eager")
def f(x):
    if not (x > 0).all():
        return x.abs()
    return x * 2

print(f(torch.ones(3)).sum(), f(-torch.ones(3) * 4).sum())
""",
    "sizes.py": """
import torch

def f(x):
    return x + 1

compiled = torch.compile(f, backend="eager")
print([compiled(torch.ones(size)).sum() for size in (2, 3, 4)])
""",
    "setting.py": """
import torch

@torch.compile(backend="eager")
def f(x):
    return x[x > 0].sum()

print(f(torch.ones(3)))
""",
}


@pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")
@pytest.mark.parametrize("name", sorted(ADVISED))
def test_a_program_with_the_patch_that_is_advised_no_longer_has_the_problem(name, tmp_path):
    """In this process, since the command differs in nothing that matters here."""
    import contextlib
    import runpy

    import depyf
    from depyf import advise, summary

    def look(path):
        torch._dynamo.reset()
        out = io.StringIO()
        with torch._dynamo.config.patch(), depyf.capture() as run, contextlib.redirect_stdout(out):
            runpy.run_path(str(path), run_name="__main__")
        return dict(run.to_json(), program=str(path)), out.getvalue()

    path = tmp_path / name
    path.write_text(ADVISED[name])
    document, printed = look(path)
    first = advise.changes(document)[0]
    assert first.seconds >= 0 and first.patch, (first, advise.text(document))
    text = advise.text(document)
    assert "change: " in text and name in text
    removed = [row[1:] for row in first.patch.splitlines()[2:] if row.startswith("-")]
    (tmp_path / "change.patch").write_text(first.patch)
    target = tmp_path / ("after_" + name)
    target.write_text(ADVISED[name])
    command = ["patch", "-s", str(target), str(tmp_path / "change.patch")]
    try:
        subprocess.run(command, check=True, stdout=subprocess.PIPE)
    except FileNotFoundError:
        pytest.skip("there is no `patch` here")
    assert all(row in ADVISED[name] for row in removed)
    after, printed_after = look(target)
    number = summary.counts(after)
    assert (number["breaks"], number["recompiles"]) == (0, 0), target.read_text()
    assert printed_after == printed


WORKERS = """
import sys
import torch
import torch.multiprocessing as mp

def double(x):
    return x * 2

def work(number):
    torch.compile(double, backend="eager")(torch.ones(number + 2))

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    processes = [context.Process(target=work, args=(number,)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_are_followed(start, tmp_path, method, capsys):
    (tmp_path / "workers.py").write_text(WORKERS)
    done = start("--dump", "out", "workers.py", method)
    assert done.returncode == 0, done.stderr
    assert "of 3 processes" in done.stderr and "2 compiles of 2 functions" in done.stderr
    folders = sorted((tmp_path / "out").glob("worker_*"))
    assert len(folders) == 2
    for folder in folders:
        document = json.loads((folder / "depyf.json").read_text())
        assert [one["name"] for one in document["functions"]] == ["double"]
        assert document["open"] is False
    assert "double" in (tmp_path / "out" / "index.html").read_text()
    if method == "fork":
        done = start("--no-follow", "--dump", "other", "workers.py", method)
        assert "torch compiled nothing" in done.stderr
        assert not list((tmp_path / "other").glob("worker_*"))
        # what workers compiled is a part of what a program did
        assert cli.main(["diff", str(tmp_path / "out"), str(tmp_path / "other")]) == 1
        assert re.search(r"compiles +2 +0 +−2", capsys.readouterr().out)
        assert cli.main(["diff", str(tmp_path / "out"), str(tmp_path / "out")]) == 0
        assert re.search(r"compiles +2 +2\n", capsys.readouterr().out)


FORKING = """
import os, sys
if sys.argv[1] == "torch first":
    import torch
children = []
for number in range(2):
    child = os.fork()
    if child == 0:
        import torch
        def double(x):
            return x * 2
        torch.compile(double, backend="eager")(torch.ones(3 + number))
        sys.exit(4) if number else os._exit(3)
    children.append(child)
print([os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children])
import torch
def single(x):
    return x + 1
torch.compile(single, backend="eager")(torch.ones(3))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("when", ["torch first", "fork first"])
def test_what_a_child_of_os_fork_compiles_is_in_the_report(start, tmp_path, when):
    (tmp_path / "forking.py").write_text(FORKING)
    done = start("--dump", "out", "forking.py", when)
    assert done.returncode == 0 and done.stdout.split("\n")[0] == "[3, 4]", done.stderr
    assert "of 3 processes" in done.stderr and "3 compiles of 3 functions" in done.stderr
    assert "of another block" not in done.stderr  # each process has one
    for folder in sorted((tmp_path / "out").glob("worker_*")):
        assert [one["name"] for one in dumped.load(folder)["functions"]] == ["double"]


PARENT = """
import os, subprocess, sys
if sys.argv[1:] == ["child"]:
    assert "DEPYF_FOLLOW" not in os.environ
    from importlib.util import find_spec
    assert ("sitecustomize" in sys.modules) == (find_spec("sitecustomize") is not None)
    assert not any(one.endswith(os.path.join("depyf", "child")) for one in sys.path)
    print("child", os.environ.get("PYTHONPATH"))
    import torch
    def double(x):
        return x * 2
    torch.compile(double, backend="eager")(torch.ones(3))
elif sys.argv[1:] == ["between"]:
    print("between", os.environ.get("PYTHONPATH"))
    subprocess.run([sys.executable, __file__, "child"], check=True, env=dict(os.environ, A="b"))
else:
    subprocess.run([sys.executable, __file__, "between"], check=True)
    subprocess.run("%s %s child" % (sys.executable, __file__), shell=True, check=True)
    print(subprocess.check_output(["echo", "nothing"], text=True).strip())
    try:
        subprocess.run(["a program that is nowhere"])
    except FileNotFoundError as error:
        print("not found:", error.filename)
    import torch
    @torch.compile(backend="eager")
    def own(x):
        return x + 1
    own(torch.ones(3))
"""


def test_pythons_that_the_program_starts_are_followed_and_see_no_difference(start, tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    plain = start("parent.py", depyf=False)
    done = start("--dump", "out", "parent.py")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(plain.stdout.split())
    assert "of 3 processes" in done.stderr and "3 compiles of 3 functions" in done.stderr
    folders = sorted((tmp_path / "out").glob("worker_*"))
    assert len(folders) == 2
    for folder in folders:
        document = json.loads((folder / "depyf.json").read_text())
        assert [one["name"] for one in document["functions"]] == ["double"]
        assert document["open"] is False
    # the page of the folder is made again of all of them
    page = tmp_path / "out" / "index.html"
    page.unlink()
    told = subprocess.run(
        [sys.executable, "-m", "depyf", "report", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert "of 3 processes" in told.stdout and "3 compiles of 3 functions" in told.stdout
    assert "double" in page.read_text() and "own" in page.read_text()


def test_popen_is_as_before_when_nothing_is_followed(tmp_path):
    from depyf.follow import Follower

    before = subprocess.Popen.__init__
    with Follower(str(tmp_path)):
        assert subprocess.Popen.__init__ is not before
        with pytest.raises(TypeError):
            subprocess.Popen(nothing=1)
    assert subprocess.Popen.__init__ is before


@pytest.mark.parametrize(
    "command, options, followed",
    [
        (["python3", "a.py"], {}, True),
        (["/usr/bin/python3.12", "-m", "a"], {}, True),
        ("python a.py", {"shell": True}, True),
        ("cd x && /opt/bin/python3 a.py", {"shell": True}, True),
        (["torchrun", "a.py"], {"executable": sys.executable}, True),
        (["ls", "python"], {}, False),
        (["pythonize", "a.py"], {}, False),
        ([sys.executable, "-m", "depyf", "run", "a.py"], {}, False),
        ([sys.executable, "/x/torch/_inductor/compile_worker/__main__.py"], {}, False),
        ("make pythons", {"shell": True}, False),
        ([], {}, False),
        # nothing takes depyf's two variables out of the environment of these
        (["python3", "-I", "-c", "1"], {}, False),
        (["python3", "-uE", "a.py"], {}, False),
        (["python3", "-W", "error", "-Xdev", "-S", "a.py"], {}, False),
        ("cd x && python3 -I a.py", {"shell": True}, False),
        (["python3", "-W", "-I", "a.py"], {}, True),
        (["python3", "a.py", "-I"], {}, True),
        (["python3", "-cI", "-S"], {}, True),
        (["python3", "-X", "dev", "-m", "a", "-S"], {}, True),
        (["python3", "-", "-E"], {}, True),
    ],
)
def test_which_children_are_pythons(command, options, followed):
    from depyf.follow import _is_python

    assert _is_python(dict(options, args=command)) is followed


def test_the_dump_of_another_program_is_not_written_over(tmp_path, capsys):
    from depyf.launch.folders import own_folder

    def dump(folder, program):
        folder.mkdir()
        document = {"schema": "depyf.run", "functions": [], "program": str(program)}
        (folder / "depyf.json").write_text(json.dumps(document))

    stream, name = io.StringIO(), str(tmp_path / "depyf_dump")
    assert own_folder(name, "a.py", False, stream) == name
    dump(tmp_path / "depyf_dump", "a.py")
    assert own_folder(name, "a.py", False, stream) == name
    assert stream.getvalue() == ""
    assert own_folder(name, "b.py", False, stream) == name + "_2"
    assert "holds the dump of a.py; this one goes to " in stream.getvalue()
    dump(tmp_path / "depyf_dump_2", "b.py")
    assert own_folder(name, "b.py", False, stream) == name + "_2"
    assert own_folder(name, "c.py", False, stream) == name + "_3"
    assert own_folder(name, "c.py", True, stream) == name


def test_a_folder_that_is_named_is_written_over_only_by_force(start, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    document = {"schema": "depyf.run", "functions": [], "program": "other.py"}
    (folder / "depyf.json").write_text(json.dumps(document))
    (tmp_path / "mine.py").write_text("print('it ran')")
    done = start("--dump", "out", "mine.py")
    assert done.returncode == 2 and "it ran" not in done.stdout
    assert "--dump out holds the dump of other.py; --force overwrites it" in done.stderr
    done = start("--dump", "out", "--force", "mine.py")
    assert done.returncode == 0 and "it ran" in done.stdout
    assert json.loads((folder / "depyf.json").read_text())["program"] == "mine.py"


def test_many_recompiles_for_one_reason_take_a_few_lines():
    from depyf import summary

    def told(count):
        entries = []
        for number in range(count):
            one = {"compile_id": "0/%d" % number, "name": "f", "breaks": [], "metrics": {}}
            reasons = ["0/%d: n == %d  # x  # a.py:3 in f" % (n, n) for n in range(number)][::-1]
            entries.append(dict(one, guards=[], artifacts=[], reasons=reasons))
        function = {"name": "f", "filename": "/a/a.py", "firstlineno": 3, "is_resume": False}
        document = {"functions": [dict(function, entries=entries)], "unattributed": []}
        return summary.recompiles_text(document).splitlines()

    lines = told(40)
    assert lines[0].startswith("/a/a.py:3: f compiled again 39 times [0/1, ")
    assert len(lines) == len(told(20)) < 12 and "    and 35 more" in lines
    assert "0/0: " in lines[1] and "n" in lines[1]
    assert told(2)[0] == "/a/a.py:3: f compiled again [0/1], 0.00 s"


@pytest.mark.parametrize("way", [["program.py"], ["-m", "program"]], ids=["file", "module"])
def test_the_globals_of_the_program_are_those_without_depyf(tmp_path, way):
    (tmp_path / "program.py").write_text(
        "print(list(globals()), globals().get('__annotations__'), globals().get('__cached__'))\n"
    )
    said = [
        subprocess.run(
            [sys.executable] + command + way, cwd=str(tmp_path), stdout=subprocess.PIPE, text=True
        ).stdout
        for command in ([], ["-m", "depyf", "run"])
    ]
    assert said[0] and said[0] == said[1]
