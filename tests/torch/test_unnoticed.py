"""What a program can ask of its process is the same inside a block, at every moment and in every
thread, as without depyf.
"""

import collections
import contextlib
import functools
import gc
import locale
import logging
import os
import random
import re
import signal
import subprocess
import sys
import threading
import warnings

import depyf
import pytest
import setters
import torch
import warm
from forms import some_of
from processes import environment
from programs import PROGRAMS, TORCH
from test_programs import run

#: their caches and orders differ from call to call, also without depyf
_VARY = ("/sympy/", "/mpmath/")
#: before CPython 3.10 torch calls a function of its own that rotates values of the stack, where
#: source has names
_ROTATES = ("<string>", "<lambda>") if sys.version_info < (3, 10) else None


# ---- what Dynamo looks at ------------------------------------------------------------------------


@contextlib.contextmanager
def told_of_frames(convert_frame, note):
    """Calls `note` with each frame that Dynamo looks at."""
    if hasattr(convert_frame, "ConvertFrameAssert"):
        owner, name = convert_frame.ConvertFrameAssert, "__call__"
    else:  # a function of torch 2.2 makes what looks at them
        owner, name = convert_frame, "convert_frame_assert"
    original = getattr(owner, name)

    def spy(self, frame, *arguments, **keywords):
        note(frame)
        return original(self, frame, *arguments, **keywords)

    def making(*arguments, **keywords):
        look = original(*arguments, **keywords)

        @functools.wraps(look)
        def spy(frame, *others, **named):
            note(frame)
            return look(frame, *others, **named)

        return spy

    setattr(owner, name, making if owner is convert_frame else spy)
    try:
        yield
    finally:
        setattr(owner, name, original)


def looked_at(action):
    """Frames that Dynamo looked at while `action` ran, how often each, and what it counted."""
    from torch._dynamo import convert_frame
    from torch._dynamo.utils import counters

    seen, left_out = collections.Counter(), []

    def note(frame):
        name = frame.f_code.co_filename
        if any(part in name for part in _VARY):
            left_out.append(name)
        else:
            name = "a graph" if name.startswith("<eval_with_key>") else name
            seen[(name, frame.f_code.co_name)] += 1

    counters.clear()
    with told_of_frames(convert_frame, note):
        action()
    counted = {name: dict(found) for name, found in counters.items() if found}
    rotations = seen.pop(_ROTATES, 0)
    for kind in ("total", "ok") if rotations else ():
        counted["frames"][kind] -= rotations
    if left_out:
        counted.pop("frames", None)
    return dict(seen), counted


def test_dynamo_looks_at_methods_that_depyfs_classes_share_with_the_programs(tmp_path):
    """The methods of all named tuples have one code for each name."""
    pair = collections.namedtuple("Pair", "left right")
    with depyf.prepare_debug(str(tmp_path / "dump")):
        pass
    torch._dynamo.reset()
    replace = torch.compile(pair(torch.ones(2), 1)._replace, backend="eager", fullgraph=True)
    assert replace(right=3).right == 3


def test_only_code_of_depyf_is_hidden_from_dynamo(monkeypatch):
    from depyf.torch.compat import unseen

    hidden = []
    monkeypatch.setattr(unseen, "_hidden", set())
    monkeypatch.setattr(unseen, "_skip_code", lambda: hidden.extend)
    monkeypatch.setattr(unseen, "_skip_callees", lambda: hidden.extend)
    unseen.hide_from_dynamo()
    folder = os.path.dirname(os.path.abspath(depyf.__file__)) + os.sep
    files = {code.co_filename for code in hidden}
    of_others = [one for one in files if not one.startswith((folder, "<string>", "<namedtuple_"))]
    assert files and not of_others


def unequal(have, want):
    return [
        (key, one.get(key), other.get(key))
        for one, other in zip(have, want)
        for key in set(one) | set(other)
        if one.get(key) != other.get(key)
    ]


