"""A program that puts functions of its own in place of the standard library's gets the calls that
it gets without depyf.
"""

import importlib
import logging
import os
import sys
import types

import depyf
import pytest
import torch
import warm
from processes import environment
from programs import TORCH

#: builtin functions by their names; those of depyf's own calls are not replaced
BY_NAME = """
builtins: abs all any chr compile dir divmod exec format max min ord repr round sorted sum vars
"""
#: modules and functions of them that a program, or a test of one, replaces
REPLACED = """
builtins: open print
copy: copy deepcopy
dis: dis get_instructions
functools: reduce wraps
gc: collect get_objects get_referrers
glob: glob
hashlib: md5 sha1 sha256
html: escape
inspect: cleandoc getblock getsource signature stack
io: open
json: dump dumps load loads
linecache: checkcache getline getlines
logging: debug error getLogger info warning
os: access chmod close fdopen fspath getcwd getenv getpid link listdir lstat makedirs mkdir open
os: read readlink remove rename replace rmdir scandir stat unlink urandom utime walk write
os.path: abspath basename dirname exists expanduser getmtime getsize isabs isdir isfile islink join
os.path: lexists normpath realpath relpath samefile split splitext
random: choice getrandbits randint random
re: compile escape findall fullmatch match search split sub
shutil: copyfile move rmtree which
subprocess: check_output run
tempfile: NamedTemporaryFile gettempdir mkdtemp mkstemp
textwrap: dedent fill indent wrap
threading: Lock RLock current_thread enumerate get_ident main_thread
time: localtime monotonic perf_counter perf_counter_ns process_time sleep strftime time time_ns
tokenize: generate_tokens open tokenize
traceback: extract_stack format_exc format_exception format_list format_tb print_exc walk_stack
uuid: uuid1 uuid4
zlib: compress crc32
"""
#: these are replaced by themselves: nothing of torch calls them while it compiles
NEVER = (
    "builtins.open builtins.print json.dumps json.loads os.urandom os.replace time.sleep".split()
)

DEPYF = os.path.dirname(os.path.abspath(depyf.__file__)) + os.sep


def functions(listed):
    for line in listed.strip().splitlines():
        module, _, names = line.partition(": ")
        for name in names.split():
            owner = importlib.import_module(module)
            # classes have subclasses and instances already
            if not isinstance(getattr(owner, name, type), type):
                yield "%s.%s" % (module, name), owner, name


