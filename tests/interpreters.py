"""The CPython interpreters of this machine, as scripts/generate_opcode_tables finds them."""

import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if os.path.join(ROOT, "scripts") not in sys.path:
    sys.path.append(os.path.join(ROOT, "scripts"))
from loading import load as load_script  # noqa: E402

#: scripts/generate_opcode_tables knows the versions, and where interpreters are
_scripts = load_script("generate_opcode_tables")
SUPPORTED = range(_scripts.FIRST, _scripts.LAST + 1)
_found = None


def interpreters():
    """{minor version: path} of every supported CPython that is found.

    Looked at are DEPYF_PYTHONS, PATH and PYENV_ROOT. DEPYF_TEST_VERSIONS ("3.8 3.12") leaves out
    the other versions.
    """
    global _found
    if _found is None:
        wanted = os.environ.get("DEPYF_TEST_VERSIONS", "").split()
        _found = {
            minor: path
            for minor, path in _scripts.interpreters().items()
            if not wanted or "3.%d" % minor in wanted
        }
    return _found


def native_command():
    """The path of a built `depyf` program, or None: DEPYF_BUILD_DIR's, build's, or one of build's
    folders'.
    """
    folders = [os.environ.get("DEPYF_BUILD_DIR"), os.path.join(ROOT, "build")]
    build = os.path.join(ROOT, "build")
    if os.path.isdir(build):
        folders += [os.path.join(build, name) for name in sorted(os.listdir(build))]
    found = [os.path.join(folder, "depyf") for folder in folders if folder]
    found = [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]
    if os.environ.get("DEPYF_BUILD_DIR") and found:
        return found[0]
    return max(found, key=os.path.getmtime) if found else shutil.which("depyf")
