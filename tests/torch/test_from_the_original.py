"""Programs written for the original find its names here (docs/from_the_original.md)."""

import functools
import importlib
import inspect
import os
import re
import subprocess
import sys
import types

import pytest

import depyf

torch = pytest.importorskip("torch")

import warm  # noqa: E402
from processes import environment  # noqa: E402

# Public name of the original -> its parameters, which callers may give by position or by name.
NAMES = {
    "depyf.prepare_debug": ["dump_src_dir", "clean_wild_fx_code", "log_bytecode"],
    "depyf.debug": [],
    "depyf.install": [],
    "depyf.uninstall": [],
    "depyf.Decompiler.decompile_and_compile_like": [
        "code_to_decompile",
        "reference_code",
        "indentation",
        "temp_prefix",
        "filepath_template",
    ],
    "depyf.Decompiler.supported_opnames": [],
    "depyf.decompiler.add_indentation": ["code", "indentation"],
    "depyf.decompiler.get_function_signature": ["code_obj", "overwite_fn_name"],
    "depyf.decompiler.remove_indentation": ["code", "indentation"],
    "depyf.utils.get_function_signature": ["code_obj", "overwite_fn_name"],
    "depyf.utils.collect_all_code_objects": ["code"],
    "depyf.utils.safe_create_directory": ["path"],
    "depyf.utils.get_code_owner": ["fn"],
    "depyf.utils.decompile_ensure": ["fn", "overwite_fn_name"],
    "depyf.explain.dump_src": ["original_code", "module"],
    "depyf.explain.enable_debugging.prepare_debug": [
        "dump_src_dir",
        "clean_wild_fx_code",
        "log_bytecode",
    ],
    "depyf.explain.enable_debugging.debug": [],
    "depyf.explain.enable_debugging.enable_bytecode_hook": ["hook"],
    "depyf.explain.enable_debugging.patch": ["parent", "name", "value"],
    "depyf.explain.enhance_logging.install": [],
    "depyf.explain.enhance_logging.pytorch_bytecode_src_hook": ["code", "new_code"],
    "depyf.explain.enhance_logging.uninstall": [],
    "depyf.code_transform.add_indentation": ["code", "indentation"],
    "depyf.code_transform.remove_indentation": ["code", "indentation"],
    "depyf.code_transform.fix_irregular_code": [
        "old_bytecode",
        "src_code",
        "add_local_variables",
        "add_cellvars",
    ],
    "depyf.optimization.TorchCompileWrapperWithCustomDispatcher": [
        "compiled_callable",
        "use_custom_dispatcher",
    ],
}


def by_name(name):
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:  # a class
        return getattr(by_name(module), attribute)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_name_is_there_with_its_parameters(name):
    parameters = list(inspect.signature(by_name(name)).parameters)
    assert parameters[: len(NAMES[name])] == NAMES[name]


def test_decompiler_takes_code_and_function():
    def function(a, b=2):
        return a + b

    for thing in (function, function.__code__):
        assert "return a + b" in depyf.decompile(thing)
        assert "return a + b" in depyf.Decompiler(thing).decompile(overwite_fn_name="f")
    from depyf.decompiler import DecompilationError

    assert DecompilationError is depyf.DecompilationError


@pytest.mark.parametrize(
    "text",
    ["def f(a, b):", "def f(a, *rest, b, **more):", "def f(*, key):", "def f(a, /, b, *, c):"],
)
def test_signature_is_the_line_that_was_written(text):
    space = {}
    exec(text + " pass", space)
    from depyf.decompiler import get_function_signature

    assert get_function_signature is depyf.utils.get_function_signature
    assert get_function_signature(space["f"].__code__) == text + "\n"
    named = get_function_signature(space["f"].__code__, overwite_fn_name="g")
    assert named == text.replace("f(", "g(", 1) + "\n"


def test_a_class_is_refused_with_what_to_pass_instead():
    class Written:
        def __init__(self):
            self.value = 1

    with pytest.raises(TypeError, match=r"Written has no bytecode .*Written\.__init__"):
        depyf.decompile(Written)
    assert "self.value = 1" in depyf.decompile(Written.__init__)


