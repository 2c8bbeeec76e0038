"""When things go wrong: disks, folders, interrupts, exceptions, other processes, a torch with parts
missing.

In each case the program gets the result or the exception that it gets without depyf, and what depyf
could not do is one warning and a row in the run.
"""

import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import types

import depyf
import pytest
import torch
import warm
from processes import environment, function_of, named_regions
from programs import readme_of
from depyf import files, summary
from depyf.torch import DepyfWarning


def double(x):
    return x * 2


def broken(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


def compiled(function, **options):
    options.setdefault("backend", "eager")
    return torch.compile(function, **options)


def left_behind(folder):
    return [name for name in os.listdir(str(folder)) if name.startswith(".depyf-")]


# ---- disks and folders ---------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path):
    """Mounts a tmpfs with the given options and returns its path; skips where that is not allowed."""
    points = []

    def mount(options):
        point = tmp_path / ("disk%d" % len(points))
        point.mkdir()
        try:
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(point)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError:
            pytest.skip("no mount command")
        if done.returncode:
            pytest.skip("mounting is not allowed here")
        points.append(point)
        return point

    yield mount
    for point in points:
        subprocess.run(["umount", str(point)], check=True)


def test_a_full_disk(mounted):
    disk = mounted("size=16k")
    with pytest.warns(DepyfWarning) as caught:
        with depyf.prepare_debug(str(disk / "dump")) as run:
            for factor in range(1, 6):
                result = compiled(lambda x, factor=factor: x * factor + 1)(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 6.0))
    assert len([one for one in caught if issubclass(one.category, DepyfWarning)]) == 1
    assert "No space left" in str(caught[0].message)
    assert any("No space left" in problem.message for problem in run.problems)
    assert left_behind(disk / "dump") == []
    for name in os.listdir(str(disk / "dump")):
        text = (disk / "dump" / name).read_text(encoding="utf-8")
        if name.endswith(".py"):
            compile(text, name, "exec")
        elif name.endswith(".json"):
            json.loads(text)
    # what does not run from a file is torch's own
    for entry in run.entries():
        assert entry.replaced == os.path.exists(str(disk / "dump" / (entry.name + ".py")))


FULL = """
import sys, torch

@torch.compile(backend="eager")
def double(x):
    return x * 2

double(torch.ones(3))
sys.exit(7)
"""


@pytest.mark.parametrize("free", [4, 12])
def test_run_says_what_is_missing_of_a_dump_on_a_full_disk(mounted, tmp_path, free):
    """The exit code is the program's own, and the dump is not named as if it were whole."""
    (tmp_path / "program.py").write_text(FULL)
    disk = mounted("size=1000k")
    (disk / "taken").write_bytes(b"x" * 1024 * (1000 - free))
    folder = disk / "dump"

    def run(*words):
        done = warm.run(["-m", "depyf", *words], environment(tmp_path / "cache"), cwd=tmp_path)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    done = run("run", "--dump", str(folder), "program.py")
    assert done.returncode == 7, done.stderr
    told = [line for line in done.stderr.splitlines() if "is incomplete" in line]
    last = done.stderr.splitlines()[-1]
    assert told == [last], done.stderr
    assert "disk0/dump is incomplete: No space left on device; missing: " in last
    kinds = {
        "README.md": "README.md",
        "index.html": "index.html",
        "full code": "full_code_for_*.py",
        "transformed code": "__transformed_code_*.py",
        "graphs and kernels": "__compiled_fn_*",
    }
    for kind, pattern in kinds.items():
        assert (kind in last) != bool(list(folder.glob(pattern))), (kind, last)
    assert "depyf.json" in last
    # neither is it for who reads it later
    done = run("report", "--text", str(folder))
    assert (
        "incomplete" in done.stderr + done.stdout and "No space left" in done.stderr + done.stdout
    )


