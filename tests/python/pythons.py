"""The CPythons of this machine, for tests that run under each."""

import functools
import importlib.util
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _interpreters():
    # By path: with tests/ itself in sys.path, `import torch` would find tests/torch.
    path = os.path.join(ROOT, "tests", "interpreters.py")
    module = sys.modules.get("interpreters")
    if module is None or not os.path.samefile(module.__file__, path):
        spec = importlib.util.spec_from_file_location("interpreters", path)
        module = sys.modules["interpreters"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


INTERPRETERS = _interpreters()
VERSIONS = ["3.%d" % minor for minor in INTERPRETERS.SUPPORTED]


@functools.lru_cache(maxsize=None)
def found():
    """{"3.11": path ...}; where they are looked for: scripts/generate_opcode_tables --help."""
    listed = {"3.%d" % minor: path for minor, path in INTERPRETERS.interpreters().items()}
    if not os.environ.get("DEPYF_TEST_VERSIONS"):
        listed.setdefault("3.%d" % sys.version_info[1], sys.executable)
    return listed


def path_of(version):
    """The interpreter of that version; skips the test where there is none."""
    if not found().get(version):
        pytest.skip("no CPython %s found (PATH, PYENV_ROOT, DEPYF_PYTHONS are looked at)" % version)
    return found()[version]


def run(version, program, *arguments):
    """Standard output of `program` under that version, with the depyf that is under test."""
    import depyf

    package_parent = os.path.dirname(os.path.dirname(os.path.abspath(depyf.__file__)))
    # Only depyf itself: the packages beside it belong to another version.
    head = (
        "import sys, importlib.util as u\n"
        "spec = u.spec_from_file_location('depyf', %r, submodule_search_locations=[%r])\n"
        "depyf = u.module_from_spec(spec); sys.modules['depyf'] = depyf\n"
        "spec.loader.exec_module(depyf)\n"
    ) % (depyf.__file__, os.path.join(package_parent, "depyf"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [path_of(version), "-c", head + program] + list(arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def native(*arguments, env=None):
    """The native command, which has no interpreter of its own."""
    command = INTERPRETERS.native_command()
    if command is None:
        pytest.skip("the native command is not built (cmake --build build, or DEPYF_BUILD_DIR)")
    return subprocess.run(
        [command, *arguments],
        env=dict(os.environ, **(env or {})),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=60,
    )
