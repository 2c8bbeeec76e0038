"""The build backend: scikit-build-core, after the report page's script and style were bundled.

The bundle is not committed. A source distribution and a wheel contain it, so that whoever installs
one needs no Node.js. A build from a checkout takes Node.js from the system, else from PyPI.

    python packaging/depyf_build.py           bundle now, unless the bundle is that of the sources
    python packaging/depyf_build.py --node    exit code 0 if the system's Node.js and npm serve
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F401,F403

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WEB = os.path.join(_ROOT, "web")
_ASSETS = os.path.join(_ROOT, "python", "depyf", "report", "assets")
#: what the bundle is made of, beside web/src
_INPUTS = ("build.mjs", "package.json", "package-lock.json")
_MARK = "\n// made of "


def _sources():
    """A digest of all that the bundle is made of."""
    digest = hashlib.sha256()
    folder = os.path.join(_WEB, "src")
    names = [os.path.join("src", name) for name in sorted(os.listdir(folder))]
    for name in names + list(_INPUTS):
        with open(os.path.join(_WEB, name), "rb") as stream:
            text = stream.read().replace(b"\r\n", b"\n")
        digest.update(b"%s %d\n" % (name.replace(os.sep, "/").encode(), len(text)))
        digest.update(text)
    return digest.hexdigest()


def _is_bundled(sources):
    try:
        with open(os.path.join(_ASSETS, "page.js"), encoding="utf-8") as stream:
            made_of = stream.read().rpartition(_MARK)[2].strip()
    except OSError:
        return False
    beside = ("page.css", "page.licenses.txt")
    return made_of == sources and all(os.path.exists(os.path.join(_ASSETS, n)) for n in beside)


def node_versions():
    """The versions of Node.js that bundle and test the page: web/package.json alone names them."""
    with open(os.path.join(_WEB, "package.json"), encoding="utf-8") as stream:
        return json.load(stream)["engines"]["node"]


def accepts(versions, version):
    """Whether `versions`, as npm writes them ("^20.19.0 || >=24"), has `version`."""
    given = [int(number) for number in re.findall(r"\d+", version)[:3]]
    given += [0] * (3 - len(given))
    for one in versions.split("||"):
        sign, numbers = re.match(r"\s*(\^|>=|)\s*v?([\d.]+)\s*$", one).groups()
        least = [int(number) for number in numbers.split(".")]
        # "20" alone is any 20.x, as "^20" is
        if given >= least and (sign == ">=" or given[0] == least[0]):
            return True
    return False


def _system_node():
    """Whether this system has npm and a Node.js of these versions."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    try:
        shown = subprocess.check_output([node, "--version"]).decode()
    except (OSError, subprocess.CalledProcessError):
        return False
    return accepts(node_versions(), shown)


def _node_requirement():
    """The line of requirements-node.txt."""
    with open(os.path.join(_ROOT, "requirements-node.txt"), encoding="utf-8") as stream:
        return [line.strip() for line in stream if line.strip() and line[0] != "#"]


def _run(*command):
    program = shutil.which(command[0])
    status = subprocess.call([program, *command[1:]], cwd=_WEB)
    if status != 0:
        raise SystemExit(
            "`%s` failed in web/ with exit status %d; its messages are above. It makes the page of "
            "the report from npm packages: is an npm registry reachable? A source distribution or "
            "wheel holds the page and needs neither npm nor a registry. To build without the page, "
            "set DEPYF_WITHOUT_PAGE=1: all but the HTML report then works."
            % (" ".join(command), status)
        )


def _has_packages():
    """Whether node_modules holds what the bundle needs in the versions of package-lock.json."""
    try:
        with open(os.path.join(_WEB, "package-lock.json"), encoding="utf-8") as stream:
            wanted = json.load(stream)["packages"]
        for name in wanted[""]["dependencies"]:
            path = "node_modules/" + name
            with open(os.path.join(_WEB, path, "package.json"), encoding="utf-8") as stream:
                if json.load(stream)["version"] != wanted[path]["version"]:
                    return False
    except (OSError, ValueError, KeyError):
        return False
    return True


def bundle():
    """Makes page.js and what is beside it of web/ where they are not those of the sources."""
    sources = _sources()
    if _is_bundled(sources) or os.environ.get("DEPYF_WITHOUT_PAGE"):
        return
    if not _system_node():
        raise SystemExit(
            "the report's page is bundled by Node.js (%s) with npm, which was not found: "
            "install it, or run `%s -m pip install %s`; DEPYF_WITHOUT_PAGE=1 builds without it"
            % (node_versions(), sys.executable, " ".join(_node_requirement()))
        )
    if not _has_packages():
        _run("npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
    _run("node", "build.mjs")
    with open(os.path.join(_ASSETS, "page.js"), "a", encoding="utf-8") as stream:
        stream.write(_MARK + sources + "\n")


def _extra():
    if os.environ.get("DEPYF_WITHOUT_PAGE") or _is_bundled(_sources()) or _system_node():
        return []
    return _node_requirement()


def get_requires_for_build_sdist(config_settings=None):
    return _backend.get_requires_for_build_sdist(config_settings) + _extra()


def get_requires_for_build_wheel(config_settings=None):
    return _backend.get_requires_for_build_wheel(config_settings) + _extra()


def get_requires_for_build_editable(config_settings=None):
    return _backend.get_requires_for_build_editable(config_settings) + _extra()


def _commit_time():
    """When the commit was made whose checkout this is, in seconds since 1970; None elsewhere."""
    if not os.path.exists(os.path.join(_ROOT, ".git")):
        return None  # a git repository around it is another project's
    try:
        shown = subprocess.check_output(
            ["git", "log", "-1", "--format=%ct"], cwd=_ROOT, stderr=subprocess.DEVNULL
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return shown.decode().strip() or None


def build_sdist(sdist_directory, config_settings=None):
    """The files have the time of the commit, as those that scripts/release makes."""
    bundle()
    time = None if "SOURCE_DATE_EPOCH" in os.environ else _commit_time()
    if time is not None:
        os.environ["SOURCE_DATE_EPOCH"] = time
    return _backend.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    bundle()
    return _backend.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    bundle()
    return _backend.build_editable(wheel_directory, config_settings, metadata_directory)


if __name__ == "__main__":
    if sys.argv[1:] == ["--node"]:
        sys.exit(0 if _system_node() else 1)
    bundle()