LIMITED = """
import os, resource, sys, warnings
import depyf, torch

def double(x):
    return x * 2

def long(x):
    for number in range(200):
        x = x * number + 1
    return x

x = torch.ones(3)
want = double(x), long(x)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with depyf.prepare_debug("dump") as run:
        have = torch.compile(double, backend="eager")(x), torch.compile(long, backend="eager")(x)
assert all(torch.equal(one, other) for one, other in zip(want, have))
told = [str(one.message) for one in caught if issubclass(one.category, depyf.torch.DepyfWarning)]
assert len(told) == 1 and "File too large" in told[0], told
assert any("File too large" in problem.message for problem in run.problems)
names = os.listdir("dump")
assert not [name for name in names if name.startswith(".depyf-")], names
assert "__transformed_code_0_for_double.py" in names, names
for entry in run.entries():
    assert entry.replaced == (entry.name + ".py" in names), (entry.name, names)
for name in names:
    if name.endswith(".py"):
        with open(os.path.join("dump", name), encoding="utf-8") as file:
            compile(file.read(), name, "exec")
print("finished")
"""


HANDLED = """
import resource, signal, sys, warnings
import torch, depyf

def double(x):
    return x * 2

called = []
handlers = {"counts": lambda *_: called.append(1), "default": signal.SIG_DFL, "ignored": signal.SIG_IGN}
before = signal.signal(signal.SIGXFSZ, handlers[sys.argv[1]])
if sys.argv[2] == "pends":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXFSZ])
    signal.raise_signal(signal.SIGXFSZ)
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
with depyf.prepare_debug("dump") as run:
    torch.compile(double, backend="eager")(torch.ones(3))
assert any("File too large" in problem.message for problem in run.problems)
assert not called
blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
assert blocked == ({signal.SIGXFSZ} if sys.argv[2] == "pends" else set()), blocked
assert (signal.SIGXFSZ in signal.sigpending()) == (sys.argv[2] == "pends")
print("finished")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_limit_on_the_size_of_files(run_script):
    assert "finished" in run_script(LIMITED).stdout


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="Python cannot raise signals")
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="there is no such signal")
@pytest.mark.parametrize("handler", ["counts", "default", "ignored"])
@pytest.mark.parametrize("state", ["pends", "free"])
def test_a_limit_on_the_size_of_files_sends_the_program_no_signal(run_script, handler, state):
    assert "finished" in run_script(HANDLED, handler, state).stdout


@pytest.mark.parametrize(
    "module, name",
    [
        ("depyf.recompile", "recompile"),
        ("depyf.torch.capture.session", "decompile_with_constants"),
        ("depyf.torch.capture.session", "violation"),
        ("depyf.torch.guards", "guards_of"),
        ("depyf.torch.fullcode.renderer", "section_of"),
        ("depyf.torch.compat", "graph_module_of"),
    ],
)
@pytest.mark.parametrize("error", [ValueError, RecursionError, MemoryError])
def test_a_mistake_of_depyf_does_not_reach_the_program(tmp_path, monkeypatch, module, name, error):
    def fails(*arguments, **keywords):
        raise error("a mistake of depyf")

    with pytest.warns(DepyfWarning, match="a mistake of depyf"):
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            monkeypatch.setattr(sys.modules[module], name, fails)
            result = compiled(broken)(torch.ones(3))
        monkeypatch.undo()
    assert torch.equal(result, torch.full((3,), 4.0))
    assert any("a mistake of depyf" in one.message + one.detail for one in run.problems)
    manifest = json.loads((tmp_path / "dump" / "depyf.json").read_text())
    assert manifest["open"] is False and manifest["problems"]
    assert left_behind(tmp_path / "dump") == []


@pytest.mark.parametrize("put", ["None", "object()", "type('Lazy', (), {'__slots__': ()})()"])
def test_what_a_program_puts_in_place_of_a_module_of_depyf(run_script, put):
    text = """
import sys
sys.modules["depyf.report_of_mine"] = %s
import torch, depyf

@torch.compile(backend="eager")
def f(x):
    print("a break")
    return x + 1

with depyf.prepare_debug("dump") as run:
    assert f(torch.ones(1)).item() == 2