#: compiled autograd has a test of its own below
COUNTED = some_of([one for one in PROGRAMS if one.name != "compiled_autograd"], 5, 1)


@pytest.mark.parametrize("program", COUNTED, ids=[program.name for program in COUNTED])
def test_dynamo_counts_as_without_depyf(tmp_path, program):
    if TORCH < program.since:
        pytest.skip("torch %d.%d does not compile this" % TORCH)
    try:
        run(program)  # what is compiled for the first time is counted as a cache miss
        want = looked_at(lambda: run(program))
    except Exception as error:
        pytest.skip("plain torch.compile raises %s here" % type(error).__name__)
    for turn in range(3):  # what only chance brings about is not there each time
        with depyf.prepare_debug(str(tmp_path / ("dump%d" % turn))):
            have = looked_at(lambda: run(program))
        if not unequal(have, want):
            return
        again = looked_at(lambda: run(program))
        if unequal(again, want):
            pytest.skip("plain runs differ from each other")
    assert unequal(have, want) == []


AUTOGRAD = """
import sys
sys.path.insert(0, FOLDER)
import depyf, torch
from test_unnoticed import looked_at, unequal

def step(x):
    loss = (x**2).sin().sum()
    loss.backward()
    return loss

def action():
    torch._dynamo.reset()
    with torch._dynamo.config.patch(compiled_autograd=True):
        torch.compile(step, backend="eager")(torch.ones(3, requires_grad=True))

action()
want = looked_at(action)
again = looked_at(action)
assert unequal(again, want) == [], unequal(again, want)
for block in (depyf.capture(), depyf.prepare_debug("dump")):
    with block as run:
        have = looked_at(action)
    assert run.functions
    ours = [name for name in have[0] if name[0].startswith(depyf.__path__[0])]
    assert not ours, ours
    # torch reads the file of the frames above for a traceback, and one of them is a dumped file
    # now; an abstract class remembers what it was asked, typing the last subscripts of a kind, and
    # torch makes one record for each file
    read = "tokenize.py", "codecs", "abc", "genericpath", "<string>", "typing"
    others = unequal(have, want)
    more = [one for one in others if not any(part in one[0][0] for part in read)]
    if any("typing" in one[0][0] for one in others):  # it has generators, which torch counts
        more = [one for one in more if one[0] != "unimplemented"]
    assert not more, more
print("finished")
"""


@pytest.mark.skipif(TORCH < (2, 5), reason="compiled autograd is no setting")
def test_compiled_autograd_does_not_look_at_depyf(tmp_path):
    # in a process of its own: pytest listens to torch's trace too, so its frames are looked at
    # there
    script = AUTOGRAD.replace("FOLDER", repr(os.path.dirname(os.path.abspath(__file__))))
    done = warm.run(["-c", script], environment(tmp_path / "cache"), cwd=tmp_path)
    assert "finished" in done.stdout, done.stderr[-3000:]


# ---- the state of the process --------------------------------------------------------------------


def levels():
    named = {
        name: (logger.level, logger.disabled, logger.propagate)
        for name, logger in list(logging.root.manager.loggerDict.items())
        if isinstance(logger, logging.Logger)
    }
    return dict(named, root=logging.root.level, disabled=logging.root.manager.disable)


def configuration():
    """torch's settings, of the modules that are loaded by now."""
    found = {}
    for name in ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config"):
        module = sys.modules.get(name)
        for key, value in list(vars(module).get("_config", {}).items()) if module else ():
            found[name, key] = repr(getattr(value, "user_override", value))[:200]
    found["threads"] = torch.get_num_threads(), torch.is_grad_enabled()
    found["default"] = torch.get_default_dtype()
    return found