def test_owner_has_the_code_that_runs():
    from depyf.utils import get_code_owner

    class Called:
        def __call__(self):
            return 1

    class Module(torch.nn.Module):
        def forward(self, x):
            return x

    def function():
        return 1

    assert get_code_owner(function) is function
    assert get_code_owner(functools.partial(function)) is function
    assert get_code_owner(Called()) is Called.__call__
    assert get_code_owner(Called().__call__) is Called.__call__
    assert get_code_owner(Module()) is Module.forward
    assert get_code_owner(Module().forward) is Module.forward
    assert get_code_owner(torch.compile(Module(), backend="eager")) is Module.forward
    assert get_code_owner(torch.compile(function, backend="eager")) is function
    assert get_code_owner(functools.lru_cache()(function)) is function
    for other in (Module, Called, len, function.__code__):
        assert get_code_owner(other) is other


def test_error_has_its_message_under_that_name():
    from depyf.decompiler import DecompilationError

    assert DecompilationError("a").message == DecompilationError(message="a").message == "a"
    assert str(DecompilationError(message="a")) == "a" and DecompilationError().message == ""
    with pytest.raises(DecompilationError) as caught:
        depyf.installed._core.decompile(b"no module")
    assert caught.value.message and caught.value.message == str(caught.value)


def test_modules_of_explain_are_reached_from_the_package():
    program = (
        "import depyf; d = depyf.explain.enable_debugging; assert d.debug is depyf.debug;"
        "assert d.prepare_debug is depyf.prepare_debug;"
        "assert depyf.explain.enhance_logging.install is depyf.install"
    )
    done = warm.run(["-c", program], environment("cache"))
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no_such_name"):
        depyf.explain.no_such_name


def test_hook_is_called_inside_its_block_only():
    from depyf.explain.enable_debugging import enable_bytecode_hook

    seen = []
    with enable_bytecode_hook(lambda code, new_code: seen.append((code, new_code))):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    torch.compile(lambda x: x + 2, backend="eager")(torch.ones(2))
    assert len(seen) == 1 and all(isinstance(code, types.CodeType) for code in seen[0])


def test_patch_is_undone_also_after_an_exception():
    from depyf.explain.enable_debugging import patch

    class Holder:
        value = 1

    with pytest.raises(ZeroDivisionError), patch(Holder, "value", 2):
        assert Holder.value == 2
        1 / 0
    assert Holder.value == 1
    with patch(Holder, "missing", 2):
        assert not hasattr(Holder, "missing")


def _printing(x):
    y = x + 1
    print(end="")
    return y * 2


def _branching(x):
    y = x / (torch.abs(x) + 1)
    if x.sum() < 0:
        x = x * -1
    return x * y


def _listing(x):
    found = [x + number for number in range(3)]
    print(end="")
    found.append(x.sum())
    return {"all": found, "last": found[-1]}


@pytest.mark.parametrize("inside", [True, False], ids=["in the hook", "afterwards"])
@pytest.mark.parametrize("function", [_printing, _branching, _listing])
def test_code_of_a_hook_is_compiled_like_itself(function, inside, tmp_path):
    from depyf.explain.enable_debugging import enable_bytecode_hook

    def like(code):
        return depyf.Decompiler.decompile_and_compile_like(
            code, code, filepath_template=str(tmp_path / "like_%d.py")
        )

    met = []

    def hook(old, new):
        met.append(like(new) if inside else new)
        return met[-1]

    torch._dynamo.reset()
    with enable_bytecode_hook(hook):
        found = torch.compile(function, backend="eager")(-torch.ones(4))
    made = met if inside else [like(code) for code in met]
    assert len(made) > 1
    assert {os.path.dirname(code.co_filename) for code in made} == {str(tmp_path)}
    torch.testing.assert_close(found, function(-torch.ones(4)))


def test_source_hook_writes_into_the_log_of_bytecode(tmp_path):
    program = tmp_path / "hooked.py"
    program.write_text(
        "import depyf, torch\n"
        "from depyf.explain.enhance_logging import pytorch_bytecode_src_hook as hook\n"
        "with depyf.explain.enable_debugging.enable_bytecode_hook(hook):\n"
        "    torch.compile(lambda some_name: some_name + 1, backend='eager')(torch.ones(2))\n"
    )
    done = warm.run([program], environment(tmp_path / "cache", TORCH_LOGS="+bytecode"))
    assert done.returncode == 0, done.stderr
    source = done.stderr.partition("possible source code:")[2]
    assert "__compiled_fn" in source and "return" in source, done.stderr


@pytest.mark.parametrize("text", ["a\nb\n", "if a:\n    b\n\nc", "    x\n  y\n"])
@pytest.mark.parametrize("module", ["depyf.code_transform", "depyf.decompiler"])
def test_indentation_is_added_and_removed(module, text):
    add_indentation = by_name(module + ".add_indentation")
    remove_indentation = by_name(module + ".remove_indentation")
    moved = add_indentation(text, 3)
    assert moved == "".join("   %s\n" % line for line in text.splitlines())
    assert remove_indentation(moved, 3) == "".join(line + "\n" for line in text.splitlines())
    assert remove_indentation("  x\n") == "x\n"