assert run.function("f").entries[0].replaced
print("finished")
"""
    assert "finished" in run_script(text % put).stdout


def test_a_read_only_folder(mounted):
    disk = mounted("size=64k,ro")
    with pytest.warns(DepyfWarning, match="cannot write to") as caught:
        with depyf.prepare_debug(str(disk / "dump")) as run:
            result = compiled(double)(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 2.0)) and len(caught) == 1
    assert run.function("double").entries[0].source


def test_a_folder_that_goes_away_while_it_is_written(tmp_path):
    import shutil

    folder = tmp_path / "dump"
    with pytest.warns(DepyfWarning) as caught:
        with depyf.prepare_debug(str(folder)) as run:
            shutil.rmtree(str(folder))
            result = compiled(broken)(torch.ones(3))
            shutil.rmtree(str(folder), ignore_errors=True)
            folder.write_text("a file now")
    assert torch.equal(result, torch.full((3,), 4.0))
    assert len([one for one in caught if issubclass(one.category, DepyfWarning)]) == 1
    assert run.problems and folder.read_text() == "a file now"


@pytest.fixture
def without_a_folder(tmp_path):
    """What removes the current folder; there is one again after the test."""
    before = os.getcwd()

    def leave():
        gone = tmp_path / "gone"
        gone.mkdir()
        os.chdir(str(gone))
        gone.rmdir()

    yield leave
    os.chdir(before)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the current folder")
def test_what_is_written_and_said_needs_no_current_folder(tmp_path, without_a_folder):
    from depyf import paths, terminal

    folder, x = str(tmp_path / "dump"), torch.ones(3)
    with depyf.prepare_debug(folder) as run:
        without_a_folder()
        compiled(broken)(x)
    page = os.path.join(folder, "index.html")
    assert run.problems == [] and os.path.exists(page)
    assert terminal.place(page, 3) == page + ":3" and terminal.place("a.py") == "a.py"
    assert "file://" + page in terminal.place(page, None, True)
    assert paths.absolute("a.py") == paths.real("a.py") == "a.py"
    said = str(depyf.profile(compiled(double), x, calls=1))
    # torch 2.4's profiler tells that compiled code runs, and not which
    assert ("%s:" % os.path.abspath(__file__) in said) == bool(named_regions())


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the current folder")
def test_the_launcher_needs_no_current_folder(tmp_path, without_a_folder):
    from depyf.launch import program, running

    without_a_folder()
    before = list(sys.path)
    _, attributes, first_path = program.module_of("json.tool")
    assert os.path.basename(attributes["__file__"]) == "tool.py" and first_path is None
    assert sys.path == before
    with running._folder_that_exists():
        assert os.getcwd() == os.sep
    with pytest.raises(FileNotFoundError):
        os.getcwd()


GOES_AWAY = """
import os, torch

@torch.compile(backend="eager")
def f(x):
    print("a break")
    return x + 1

