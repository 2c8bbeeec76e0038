"""Programs written for the original find its names here (docs/from_the_original.md)."""

import functools
import importlib
import inspect
import os
import re

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
    "depyf.explain.enhance_logging.install": [],
    "depyf.explain.enhance_logging.uninstall": [],
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
    return getattr(importlib.import_module(module), attribute)


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
    from depyf.utils import get_function_signature

    assert get_function_signature(space["f"].__code__) == text + "\n"
    named = get_function_signature(space["f"].__code__, overwite_fn_name="g")
    assert named == text.replace("f(", "g(", 1) + "\n"


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
    assert get_code_owner(Module()).__code__ in (
        Module.forward.__code__,
        torch.nn.Module.__call__.__code__,
    )


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
    """The rows of the table in docs/from_the_original.md: their three columns."""
    with open(os.path.join(TESTS, "..", "docs", "from_the_original.md"), encoding="utf-8") as file:
        table = file.read().split("Different on purpose")[0]
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
    assert named == set(NAMES) | own


def test_prepare_debug_is_a_decorator_too(tmp_path):
    @depyf.prepare_debug(str(tmp_path / "dump"))
    def main():
        return torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).sum().item()

    assert main() == 4.0
    assert (tmp_path / "dump" / "depyf.json").is_file()


def test_the_code_has_a_name_among_the_parameters():
    assert "return x" in depyf.decompile(code=(lambda x: x).__code__)