def of_the_process():
    """All that this program can ask of its process, in any thread."""
    return {
        "warnings": (
            id(warnings.filters),
            tuple(warnings.filters),
            warnings.showwarning,
            warnings._showwarnmsg_impl if hasattr(warnings, "_showwarnmsg_impl") else None,
            getattr(warnings, "_filters_version", None),
        ),
        "locale": locale.setlocale(locale.LC_ALL),
        "hooks": (sys.excepthook, sys.displayhook, getattr(sys, "unraisablehook", None)),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "path": (tuple(sys.path), tuple(sys.path_hooks), tuple(sys.argv)),
        "finders": [one for one in sys.meta_path if type(one).__module__ != "depyf.imports"],
        "signals": {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)},
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), tuple(gc.callbacks)),
        "levels": levels(),
        "threads' hooks": getattr(threading, "excepthook", None),
        "configuration": configuration(),
    }


def of_the_thread():
    """What only the thread itself can ask."""
    with open("/proc/self/status" if os.path.exists("/proc/self/status") else os.devnull) as file:
        mask = [line for line in file if line.startswith("Umask")]
    return {
        "trace": (sys.gettrace(), sys.getprofile()),
        "random": random.getstate(),
        "torch's random": torch.random.get_rng_state().tolist(),
        "mask": mask,
    }


def broken(x):
    y = torch.sin(x) + 1
    torch._dynamo.graph_break()
    return y * x


def differences(one, other):
    found = []
    for key in one:
        if one[key] == other[key]:
            continue
        if isinstance(one[key], dict):
            # a module that is imported by now brings loggers and settings of its own
            found += [
                (key, name, value, other[key][name])
                for name, value in one[key].items()
                if name in other[key] and other[key][name] != value
            ]
        else:
            found.append((key, one[key], other[key]))
    return found


def looked_after(action, watching):
    """What of the process was not as before inside and after `action`, and who set what meanwhile.

    With `watching`, another thread looks all the time, too. What it sees depends on chance, so that
    it is only of use where torch itself changes nothing.
    """
    gc.collect()  # nothing of before is finalized meanwhile, below frames of depyf
    found, stop, looks = [], threading.Event(), [0]

    def watch():
        while not stop.is_set():
            looks[0] += 1
            found.extend(differences(before, of_the_process()))
            stop.wait(0.005)  # else this thread holds the interpreter's lock most of the time

    def inside(graph, inputs):
        found.extend(differences(before, of_the_process()))
        return graph.forward

    thread = threading.Thread(target=watch)
    with setters.recorded() as changes:
        before, mine = of_the_process(), of_the_thread()
        if watching:
            thread.start()
        try:
            action()
            torch.compile(lambda x: x + 1, backend=inside)(torch.ones(3))
        finally:
            if watching:
                stop.set()
                thread.join()
        found += differences(before, of_the_process()) + differences(mine, of_the_thread())
    assert looks[0] > 3 or not watching
    return {one[:2] if len(one) == 4 else one[:1]: one for one in found}, changes


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_the_process_is_as_before_at_every_moment(tmp_path, backend, as_torch_is):
    compiled = torch.compile(broken, backend=backend, dynamic=False)

    def compiles(sizes):
        for size in sizes:
            compiled(torch.ones(size))

    compiles((2, 8))  # torch's own imports and settings, also those of a recompile

    def with_depyf():
        with depyf.prepare_debug(str(tmp_path / "dump"), log_bytecode=True) as run:
            compiles((5, 6, 7))
        assert len(list(run.entries())) > 5

    # torch changes filters and settings itself while it compiles with the other two, torch 2.2 its
    # settings with any, and 2.15 the garbage collector's thresholds
    watching = backend == "eager" and (2, 13) <= TORCH < (2, 15)
    plain, torchs = looked_after(lambda: compiles((3, 4)), watching)
    assert not watching or not plain
    found, changes = looked_after(with_depyf, watching)
    assert [one for key, one in found.items() if key not in plain] == []
    assert setters.made_by_depyf(changes, torchs) == []