os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
f(torch.ones(1))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the current folder")
def test_run_ends_as_the_program_in_a_removed_folder(tmp_path):
    (tmp_path / "gone.py").write_text(GOES_AWAY)
    folder = tmp_path / "dump"
    words = ["-m", "depyf", "run", "--dump", folder, "gone.py"]
    done = warm.run(words, environment(tmp_path / "cache"), cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "a break\n", done.stderr
    assert "failed" not in done.stderr and "DepyfWarning" not in done.stderr
    assert "1 graph break" in done.stderr
    assert done.stderr.splitlines()[-1] == "depyf: %s" % (folder / "index.html")


@pytest.mark.parametrize("everything", [False, True])
def test_a_dump_says_what_the_program_removed_of_it(tmp_path, everything):
    folder = tmp_path / "dump"
    function = compiled(broken)
    with pytest.warns(DepyfWarning, match="removed while the block was open"):
        with depyf.prepare_debug(str(folder)) as run:
            function(torch.ones(3))
            for path in list(folder.iterdir()):
                if everything or "Captured_Graph" in path.name or "transformed" in path.name:
                    path.unlink()
            if everything:
                folder.rmdir()
            function(torch.ones(3, 3))
    entries = list(run.entries())
    assert len(entries) > 2 and any(entry.replaced for entry in entries)
    kept = [one.path for entry in entries for one in entry.artifacts if one.path]
    kept += [entry.path for entry in entries]
    assert kept and all((folder / name).exists() for name in kept)
    # what runs can be stepped through again
    assert (folder / entries[0].path).read_text() == entries[0].source
    assert [one for one in run.problems if "removed while" in one.message]


def test_an_error_after_the_end_of_the_program_is_told_alone(monkeypatch):
    from depyf.launch import running

    def fails(*_):
        raise ValueError("a mistake of depyf")

    stream = io.StringIO()
    options = types.SimpleNamespace(caches=True, follow=False, json=False, find_nonfinite=False)
    vars(options).update(backend=None, profile=False, texts=None)
    recording = running._Recording(options, None, "program.py", stream)
    with recording:
        recording.begin()
        recording.opened.callback(fails)
    monkeypatch.setattr(running, "_over_budget", fails)
    assert recording.end() == []
    assert stream.getvalue().splitlines() == [
        "depyf: the end of the recording failed: ValueError: a mistake of depyf",
        "depyf: the summary failed: ValueError: a mistake of depyf",
    ]


def test_a_file_that_was_not_written_is_tried_again_under_its_own_name(tmp_path, monkeypatch):
    real = os.replace

    def refuse(source, target):
        if "Captured_Graph" in os.path.basename(target):
            raise OSError(28, "No space left on device")
        return real(source, target)

    with pytest.warns(DepyfWarning, match="No space left"):
        with depyf.prepare_debug(str(tmp_path / "dump")):
            monkeypatch.setattr(files.os, "replace", refuse)
            compiled(double)(torch.ones(3))
            monkeypatch.undo()
    names = [name for name in os.listdir(str(tmp_path / "dump")) if "Captured_Graph.0.py" in name]
    assert len(names) == 1 and re.match(r"__compiled_fn_\d+\.Captured_Graph\.0\.py$", names[0])


def test_an_earlier_dump_is_kept_when_that_is_asked(tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "full_code_for_old_0.py").write_text("old")
    with pytest.warns(DepyfWarning, match="earlier dump, which depyf keeps") as caught:
        with depyf.prepare_debug(str(folder), existing="keep"):
            result = compiled(double)(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 2.0)) and len(caught) == 1
    assert os.listdir(str(tmp_path)) == ["dump"]
    assert os.listdir(str(folder)) == ["full_code_for_old_0.py"]


def test_what_to_do_with_an_earlier_dump_is_one_of_three():
    with pytest.raises(ValueError, match='"replace", "number" or "keep"'):
        depyf.prepare_debug("dump", existing="mix")


def test_two_blocks_in_one_folder_lose_nothing_of_each_other(tmp_path):
    folder = tmp_path / "dump"
    function = compiled(double, dynamic=False)
    with depyf.prepare_debug(str(folder)) as first:
        function(torch.ones(3))
    before = {name: (folder / name).read_bytes() for name in os.listdir(str(folder))}
    with depyf.prepare_debug(str(folder)) as second:
        function(torch.ones(4))
    for name, content in before.items():
        if name == "Captured_Graph.tables.txt":  # goes on
            assert (folder / name).read_bytes().startswith(content + b"# __compiled_fn_")
        elif name not in ("depyf.json", "README.md", "index.html"):  # those tell of both blocks
            assert (folder / name).read_bytes() == content, name
    assert [entry.name for run in (first, second) for entry in run.entries()] == [
        "__transformed_code_0_for_double",
        "__transformed_code_1_for_double",
    ]
    manifest = json.loads((folder / "depyf.json").read_text())
    assert manifest["earlier"] == ["depyf.1.json"]
    assert (folder / "depyf.1.json").read_bytes() == before["depyf.json"]
    assert (folder / "README.1.md").read_bytes() == before["README.md"]
    assert manifest["functions"][0]["entries"][0]["name"] == "__transformed_code_1_for_double"


