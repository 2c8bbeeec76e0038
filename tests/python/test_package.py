"""The package as installed: what importing it costs, what its names do, what its binary needs."""

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

import _depyf_command
import depyf
import pythons

HEAVY = {"torch", "numpy", "inspect", "dataclasses", "typing", "ast", "tokenize", "asyncio"}


def in_fresh_process(program, *options):
    return subprocess.run(
        [sys.executable, *options, "-c", program],
        check=True,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    ).stdout


def test_import_loads_nothing_heavy():
    loaded = in_fresh_process(
        "import sys; before = set(sys.modules); import depyf;"
        "print(*sorted(set(sys.modules) - before))"
    ).split()
    assert "depyf" in loaded
    assert not HEAVY & set(loaded)


def test_import_takes_less_than_30_ms_of_processor_time():
    program = (
        "import time; start = time.process_time(); import depyf; depyf.decompile;"
        "print(time.process_time() - start)"
    )
    assert min(float(in_fresh_process(program)) for _ in range(5)) < 0.030


@pytest.mark.skipif(sys.version_info < (3, 8), reason="importlib.metadata came with 3.8")
def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert depyf.__version__ == version("depyf")


def the_command_says(**environment):
    return subprocess.run(
        [sys.executable, "-m", "depyf", "--version"],
        check=True,
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env=dict(os.environ, **environment),
    ).stdout.splitlines()


def test_the_command_says_its_version_and_which_depyf_it_is():
    first, second = the_command_says()
    assert first == "depyf %s" % depyf.__version__
    assert os.path.dirname(depyf.__file__) in second
    assert "PyPI's depyf is another project" in second