TOUCHES = {
    "filters": "with warnings.catch_warnings(): pass",
    "a filter": "warnings.simplefilter('ignore')",
    "locale": "locale.setlocale(locale.LC_ALL, locale.setlocale(locale.LC_ALL))",
    "trace": "sys.settrace(sys.gettrace())",
    "stream": "sys.stdout = sys.stdout",
    "folder": "os.chdir(os.getcwd())",
    "environment": "os.environ['DEPYF_TOUCHED'] = '1'; del os.environ['DEPYF_TOUCHED']",
    "level": "logging.getLogger('torch').setLevel(logging.getLogger('torch').level)",
    "collector": "gc.disable(); gc.enable()",
    "random": "random.setstate(random.getstate())",
    "settings": "torch._dynamo.config.verbose = torch._dynamo.config.verbose",
    "settings of torch's": "with torch._dynamo.config.patch(verbose=True): pass",
}


@pytest.mark.parametrize("touch", list(TOUCHES))
def test_what_depyf_would_touch_is_found(touch):
    """The test above is not blind: each kind of state, changed for a moment by a hook in a file of
    depyf's.
    """
    from torch._dynamo.convert_frame import register_bytecode_hook

    text = "import gc, locale, logging, os, random, sys, torch, warnings\n"
    text += "def hook(code, new_code):\n    " + TOUCHES[touch]
    names = {}
    exec(compile(text, setters.DEPYF + "touching.py", "exec"), names)

    def changed():
        torch._dynamo.reset()
        with setters.recorded() as changes:
            torch.compile(broken, backend="aot_eager")(torch.ones(2))
        return changes

    changed()  # torch's own imports and settings
    plain = changed()
    handle = register_bytecode_hook(names["hook"])
    try:
        with warnings.catch_warnings():
            touched = changed()
    finally:
        handle.remove()
    assert setters.made_by_depyf(touched, plain)
    assert plain and not setters.made_by_depyf(plain, [])