def test_a_block_that_ends_after_one_in_whose_middle_it_began(tmp_path):
    folder = tmp_path / "dump"
    first, second = depyf.prepare_debug(str(folder)), depyf.prepare_debug(str(folder))
    first.__enter__()
    compiled(double)(torch.ones(3))
    second.__enter__()
    compiled(broken)(torch.ones(3))  # both blocks see it
    first.__exit__(None, None, None)
    compiled(double)(torch.ones(4))
    second.__exit__(None, None, None)
    document = summary.load(str(folder))
    entries = [entry for one in document["functions"] for entry in one["entries"]]
    assert len(entries) == 4  # `broken` is two
    assert [entry["replaced"] for entry in entries] == [True] * 4


def test_a_block_inside_another_one_in_the_same_folder(tmp_path):
    folder = tmp_path / "dump"
    with depyf.prepare_debug(str(folder)) as outer:
        compiled(double)(torch.ones(3))
        with depyf.prepare_debug(str(folder)):
            compiled(broken)(torch.ones(3))
    names = [
        json.loads((folder / name).read_text())["functions"]
        for name in ("depyf.json", "depyf.2.json")
    ]
    assert [function["name"] for function in names[0]][:2] == ["double", "broken"]
    assert names[1][0]["name"] == "broken"
    assert len(outer.functions) == 3 and outer.problems == []
    # the outer block has recorded all of it: nothing is shown twice, and no text is stored twice
    assert json.loads((folder / "depyf.json").read_text())["earlier"] == []
    document = summary.load(str(folder))
    assert sum(len(one["entries"]) for one in document["functions"]) == 3
    graphs = [name for name in os.listdir(str(folder)) if "Captured_Graph.0" in name]
    assert sorted(graphs) == sorted(set(graphs)) and not [n for n in graphs if "_2." in n]
    tables = (folder / "Captured_Graph.tables.txt").read_text()
    assert sorted(re.findall(r"^# (.*)", tables, re.M)) == sorted(n[:-3] for n in graphs)


# ---- interrupts and exceptions -------------------------------------------------------------------


def interrupted_backend(module, inputs):
    # a process that a shell started in the background ignores it otherwise
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000000):  # the handler runs between two instructions
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    return module.forward


def test_sigint_during_a_compile(tmp_path):
    with pytest.raises(KeyboardInterrupt), depyf.prepare_debug(str(tmp_path / "dump")) as run:
        compiled(double, backend=interrupted_backend)(torch.ones(3))
    assert left_behind(tmp_path / "dump") == []
    manifest = json.loads((tmp_path / "dump" / "depyf.json").read_text())
    assert manifest["open"] is False and run.finished
    torch._dynamo.reset()
    assert torch.equal(compiled(double)(torch.ones(3)), torch.full((3,), 2.0))


def test_sigint_while_a_file_is_written(tmp_path, monkeypatch):
    real = os.replace

    def interrupt(source, target):
        if "Captured_Graph" in os.path.basename(target):
            monkeypatch.undo()
            raise KeyboardInterrupt
        return real(source, target)

    with pytest.raises(KeyboardInterrupt), depyf.prepare_debug(str(tmp_path / "dump")) as run:
        monkeypatch.setattr(files.os, "replace", interrupt)
        compiled(double)(torch.ones(3))
    assert left_behind(tmp_path / "dump") == []
    assert json.loads((tmp_path / "dump" / "depyf.json").read_text())["open"] is False
    assert [name for name in os.listdir(str(tmp_path / "dump")) if "Captured_Graph.0.py" in name]
    assert len(list(run.entries())) == 1


def exception_of(call):
    """Type and text of what a call raises, without what differs between two runs of the same
    program.
    """
    torch._dynamo.reset()
    try:
        call()
    except BaseException as error:
        return type(error), re.sub(r"0x[0-9a-f]+", "0x", str(error))
    return None


def wrong_shapes(x):
    return x @ torch.ones(7, 7)


def unsupported(x):
    torch._dynamo.graph_break()
    return x + 1


def raising(x):
    if x.sum() > 0:
        raise LookupError("from the program")
    return x


def failing_backend(module, inputs):
    raise ValueError("from the backend")


def late_backend(module, inputs):
    def run(*arguments):
        raise ArithmeticError("from the compiled graph")

    return run