PAUSES = """
import depyf
def stop(): print("stopped", flush=True)
import sys
sys.breakpointhook = stop
for given in ((), (True,), (False,)):
    with depyf.debug(*given):
        print("inside", given, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
@pytest.mark.parametrize("terminal", [True, False])
def test_debug_pauses_where_somebody_can_answer(terminal, tmp_path):
    """As the original's documentation says; but a job without a terminal must not end there."""
    main, other = os.openpty() if terminal else os.pipe()[::-1]
    try:
        done = subprocess.run(
            [sys.executable, "-c", PAUSES],
            stdin=other,
            stdout=subprocess.PIPE,
            env=environment(tmp_path / "cache"),
            universal_newlines=True,
        )
    finally:
        os.close(main)
        os.close(other)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("stopped", "inside"))]
    expected = ["inside ()", "stopped", "inside (True,)", "inside (False,)"]
    assert done.returncode == 0 and lines == ["stopped"] * terminal + expected


PROGRAM = """
import torch, depyf

@torch.compile(backend="eager")
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

{use}
"""


def run(folder, use):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(use=use))
    done = warm.run([path], environment(folder / "cache"), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_have_the_names_of_the_original(tmp_path):
    run(
        tmp_path,
        "with depyf.prepare_debug('dump', True, False):\n"
        "    for _ in range(3): toy_example(torch.randn(10), torch.randn(10))\n"
        "with depyf.debug():\n"
        "    toy_example(torch.randn(10), torch.randn(10))\n",
    )
    names = os.listdir(str(tmp_path / "dump"))
    for pattern in (
        r"full_code_for_toy_example_0\.py$",
        r"__transformed_code_0_for_toy_example\.py$",
        r"__transformed_code_0_for_torch_dynamo_resume_in_toy_example_at_\d+\.py$",
        r"__compiled_fn_1\.Captured_Graph\.0\.py$",
    ):
        assert any(re.match(pattern, name) for name in names), (pattern, names)


def test_block_entered_by_hand_as_frameworks_do(tmp_path):
    run(
        tmp_path,
        "block = depyf.prepare_debug('dump')\n"
        "block.__enter__()\n"
        "toy_example(torch.ones(10), torch.ones(10))\n"
        "block.__exit__(None, None, None)\n",
    )
    assert (tmp_path / "dump" / "full_code_for_toy_example_0.py").exists()


TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def rows():
    """The rows of the table of names in docs/from_the_original.md: their three columns."""
    with open(os.path.join(TESTS, "..", "docs", "from_the_original.md"), encoding="utf-8") as file:
        tables = re.findall(r"(?m)(?:^\|.*\|\n)+", file.read())
    (table,) = (table for table in tables if table.startswith("| name in the original"))
    return re.findall(r"(?m)^\| (.*?) \| (.*) \| (.*?) \|$", table)[2:]


@pytest.mark.parametrize("name, test", [(row[0], row[2]) for row in rows()])
def test_each_row_has_a_test(name, test):
    path, function = re.match(r"`(\w+/\w+\.py)::(\w+)`$", test).groups()
    with open(os.path.join(TESTS, path), encoding="utf-8") as file:
        assert re.search(r"(?m)^def %s\(" % function, file.read()), name


def test_the_table_of_names_is_the_one_that_is_tested():
    """A name in the table of docs/from_the_original.md is in NAMES, or in a test of its own."""
    named = set()
    for row, _, _ in rows():
        module = ""
        for name in re.findall(r"`(\.?\w+[\w.]*)", row):
            if name.startswith("."):  # the second of two names of one module
                name = module + name
            if name.startswith("depyf."):
                named.add(name)
                module = name.rpartition(".")[0]
    own = {"depyf.decompile", "depyf.Decompiler", "depyf.decompiler.DecompilationError"}
    own |= {"depyf.explain.enable_debugging", "depyf.explain.enhance_logging"}
    assert named == set(NAMES) | own


def test_prepare_debug_is_a_decorator_too(tmp_path):
    @depyf.prepare_debug(str(tmp_path / "dump"))
    def main():
        return torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).sum().item()

    assert main() == 4.0
    assert (tmp_path / "dump" / "depyf.json").is_file()


def test_the_code_has_a_name_among_the_parameters():
    assert "return x" in depyf.decompile(code=(lambda x: x).__code__)