def test_a_dumped_file_has_the_rights_that_the_program_gives(tmp_path):
    script = (
        "import os, sys, torch, depyf\n"
        "os.umask(0o027)\n"
        "with depyf.prepare_debug('dump'):\n"
        "    torch.compile(lambda x: x + 1, backend='eager')(torch.ones(3))\n"
        "    os.umask(0o077)\n"
        "    torch.compile(lambda x: x + 2, backend='eager')(torch.ones(3))\n"
        "for name in sorted(os.listdir('dump')):\n"
        "    if name.startswith('__transformed'):\n"
        "        print(oct(os.stat('dump/' + name).st_mode & 0o777))\n"
    )
    done = warm.run(["-c", script], environment(tmp_path / "cache"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if sys.platform != "win32":
        assert done.stdout.split() == ["0o640", "0o600"]


# ---- warnings ------------------------------------------------------------------------------------


def test_a_warning_is_shown_as_often_as_without_depyf(tmp_path):
    script = (
        "import contextlib, sys, warnings, torch, depyf\n"
        "def eager(): warnings.warn('once please', UserWarning)\n"
        "shown = []\n"
        "warnings.showwarning = lambda message, *rest, **more: shown.append(str(message))\n"
        "warnings.simplefilter('default')\n"
        "plain = contextlib.nullcontext()\n"
        "with depyf.prepare_debug('dump') if 'depyf' in sys.argv else plain:\n"
        "    f = torch.compile(lambda x, n: x + n, backend='eager', dynamic=False)\n"
        "    for n in (1, 2, 3, 4):\n"
        "        f(torch.ones(3), n)\n"
        "        eager()\n"
        "print(shown.count('once please'))\n"
    )

    def run(*arguments):
        done = warm.run(["-c", script, *arguments], environment(tmp_path / "cache"), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    # once, but torch up to 2.8 makes Python forget what was shown at each compile
    assert run("depyf") == run() and (run() == 1 or TORCH < (2, 9))


def test_a_warning_of_compiled_code_is_shown_once(tmp_path):
    @torch.compiler.disable
    def helper():
        warnings.warn("deprecated thing", UserWarning, stacklevel=3)

    def f(x, n):
        y = x + n
        helper()
        return y * 2

    def shown():
        torch._dynamo.reset()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("default")
            g = torch.compile(f, backend="eager", dynamic=False)
            for n in (1, 2.5, True):
                g(torch.ones(3), n)
            g(torch.ones(2, 2).t(), 7)
        return len([one for one in seen if "deprecated thing" in str(one.message)])

    want = shown()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        have = shown()
    assert have == want


UNDER_OPTIONS = """
import contextlib, sys, warnings
import torch, torch._dynamo

def outer():
    def f(x):
        '''doc'''
        y = x * 2
        torch._dynamo.graph_break()
        assert x.dim() < 9, b"asserts are in the user's code, too"
        return (y + f.n, x is 1)
    f.n = 3
    return f

def g(x, n=7):
    '''\\d'''
    print(b"%d" % n)
    return (x + 1, n is 1, f"{n!r:>3}", __debug__, g.__doc__)

with_depyf = sys.argv[1] == "depyf"
if with_depyf:
    import depyf
warnings.resetwarnings()
warnings.simplefilter(sys.argv[2], append=sys.argv[2] == "default")
with depyf.prepare_debug("dump") if with_depyf else contextlib.nullcontext() as run:
    compiled = torch.compile(outer(), backend="eager")
    for size in (2, 3):
        print(compiled(torch.ones(size)))
    print(torch.compile(g, backend="eager")(torch.ones(2)))
if with_depyf:
    entries = [entry for entry in run.entries() if entry.hooked]
    wrong = [(e.name, e.verdict, e.detail) for e in entries if not e.replaced]
    if wrong or run.problems or len(entries) < 4:
        raise SystemExit("%r %r %d entries" % (wrong, run.problems, len(entries)))
    if "graph_break()" not in depyf.decompile(outer().__code__):
        raise SystemExit(depyf.decompile(outer().__code__))
"""


@pytest.mark.parametrize("options", [["-W", "error"], ["-X", "dev", "-bb"], ["-O"]], ids="".join)
def test_under_the_interpreters_options(tmp_path, options):
    # torch itself warns while it is imported, so there the option is asked for only after it
    strict = options == ["-W", "error"]
    path, outcomes = tmp_path / "program.py", []
    path.write_text(UNDER_OPTIONS)
    for way in ("plain", "depyf"):
        done = subprocess.run(
            [sys.executable, *([] if strict else options), str(path), way]
            + ["error" if strict else "default"],
            cwd=str(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        # a warning of code that was replaced names the dumped file, and shows its line
        told = [
            re.sub(r"^\S+:\d+: (?=\w+Warning: )|(?<=0x)[0-9a-f]+|(?<=Directory ')[^']+", "", line)
            for line in done.stderr.splitlines()
            if not line.startswith("  ")
        ]
        outcomes.append((done.returncode, done.stdout, told))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == 0 and outcomes[0][1]


@pytest.mark.parametrize("options", [["-W", "error"], ["-X", "dev"], ["-bb"]], ids="".join)
def test_the_tests_themselves_under_the_interpreters_options(options):
    # without torch, which warns while it is imported
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python")
    done = subprocess.run(
        [sys.executable]
        + options
        + ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + [os.path.join(folder, "test_compiling.py")],
        env=dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),  # plugins of others warn, too
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout.decode()[-3000:]


# ---- blocks and hooks that overlap ---------------------------------------------------------------


def test_each_of_two_blocks_has_the_whole_record_and_says_whose_code_runs(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "outer")) as outer:
        with depyf.prepare_debug(str(tmp_path / "inner")) as inner:
            with depyf.capture() as watched:
                result = torch.compile(broken, backend="eager")(torch.ones(3))
    assert result.shape == (3,)
    runs = [list(run.entries()) for run in (outer, inner, watched)]
    assert [len(entries) for entries in runs] == [2, 2, 2]
    for entries in zip(*runs):
        assert len({(one.source.count("\n"), one.verdict, len(one.guards)) for one in entries}) == 1
        stages = [[artifact.stage for artifact in one.artifacts] for one in entries]
        assert stages[0] == stages[1] == stages[2]
        assert [one.replaced for one in entries] == [False, True, False]
        assert entries[1].replaced_by == ""
        for other in (entries[0], entries[2]):
            assert other.replaced_by == "the block that writes to %s" % (tmp_path / "inner")
            assert other.code is entries[1].code
    assert "torch runs the code of the block that writes to" in (
        tmp_path / "outer" / "README.md"
    ).read_text(encoding="utf-8")


def test_blocks_in_two_threads_each_have_the_whole_record(tmp_path):
    both, runs = threading.Barrier(2), {}

    def work(name):
        with depyf.prepare_debug(str(tmp_path / name)) as run:
            both.wait()
            torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
            both.wait()
        runs[name] = run

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = [[one for one in run.entries() if one.hooked] for run in runs.values()]
    assert [len(found) for found in entries] == [2, 2]
    for one, other in zip(*entries):
        assert {one.replaced, other.replaced} == {True, False}
        assert sum("the block that writes to" in each.replaced_by for each in (one, other)) == 1


def test_a_hook_behind_ours_is_named(tmp_path):
    from torch._dynamo.convert_frame import register_bytecode_hook

    def plain(x):
        return x * 2

    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        handle = register_bytecode_hook(
            lambda code, new_code: new_code.replace(co_firstlineno=new_code.co_firstlineno)
            if hasattr(new_code, "replace")
            else None
        )
        try:
            result = torch.compile(plain, backend="eager")(torch.ones(3))
        finally:
            handle.remove()
    assert torch.equal(result, torch.full((3,), 2.0))
    (entry,) = run.entries()
    if sys.version_info >= (3, 8):
        assert not entry.replaced
        assert "the bytecode hook" in entry.replaced_by and "test_unnoticed.py" in entry.replaced_by


def test_an_entry_without_a_function_says_why(tmp_path):
    def fails(graph, inputs):
        raise RuntimeError("no backend")

    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        with pytest.raises(Exception, match="no backend"):
            torch.compile(lambda x: x + 1, backend=fails)(torch.ones(3))
    assert run.unattributed and all(entry.detail for entry in run.unattributed)
    assert "failed before torch made code" in run.unattributed[0].detail


@pytest.mark.parametrize("block", ["prepare_debug('dump')", "capture()"])
def test_the_folder_for_temporary_files_is_the_one_that_the_program_sets(run_script, block):
    text = """
import os, tempfile
import torch, depyf

tempfile.tempdir = None
os.mkdir("mine")
with depyf.%s:
    os.environ["TMPDIR"] = os.path.abspath("mine")
    assert tempfile.tempdir is None
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    assert os.path.basename(tempfile.gettempdir()) == "mine", tempfile.gettempdir()
print("finished")
"""
    assert "finished" in run_script(text % block).stdout


def test_depyf_run_leaves_the_folder_for_temporary_files_to_the_program(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "mine").mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        "import os, tempfile\n"
        "os.environ['TMPDIR'] = %r\n"
        "print(tempfile.gettempdir())\n" % str(tmp_path / "mine")
    )
    environ = dict(os.environ, TMPDIR=str(tmp_path / "theirs"))
    environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-m", "depyf", "run", str(program)],
        cwd=str(tmp_path),
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.stdout.strip() == str(tmp_path / "mine"), done.stdout + done.stderr
    # torch itself is loaded behind the program: its folders are not made
    assert {one for one in os.listdir(str(tmp_path / "theirs")) if "jinja2" not in one} == set()