@pytest.mark.parametrize(
    "function, options",
    [
        (wrong_shapes, {}),
        (unsupported, {"fullgraph": True}),
        (raising, {}),
        (double, {"backend": failing_backend}),
        (double, {"backend": late_backend}),
        (double, {"backend": "no such backend"}),
    ],
    ids=["fake tensors", "fullgraph", "program", "backend", "graph", "unknown backend"],
)
def test_an_exception_is_the_one_without_depyf(tmp_path, function, options):
    def call():
        return compiled(function, **options)(torch.ones(3, 3))

    without = exception_of(call)
    assert without is not None
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        within = exception_of(call)
    assert within == without
    assert run.problems == []
    assert json.loads((tmp_path / "dump" / "depyf.json").read_text())["open"] is False


def test_an_exception_keeps_nothing_of_depyf_alive(tmp_path):
    import weakref

    model = torch.nn.Linear(2, 2)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        try:
            torch.compile(model, backend=failing_backend)(torch.ones(2))
        except Exception:
            pass
    alive = weakref.ref(model)
    del model
    torch._dynamo.reset()
    gc.collect()
    assert alive() is None
    assert run.unattributed


def test_a_block_is_left_while_another_thread_compiles(tmp_path):
    started, go_on, results = threading.Event(), threading.Event(), []

    def slow_backend(module, inputs):
        started.set()
        assert go_on.wait(60)
        return module.forward

    def work():
        results.append(torch.compile(double, backend=slow_backend)(torch.ones(3)))

    thread = threading.Thread(target=work)
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        thread.start()
        assert started.wait(60)
    go_on.set()
    thread.join()
    assert torch.equal(results[0], torch.full((3,), 2.0))
    assert run.problems == [] and left_behind(tmp_path / "dump") == []


# ---- other processes -----------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_worker_compiles_and_leaves_the_dump_alone(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        compiled(double)(torch.ones(3))
        before = sorted(os.listdir(str(tmp_path / "dump")))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                result = compiled(broken)(torch.ones(3))
                with depyf.prepare_debug(str(tmp_path / "dump")) as own:
                    compiled(lambda x: x + 5)(torch.ones(3))
                right = torch.equal(result, torch.full((3,), 4.0))
                status = 0 if right and own.folder == str(tmp_path / "dump_2") else 2
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        assert status == 0
        assert sorted(os.listdir(str(tmp_path / "dump"))) == before
    assert [function.name for function in run.functions] == ["double"]
    assert [name for name in os.listdir(str(tmp_path / "dump_2")) if name.startswith("full_code")]


SPAWNED = """
import multiprocessing, os, sys
import torch
import depyf

def double(x):
    return x * 2

def work(folder, queue):
    torch._dynamo.reset()  # a forked worker has what its parent compiled
    with depyf.prepare_debug(folder) as run:
        result = torch.compile(double, backend="eager")(torch.ones(3))
    queue.put((result.tolist(), run.folder, [one.message for one in run.problems]))

def main(method):
    context = multiprocessing.get_context(method)
    folder = os.path.abspath("dump")
    with depyf.prepare_debug(folder):
        torch.compile(double, backend="eager")(torch.ones(3))
        queue = context.Queue()
        workers = [context.Process(target=work, args=(folder, queue)) for _ in range(2)]
        for worker in workers:
            worker.start()
        found = [queue.get(timeout=600) for _ in workers]
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
        late = context.Process(target=work, args=(folder, queue))  # the others have ended, and their dumps stay
        late.start()
        found.append(queue.get(timeout=600))
        late.join()
    folders = [folder] + [one[1] for one in found]
    assert len(set(folders)) == 4, folders
    for result, where, problems in found:
        assert result == [2.0, 2.0, 2.0] and problems == []
    for where in folders:
        assert "full_code_for_double_0.py" in os.listdir(where), where
        assert "full_code_for_double_1.py" not in os.listdir(where), where
    print("finished")

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_dump_to_folders_of_their_own(run_script, method):
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this platform has no %s" % method)
    assert "finished" in run_script(SPAWNED, method).stdout


def test_a_block_that_is_never_left_is_written_at_exit(run_script, tmp_path):
    run_script(
        "import depyf, torch\n"
        "depyf.prepare_debug('dump').__enter__()\n"
        "def double(x):\n    return x * 2\n"
        "torch.compile(double, backend='eager')(torch.ones(3))\n"
    )
    assert "full_code_for_double_0.py" in os.listdir(str(tmp_path / "dump"))
    assert json.loads((tmp_path / "dump" / "depyf.json").read_text())["open"] is False


def test_a_killed_process_leaves_whole_files_and_the_next_one_replaces_them(run_script, tmp_path):
    text = (
        "import depyf, os, signal, sys, torch\n"
        "def double(x):\n    return x * 2\n"
        "with depyf.prepare_debug('dump'):\n"
        "    torch.compile(double, backend='eager')(torch.ones(3))\n"
        "    if sys.argv[1] == 'die':\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert run_script(text, "die", check=False).returncode == -signal.SIGKILL
    names = os.listdir(str(tmp_path / "dump"))
    assert "__transformed_code_0_for_double.py" in names
    assert [name for name in names if name.endswith("Captured_Graph.0.py")]
    assert json.loads((tmp_path / "dump" / "depyf.json").read_text())["open"] is True
    run_script(text, "live")
    assert json.loads((tmp_path / "dump" / "depyf.json").read_text())["open"] is False
    assert not os.path.exists(str(tmp_path / "dump_2"))


# ---- a torch with parts missing ------------------------------------------------------------------

HIDE = """
import importlib.abc, sys
class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == HIDDEN or name.startswith(HIDDEN + "."):
            raise ModuleNotFoundError("No module named %r" % name, name=name)