def because_of_depyf(frame):
    """Whether depyf is on the stack, or computes what torch only computes for a listener."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(DEPYF):
            return True
        frame = frame.f_back
    return False


class Replaced:
    """Inside the block each function of the list is one that counts its calls.

    own: those from depyf's own code; with `fails`, each that depyf brought about raises an
    exception
    """

    def __init__(self, listed, fails=False):
        self.listed, self.fails = listed, fails
        self.counts, self.own, self.raised = {}, [], 0

    def _standin(self, label, real, look=sys._getframe, starts=str.startswith):
        def standin(*arguments, **keywords):
            caller = look(1)
            self.counts[label] = self.counts.get(label, 0) + 1
            if starts(caller.f_code.co_filename, DEPYF):
                self.own.append((label, caller.f_code.co_filename, caller.f_lineno))
            if self.fails and because_of_depyf(caller):
                self.raised += 1
                raise ZeroDivisionError("replaced")
            return real(*arguments, **keywords)

        return standin

    def __enter__(self):
        found = list(functions(self.listed))
        self._before = [(owner, name, getattr(owner, name)) for _, owner, name in found]
        made = [self._standin(label, getattr(owner, name)) for label, owner, name in found]
        put = setattr
        for (owner, name, _), standin in zip(self._before, made):
            put(owner, name, standin)
        return self

    def __exit__(self, *_, put=setattr):
        for owner, name, real in self._before:
            put(owner, name, real)


def broken(x):
    y = torch.sin(x) + 1
    torch._dynamo.graph_break()
    for _ in range(2):
        y = y * x
    return y.sum()


def program():
    torch._dynamo.reset()
    return torch.compile(broken, backend="eager")(torch.ones(3)).item()


def check_own_calls(tmp_path):
    want = program()
    with depyf.prepare_debug(str(tmp_path / "first")):
        program()  # modules are imported
    with Replaced(REPLACED) as plain:
        program()
    with Replaced(REPLACED) as counted:
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            have = program()
    assert have == want and [entry.replaced for entry in run.entries()] == [True, True]
    own = set(counted.own)
    assert not own, own
    differing = {
        label: (plain.counts.get(label, 0), counted.counts.get(label, 0))
        for label in NEVER
        if plain.counts.get(label, 0) != counted.counts.get(label, 0)
    }
    assert not differing, differing


def check_raising(tmp_path):
    want = program()
    assert depyf.prepare_debug  # Python itself imports it, and the functions of that are replaced
    with Replaced(BY_NAME + REPLACED, fails=True) as failing:
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            have = program()
    assert have == want
    assert failing.raised and run.problems


def check_strict_builtins(tmp_path):
    """Replacements that raise for callers of depyf alone."""
    import builtins

    want = program()
    for name in ("callable", "isinstance", "len"):
        real = getattr(builtins, name)

        def strict(*arguments, _name=name, _real=real, _look=sys._getframe):
            if _look(1).f_code.co_filename.startswith(DEPYF):
                raise ZeroDivisionError(_name)
            return _real(*arguments)

        with depyf.prepare_debug(str(tmp_path / name)) as run:
            setattr(builtins, name, strict)
            try:
                have = program()
            finally:
                setattr(builtins, name, real)
        assert have == want and not run.problems


def check_records(tmp_path):
    def counted(block):
        made, seen = [], []

        class Listening(logging.Filter):
            def filter(self, record):
                seen.append(record.name)
                return True

        def factory(*arguments, **keywords):
            made.append(arguments[0])
            return before(*arguments, **keywords)

        listening, logger = Listening(), logging.getLogger("torch.__trace")
        before = logging.getLogRecordFactory()
        logging.setLogRecordFactory(factory)
        logger.addFilter(listening)
        try:
            if block is None:
                program()
            else:
                with block:
                    program()
        finally:
            logging.setLogRecordFactory(before)
            logger.removeFilter(listening)
        # torch 2.4 tells graph breaks in its log alone
        made = [one for one in made if TORCH >= (2, 6) or not one.endswith("__graph_breaks")]
        return made, seen

    program()
    want = counted(None)
    assert counted(depyf.prepare_debug(str(tmp_path / "dump"))) == want


def check_missing_texts(tmp_path):
    def fails(*arguments, **keywords):
        raise ZeroDivisionError("no text")

    want = program()
    torch.fx.GraphModule.print_readable = fails
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        assert program() == want
    reasons = [entry.missing.get("Captured_Graph", "") for entry in run.entries()]
    assert reasons == ["torch could not write its text: ZeroDivisionError"] * 2
    assert any("dynamo_output_graph" in problem.where for problem in run.problems)


CHECKS = {
    "no function of the program is called by depyf": check_own_calls,
    "a builtin that raises for depyf is not called": check_strict_builtins,
    "what they raise does not reach the program": check_raising,
    "logging makes the records that it makes without depyf": check_records,
    "a text that torch cannot write is missing with its reason": check_missing_texts,
}


@pytest.mark.skipif(TORCH < (2, 4), reason="torch has no structured trace, its log stands in")
@pytest.mark.parametrize("what", list(CHECKS))
def test_functions_that_the_program_replaces(tmp_path, what):
    # in a process of its own: pytest listens to torch's trace, too
    script = (
        "import pathlib, sys\n"
        "sys.path.insert(0, %r)\n"
        "import test_unnoticed_functions as tests\n"
        "tests.%s(pathlib.Path.cwd())\n"
        "print('finished')\n" % (os.path.dirname(os.path.abspath(__file__)), CHECKS[what].__name__)
    )
    done = warm.run(["-c", script], environment(tmp_path / "cache"), cwd=tmp_path)
    assert "finished" in done.stdout, done.stderr[-3000:]


def test_a_folder_that_no_file_system_has_is_told_and_the_program_goes_on():
    with pytest.warns(depyf.torch.DepyfWarning, match="cannot write to"):
        block = depyf.prepare_debug("\0bad")
        with block as run:
            assert program() == program()
    assert len(list(run.entries())) >= 2


@pytest.mark.skipif(TORCH < (2, 4), reason="torch does not tell of a compile that failed")
def test_a_compile_that_is_interrupted_after_the_hook_is_not_called_replaced(tmp_path, monkeypatch):
    from torch._dynamo import guards

    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(guards.CheckFunctionManager, "__init__", interrupted)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        with pytest.raises(KeyboardInterrupt):
            torch.compile(broken, backend="eager")(torch.ones(3))
    (entry,) = run.entries()
    assert not entry.replaced
    assert "interrupted" in entry.failure


def test_a_file_with_half_a_character_in_its_name_fails_as_without_depyf(tmp_path):
    def outcome():
        code = broken.__code__.replace(co_filename="/half\udc80/program.py")
        torch._dynamo.reset()
        try:
            function = types.FunctionType(code, globals())
            return torch.compile(function, backend="eager")(torch.ones(3)).item()
        except Exception as error:
            return type(error)

    want = outcome()
    with depyf.prepare_debug(str(tmp_path / "dump")):
        assert outcome() == want


OF_AN_ODD_FILE = """
import os, sys
import depyf, torch