@pytest.mark.parametrize(
    "encoding, shown",
    [
        # that of Python in the locale C, without its UTF-8 mode
        ("ascii:surrogateescape", "f\u00e9 \u00fc".encode("utf-8")),
        ("ascii:strict", b"f\\xe9 \\xfc"),
        ("utf-8:strict", "f\u00e9 \u00fc".encode("utf-8")),
        ("latin-1:strict", "f\u00e9 \u00fc".encode("latin-1")),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="names of files are text there")
def test_the_command_says_its_folder_in_every_locale(encoding, shown, tmp_path):
    # from 3.12 on, Python imports no extension from a folder whose name it cannot decode
    decoded = sys.version_info >= (3, 12)
    if decoded and "surrogateescape" in encoding:
        pytest.skip("this Python has no such names of folders with an extension")
    folder = tmp_path / "f\u00e9 \u00fc"
    shutil.copytree(os.path.dirname(depyf.__file__), str(folder / "depyf"))
    environment = dict(os.environ, PYTHONIOENCODING=encoding, LC_ALL="C")
    environment["PYTHONUTF8"] = "1" if decoded else "0"
    environment["PYTHONPATH"] = str(folder)
    text = subprocess.run(
        [sys.executable, "-m", "depyf", "--version"],
        check=True,
        stdout=subprocess.PIPE,
        env=environment,
    ).stdout
    assert shown + b"/depyf; PyPI's" in text and b"udc" not in text


def test_the_command_names_another_depyf_in_the_environment(tmp_path):
    path = os.pathsep.join([str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    for version, lines in [("0.20.0", 3), (depyf.__version__, 2)]:
        other = tmp_path / ("depyf-%s.dist-info" % version)
        other.mkdir()
        text = "Metadata-Version: 2.1\nName: depyf\nVersion: %s\n" % version
        (other / "METADATA").write_text(text)
        shown = the_command_says(PYTHONPATH=path)
        assert shown[0] == "depyf %s" % depyf.__version__
        # metadata alone, of this version, is that of an editable installation, which may have the
        # extension module beside it
        assert len(shown) == lines
        if version == depyf.__version__:
            (tmp_path / "depyf").mkdir()
            (tmp_path / "depyf" / "_core.abi3.so").write_bytes(b"")
            assert len(the_command_says(PYTHONPATH=path)) == lines
        if lines == 3:
            assert "depyf 0.20.0" in shown[2] and str(tmp_path) in shown[2]
            assert "uninstall" in shown[2]
        shutil.rmtree(str(other))


def test_public_names_are_listed_and_unknown_ones_refused():
    assert sorted(depyf.__all__) == dir(depyf)
    with pytest.raises(AttributeError, match="no_such_name"):
        depyf.no_such_name
    for name in depyf.__all__:
        if name not in depyf._LAZY_TORCH:
            assert getattr(depyf, name) is not None


def test_submodule_recompile_is_not_hidden_by_a_function():
    import depyf.recompile

    assert depyf.recompile.recompile.__module__ == "depyf.recompile"


@pytest.mark.skipif(sys.version_info < (3, 8), reason="depyf.torch needs 3.8")
def test_names_that_need_torch_say_so_where_it_is_missing():
    # A finder in front hides whatever torch this environment has.
    program = (
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch':\n"
        "            raise ModuleNotFoundError('No module named ' + repr(name), name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "import depyf\n"
        "try:\n"
        "    with depyf.prepare_debug('nowhere'):\n"
        "        pass\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    message = in_fresh_process(program)
    assert "pip install torch" in message


ORIGINAL_FIRST = """
import sys
from _depyf_command import main
sys.exit(main(["--version"]))
"""


def command_beside(folder, *words):
    """The command where `folder` comes first on sys.path; as `python -m depyf` with words."""
    # what was installed beside the package is found as before
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *(words or ("-c", ORIGINAL_FIRST))],
        env=dict(os.environ, PYTHONPATH=path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )


def test_the_command_says_where_another_depyf_comes_first(tmp_path):
    other = tmp_path / "depyf"
    other.mkdir()
    (other / "__init__.py").write_text("__version__ = '0.20.0'\n")
    done = command_beside(tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert str(other) in done.stderr and "uninstall depyf" in done.stderr


@pytest.mark.parametrize("first_line", ["__version__ = '0.20.0'", "import no_such_module_at_all"])
def test_the_command_says_where_another_depyf_was_put_over_this_one(tmp_path, first_line):
    both = tmp_path / "depyf"
    shutil.copytree(os.path.dirname(depyf.__file__), str(both))
    assert command_beside(tmp_path).returncode == 0
    (both / "__init__.py").write_text(first_line + "\n")
    (both / "utils.py").write_text("nothing = 1\n")
    done = command_beside(tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert str(both) in done.stderr and "uninstall depyf" in done.stderr
    if "import" not in first_line:  # else Python itself ends before the command begins
        assert command_beside(tmp_path, "-m", "depyf", "--version").stderr == done.stderr


def test_the_command_says_where_pip_took_half_of_two_packages(tmp_path):
    half = tmp_path / "depyf"
    shutil.copytree(os.path.dirname(depyf.__file__), str(half))
    shutil.rmtree(str(half / "__pycache__"), ignore_errors=True)
    (half / "__init__.py").unlink()
    program = "import sys; sys.path[:] = [%r] + sys.path[1:]\n" % str(tmp_path)
    # the package that was installed would be found as a whole
    program += "sys.path[:] = [p for p in sys.path if p == %r or 'site-packages' not in p]\n" % (
        str(tmp_path)
    )
    program += (
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
    )
    shutil.copy(_depyf_command.__file__, str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program + ORIGINAL_FIRST],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "has no __init__.py" in done.stderr and str(half) in done.stderr


def test_a_mistake_of_our_own_is_no_other_package(tmp_path):
    shutil.copytree(os.path.dirname(depyf.__file__), str(tmp_path / "depyf"))
    (tmp_path / "depyf" / "cli.py").write_text("import no_such_module_at_all\n")
    done = command_beside(tmp_path)
    assert done.returncode == 1 and "no_such_module_at_all" in done.stderr


TYPED = """\
import depyf
reveal_type(depyf.decompile)
reveal_type(depyf.compare(1, 2).verdict)
reveal_type(depyf.prepare_debug)
reveal_type(depyf.debug())
reveal_type(depyf.capture)
reveal_type(depyf.profile)
reveal_type(depyf.__version__)
reveal_type(depyf.DecompilationError().message)
reveal_type(depyf.utils.get_function_signature)
with depyf.prepare_debug("dump") as run:
    reveal_type(run)
for name in {names}:
    pass
depyf.decompil
depyf.decompile(len, nam="f")
"""


def test_a_type_checker_sees_the_types_of_the_public_names(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "user.py"
    program.write_text(TYPED.format(names="[%s]" % ", ".join("depyf." + n for n in depyf.__all__)))
    # what torch is, is not asked: reading it takes minutes
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = True\n[mypy-torch.*]\nfollow_imports = skip\n"
        "follow_imports_for_stubs = True\nignore_missing_imports = True\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "user.py"],
        cwd=str(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    said = {}
    for line in done.stdout.splitlines():
        found = re.match(r"user\.py:(\d+): (.*)", line)
        assert found, line  # nothing is said of the package itself
        said.setdefault(TYPED.splitlines()[int(found[1]) - 1].strip(), []).append(found[2])
    lines = TYPED.splitlines()
    for line, expected in zip(
        [line.strip() for line in lines if "reveal_type" in line],
        [
            r"def \(code: object, indentation: int =, .*\) -> depyf\.decompiler\.DecompiledSource",
            r'"str"',
            r"def \(dump_src_dir: .*, clean_wild_fx_code: bool =, log_bytecode: bool =, .*\) -> ",
            r"depyf\.torch\.debug\.debug",
            r"def \(caches: bool =\) -> ",
            r"def \(fn: .*, calls: int =, .*\) -> depyf\.torch\.profile\.figures\.Profile",
            r'"str"',
            r'"str"',
            r"def \(code_obj: types\.CodeType, overwite_fn_name: .*\) -> str",
            r"depyf\.model\.run\.Run",
        ],
    ):
        assert re.search(expected, "\n".join(said.pop(line))), line
    assert "has no attribute" in said.pop("depyf.decompil")[0]
    assert "Unexpected keyword argument" in said.pop('depyf.decompile(len, nam="f")')[0]
    assert said == {}


def test_the_stub_of_the_extension_has_its_parameters():
    import ast
    import inspect

    path = os.path.join(os.path.dirname(depyf.__file__), "_core.pyi")
    with open(path, encoding="utf-8") as file:
        functions = [one for one in ast.parse(file.read()).body if isinstance(one, ast.FunctionDef)]
    from depyf.installed import _core as core

    assert {one.name for one in functions} == {
        name for name, value in vars(core).items() if inspect.isbuiltin(value)
    }
    for one in functions:
        names = list(inspect.signature(getattr(core, one.name)).parameters)
        assert [argument.arg for argument in one.args.args] == names, one.name


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compiles an ELF library")
def test_the_error_names_the_extension_for_a_program(tmp_path):
    """`import depyf` alone loads nothing compiled; what needs it says why it cannot be had."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    package = tmp_path / "depyf"
    shutil.copytree(os.path.dirname(depyf.__file__), str(package))
    empty = tmp_path / "empty.c"
    empty.write_text("")
    library = str(tmp_path / "libnot_here.so.1")
    build = [compiler, "-shared", "-fPIC", "-Wl,--no-as-needed", str(empty)]
    subprocess.run([*build, "-o", library], check=True)
    broken = str(package / os.path.basename(extension()))
    subprocess.run([*build, library, "-o", broken], check=True)
    os.unlink(library)
    done = command_beside(tmp_path, "-m", "depyf", "--version")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "libnot_here.so.1" in done.stderr and "a wheel for this system" in done.stderr
    done = command_beside(tmp_path, "-c", "import depyf; depyf.decompile")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: depyf's compiled part depyf._core cannot be loaded")


def extension():
    (path,) = glob.glob(os.path.join(os.path.dirname(depyf.__file__), "_core*.so"))
    return path


# A free-threaded CPython has no stable ABI.
of_the_stable_abi = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this CPython has no stable ABI"
)


@of_the_stable_abi
def test_extension_is_abi3():
    assert extension().endswith("_core.abi3.so")


@of_the_stable_abi
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF symbols with nm")
def test_extension_needs_only_the_stable_abi_of_37():
    from shutil import which

    if which("nm") is None:
        pytest.skip("binutils (nm) is not installed")
    listing = subprocess.run(
        ["nm", "-D", extension()], check=True, stdout=subprocess.PIPE, universal_newlines=True
    ).stdout
    needed = set(re.findall(r" U (_?Py\w+)", listing))
    with open(os.path.join(os.path.dirname(__file__), "stable_abi_37.txt")) as file:
        stable = {line.strip() for line in file if not line.startswith("#")}
    assert needed
    assert not needed - stable
    exported = set(re.findall(r" T (\S+)", listing))
    assert exported == {"PyInit__core"}
    libraries = subprocess.run(
        ["ldd", extension()], check=True, stdout=subprocess.PIPE, universal_newlines=True
    ).stdout
    assert "libpython" not in libraries


LIVE = """
import depyf
from depyf.decompiler import decompile, Decompiler, DecompilationError
import types
def sample(a, b):
    x = a + b
    if x:
        return len(str(x))
    return types
try:
    text = decompile(sample)
    namespace = {"types": types}
    exec(text, namespace)
    assert namespace["sample"](2, 3) == sample(2, 3)
    assert namespace["sample"](0, 0) is types
    print("decompiled")
except DecompilationError as error:
    assert "3.%d" % sys.version_info[1] in str(error), error
    print("refused", error)
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_one_binary_serves_every_python(version):
    answer = pythons.run(version, LIVE)
    assert answer.startswith(("decompiled", "refused"))
    if version == "3.11":
        assert answer == "decompiled\n"


FUNCTIONS = """
text = "from __future__ import annotations\\ndef f(a: 'Later', b=1): return a\\n"
namespace = {}
exec(compile(text, "m", "exec"), namespace)
function = namespace["f"]
print(depyf.decompile(function).splitlines()[1], depyf.compare(function, function).verdict)
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_functions_are_shown_and_compared_by_every_python(version):
    assert pythons.run(version, FUNCTIONS) == "def f(a: 'Later', b=1): identical\n"


COMPILE_ALL = """
import os, sys
for folder, names, files in os.walk(sys.argv[1]):
    for name in files:
        if name.endswith(".py"):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                compile(file.read(), path, "exec", dont_inherit=True)
print("compiled")
"""


@pytest.mark.parametrize("version", pythons.VERSIONS)
def test_each_module_is_python_of_every_version(version):
    package = os.path.dirname(os.path.abspath(depyf.__file__))
    assert pythons.run(version, COMPILE_ALL, package) == "compiled\n"


def test_the_laws_of_the_sources_hold():
    """scripts/check, where the tools that compare formats are installed."""
    pytest.importorskip("ruff")
    done = subprocess.run(
        [sys.executable, os.path.join(pythons.ROOT, "scripts", "check")],
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stdout