sys.meta_path.insert(0, Hide())
"""


def test_without_torch(run_script):
    text = (
        "HIDDEN = 'torch'"
        + HIDE
        + """
import depyf
assert depyf.decompile(lambda x: x + 1).strip()
for use in (lambda: depyf.prepare_debug("dump").__enter__(), lambda: depyf.capture().__enter__(), lambda: depyf.install()):
    try:
        use()
    except ImportError as error:
        assert "pip install torch" in str(error), error
    else:
        raise SystemExit("no error")
# programs ask so whether they can have it, also with the original
for _ in range(2):
    try:
        from depyf.optimization import TorchCompileWrapperWithCustomDispatcher
    except ImportError as error:
        assert "pip install torch" in str(error), error
    else:
        raise SystemExit("no error")
import os
assert not os.path.exists("dump")
"""
    )
    run_script(text, fresh=True)


def test_without_inductor(run_script):
    text = (
        "HIDDEN = 'torch._inductor.compile_fx'"
        + HIDE
        + """
import warnings
warnings.simplefilter("error", append=True)
import torch, depyf
def double(x):
    return x * 2
with depyf.prepare_debug("dump") as run:
    assert torch.equal(torch.compile(double, backend="eager")(torch.ones(3)), torch.full((3,), 2.0))
assert run.function("double").entries[0].replaced and run.problems == []
torch._dynamo.reset()
def fails():
    torch._dynamo.reset()
    try:
        torch.compile(double)(torch.ones(3))
    except Exception as error:
        return type(error).__name__, str(error)
without = fails()
with depyf.prepare_debug("dump") as run:
    within = fails()
assert without == within, (without, within)
"""
    )
    try:
        run_script(text, fresh=True)
    except AssertionError as error:
        if "import torch" in str(error):
            pytest.skip("this torch cannot be imported without inductor")
        raise


@pytest.mark.slow
def test_without_a_compiler(run_script):
    run_script(
        """
import torch, depyf
def double(x):
    return x * 2 + x.sin()
def fails():
    torch._dynamo.reset()
    try:
        torch.compile(double)(torch.ones(30))
    except Exception as error:
        return type(error).__name__
without = fails()
assert without is not None
with depyf.prepare_debug("dump") as run:
    within = fails()
assert without == within, (without, within)
assert run.unattributed[0].failure
assert run.problems == [], run.problems
import os
assert [name for name in os.listdir("dump") if ".Captured_Graph." in name]
""",
        CXX="no-such-compiler",
        PATH=os.path.dirname(sys.executable),
    )


def test_import_is_quick_and_loads_no_torch(run_script):
    text = """