source = "def f(x):\\n    return x + 1\\n"
space = {}
exec(compile(source, os.fsdecode(b"/caf\\xe9/program.py"), "exec"), space)
with depyf.prepare_debug(sys.argv[1]) as run:
    torch.compile(space["f"], backend="eager")(torch.ones(3))
assert not run.problems, run.problems
"""


def test_full_code_of_a_file_with_half_a_character_in_its_name_is_python(run_script, tmp_path):
    run_script(OF_AN_ODD_FILE, str(tmp_path / "dump"))
    text = (tmp_path / "dump" / "full_code_for_f_0.py").read_text()
    compile(text, "full_code", "exec")
    assert "\ndef f(x):" in text and "/caf\\udce9/program.py:1" in text


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are bytes on Linux")
def test_a_folder_that_is_not_utf8_is_no_trouble_at_a_graph_break(tmp_path):
    folder = os.path.join(str(tmp_path), os.fsdecode(b"caf\xe9"))
    want = program()
    with depyf.prepare_debug(folder) as run:
        assert program() == want
    entries = list(run.entries())
    assert len(entries) >= 2
    assert all(entry.verdict in ("exact", "equivalent") for entry in entries)
    assert not any(entry.replaced for entry in entries)
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as stream:
        text = stream.read()
    assert text.count("the name of the dump's folder, which is not UTF-8") == len(entries)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are bytes on Linux")
def test_depyf_run_in_a_folder_that_is_not_utf8_runs_the_program(tmp_path):
    script = tmp_path / "breaks.py"
    script.write_text(
        "import torch\n"
        "@torch.compile(backend='eager')\n"
        "def f(x):\n"
        "    x = x + 1\n"
        "    print('broken')\n"
        "    return x * 2\n"
        "print(f(torch.ones(2)))\n"
    )
    folder = os.path.join(str(tmp_path), os.fsdecode(b"caf\xe9"))
    os.mkdir(folder)
    arguments = ["-m", "depyf", "run", str(script)]
    done = warm.run(arguments, environment(tmp_path / "cache"), cwd=folder)
    assert (done.returncode, done.stdout) == (0, "broken\ntensor([4., 4.])\n"), done.stderr


def test_a_program_that_closes_standard_error_ends_as_without_depyf(tmp_path):
    script = tmp_path / "closes.py"
    script.write_text(
        "import sys, torch\n"
        "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(3))\n"
        "sys.stderr.close()\n"
        "print('finished')\n"
    )
    for arguments in ([], ["-m", "depyf", "run", "--breaks"]):
        done = warm.run(arguments + [str(script)], environment(tmp_path / "cache"), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "finished\n"), done.stderr


@pytest.mark.parametrize("way", ["capture", "prepare_debug"])
def test_no_method_of_the_program_s_objects_is_called(tmp_path, way):
    """They may count their calls, and raise what no block of depyf's may catch."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "watchful_objects.py")
    done = warm.run([program, way, "dump"], environment(tmp_path / "cache"), cwd=tmp_path)
    *asked, made = done.stdout.splitlines()
    assert asked == [], done.stderr[-2000:]
    assert int(made.split()[0]) > 15


OF_ODD_NAMES = """
import sys, types
import depyf, torch

# it cannot write its tree of guards with half a character in a name
TORCH_4 = torch.__version__.startswith("2.4.")

def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2

for number, end in enumerate(["\\udc80", "\\0", "\\x1b[31m"]):
    names = tuple(name + end * (name == "y") for name in f.__code__.co_varnames)
    odd = types.FunctionType(f.__code__.replace(co_varnames=names), globals())
    torch._dynamo.reset()
    with depyf.prepare_debug("%s/%d" % (sys.argv[1], number)) as run:
        assert torch.compile(odd, backend="eager")(torch.ones(3)).tolist() == [4.0] * 3
    problems = [one for one in run.problems if not (TORCH_4 and "cpp_guards" in one.where)]
    assert not problems, problems
    assert [entry.replaced for entry in run.entries()] == [True] * 2, list(run.entries())
"""


def test_names_that_no_source_has_are_no_trouble(run_script, tmp_path):
    run_script(OF_ODD_NAMES, str(tmp_path / "dump"))
    found = list((tmp_path / "dump").glob("*/*.py"))
    assert len(found) >= 9
    for path in found:
        compile(path.read_text(encoding="utf-8"), path.name, "exec")


def test_a_file_with_a_nul_in_its_name_fails_as_without_depyf(tmp_path):
    def outcome():
        code = broken.__code__.replace(co_filename="/nul\0/program.py")
        torch._dynamo.reset()
        try:
            function = types.FunctionType(code, globals())
            return torch.compile(function, backend="eager")(torch.ones(3)).tolist()
        except Exception as error:
            return type(error), str(error).split("\n")[0]

    want = outcome()
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        assert outcome() == want
    assert not run.problems and "README.md" in os.listdir(str(tmp_path / "dump"))