import sys, time
import depyf
assert "torch" not in sys.modules and "numpy" not in sys.modules
print("finished")
"""
    assert "finished" in run_script(text, fresh=True).stdout
    # processor time of the import alone, the best of a few fresh processes
    probe = (
        "import time; begin = time.process_time(); import depyf; print(time.process_time() - begin)"
    )
    times = []
    while not times or min(times) > 0.030:
        times.append(float(run_script(probe, fresh=True).stdout))
        assert len(times) <= 15, times


# ---- a limit on the size ------------------------------------------------------------------------


def test_a_dump_that_reaches_its_limit_says_so_and_takes_nothing_more(tmp_path):
    def function(number):
        return function_of("def f_%d(x):\n    return x + %d\n" % (number, number), "f_%d" % number)

    def size(folder):
        return sum(path.stat().st_size for path in folder.iterdir())

    folder, seen = tmp_path / "dump", []
    with pytest.warns(DepyfWarning, match="the limit of the dump: .* have reached 40000 bytes"):
        with depyf.prepare_debug(str(folder), limit=40000) as run:
            for number in range(40):
                result = compiled(function(number))(torch.ones(2))
                assert result.tolist() == [number + 1.0] * 2
                seen.append((size(folder), len(run.functions)))
    kept = len(run.functions)
    assert 1 <= kept < 39 and seen[-1][1] == kept
    # what was begun is finished, and nothing grows from then on
    assert seen[-1][0] == seen[kept + 1][0]
    assert all(entry.replaced for entry in run.entries())
    (problem,) = run.problems
    assert problem.message.endswith("; %d code objects were left out" % (40 - kept))
    assert "limit" in readme_of(folder)
    assert json.loads((folder / "depyf.json").read_text())["problems"][0]["message"]


def test_the_limit_is_that_of_all_blocks_in_a_folder(tmp_path):
    folder = str(tmp_path / "dump")
    with depyf.prepare_debug(folder, limit=None):
        compiled(double)(torch.ones(3))
    with pytest.warns(DepyfWarning, match="the limit of the dump"):
        with depyf.prepare_debug(folder, limit=100) as run:
            compiled(broken)(torch.ones(3))
    assert run.functions == []
    with pytest.raises(ValueError, match="limit=-1"):
        depyf.prepare_debug(folder, limit=-1)


def test_a_readme_of_somebody_else_stays(tmp_path):
    (tmp_path / "README.md").write_text("my project")
    for number in (3, 4):
        with depyf.prepare_debug(str(tmp_path)):
            compiled(double, dynamic=False)(torch.ones(number))
        assert (tmp_path / "README.md").read_text() == "my project"
        assert "What torch.compile made" in (tmp_path / "depyf-README.md").read_text()


@pytest.mark.skipif(
    torch.__version__ < "2.5",
    reason="such threads die in torch 2.4 without depyf, too (1 run of 40)",
)
def test_eight_threads_compile_in_one_block(tmp_path):
    begin, wrong = threading.Barrier(8), []

    def work(number):
        text = "def f_%d(x):\n    y = x + %d\n    torch._dynamo.graph_break()\n    return y * 2\n"
        function = function_of(text % (number, number), "f_%d" % number)
        begin.wait(60)
        for size in (2, 3):
            found = compiled(function, dynamic=False)(torch.ones(size))
            shared = compiled(broken, dynamic=False)(torch.ones(size))
            if found.tolist() != [2.0 + 2 * number] * size or shared.shape != (size,):
                wrong.append((number, found, shared))

    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    assert wrong == [] and run.problems == [] and left_behind(tmp_path / "dump") == []
    for number in range(8):
        assert [entry.replaced for entry in run.function("f_%d" % number).entries] == [True] * 2
    # torch gives up on `broken` where threads that compile it at once reach its limit
    names = [entry.path for entry in run.entries() if entry.hooked]
    assert len(set(names)) == len(names) and None not in names
    assert all((tmp_path / "dump" / name).exists() for name in names)
