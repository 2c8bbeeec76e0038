"""What is released: the short form of scripts/release, without a compiler."""

import email
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

import pythons

ROOT = pythons.ROOT


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


VERSION = re.search(r"project\(depyf VERSION ([0-9.]+)", read("CMakeLists.txt"))[1]


BUNDLE = ["python/depyf/report/assets/page.js", "python/depyf/report/assets/page.css"]


def exported(folder):
    """The files that git knows, as they are now, the page's bundle, and something that must not be
    released."""
    if shutil.which("git") is None or not os.path.exists(os.path.join(ROOT, ".git")):
        pytest.skip("no checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    if not os.path.exists(os.path.join(ROOT, BUNDLE[0])):
        pytest.skip("the page is not bundled (scripts/test and pip install do it)")
    for name in list(filter(None, names.decode().split("\0"))) + BUNDLE:
        source, to = os.path.join(ROOT, name), os.path.join(str(folder), name)
        if os.path.exists(source):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(source, to)
    for name in ("build/left.txt", ".venv/left.txt"):
        os.makedirs(os.path.dirname(os.path.join(str(folder), name)))
        with open(os.path.join(str(folder), name), "w") as file:
            file.write("x")
    return str(folder)


BUILD = """
import sys
sys.path.insert(0, "packaging")
from depyf_build import build_sdist
print(build_sdist(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The bytes of the source distribution, built twice from two folders."""
    pytest.importorskip("scikit_build_core")
    pytest.importorskip("pathspec")
    made = []
    for name in ("one", "another_folder"):
        tree = exported(tmp_path_factory.mktemp(name))
        out = tmp_path_factory.mktemp("out")
        env = dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(out)],
            cwd=tree,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )
        assert done.returncode == 0, done.stdout
        (path,) = out.iterdir()
        assert path.name == "depyf-%s.tar.gz" % VERSION
        made.append(path.read_bytes())
    return made


def test_source_distribution_has_the_same_bytes_when_built_again(sdist):
    assert sdist[0] == sdist[1]


def test_source_distribution_has_what_a_build_needs_and_nothing_else(sdist):
    with tarfile.open(fileobj=io.BytesIO(sdist[0])) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in (
        "PKG-INFO",
        "LICENSE",
        "CHANGELOG.md",
        "CMakeLists.txt",
        "src/python/exports.map",
        "include/depyf/depyf.h",
        "python/depyf/py.typed",
        "python/depyf/report/assets/page.html",
        *BUNDLE,
        "web/src/main.ts",
        "packaging/depyf_build.py",
        "tests/python/test_release.py",
        "packaging/debian/rules",
    ):
        assert name in names, name
    for name in names:
        assert name.split("/")[0] not in ("build", ".venv", ".git", ".ci", "dist"), name


def test_metadata(sdist):
    with tarfile.open(fileobj=io.BytesIO(sdist[0])) as archive:
        text = archive.extractfile("depyf-%s/PKG-INFO" % VERSION).read().decode()
    check_metadata(text)


def check_metadata(text):
    said = email.message_from_string(text)
    assert said["Name"] == "depyf" and said["Version"] == VERSION
    assert said["License-Expression"] == "MIT" and said["License-File"] == "LICENSE"
    assert said["Requires-Python"] == ">=3.7"
    classifiers = said.get_all("Classifier")
    for minor in pythons.INTERPRETERS.SUPPORTED:
        assert "Programming Language :: Python :: 3.%d" % minor in classifiers
    assert "Typing :: Typed" in classifiers
    assert not [name for name in classifiers if name.startswith("License ::")]  # SPDX says it
    assert said.get_all("Provides-Extra") == ["report"]
    needs = said.get_all("Requires-Dist")
    assert len(needs) == 1 and re.match(r"Jinja2.*; extra == .report.$", needs[0], re.I), needs
    for url in said.get_all("Project-URL"):
        assert re.match(r"[\w ]+, https://", url)
    assert "torch.compile" in said.get_payload()  # the README


def wheels():
    """Wheels of this version that scripts/release left in dist/."""
    return sorted(glob.glob(os.path.join(ROOT, "dist", "depyf-%s-*.whl" % VERSION)))


def test_a_wheel_at_hand_holds_the_package():
    if not wheels():
        pytest.skip("no wheel in dist/ (scripts/release --short makes one)")
    for path in wheels():
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            information = "depyf-%s.dist-info/" % VERSION
            check_metadata(archive.read(information + "METADATA").decode())
            tags = archive.read(information + "WHEEL").decode()
            scripts = archive.read(information + "entry_points.txt").decode()
        assert "Root-Is-Purelib: false" in tags and "Tag: cp37-abi3-" in tags
        assert "depyf = depyf.cli:main" in scripts and "depyf.pytest_plugin" in scripts
        binary = "depyf/_core.pyd" if "win" in os.path.basename(path) else "depyf/_core.abi3.so"
        page = {"depyf/report/assets/page." + ending for ending in ("html", "css", "js")}
        assert {"depyf/py.typed", binary} | page <= names
        for name in names:
            assert name.startswith(("depyf/", information)), name


@pytest.mark.skipif(sys.version_info < (3, 8), reason="importlib.metadata came with 3.8")
def test_what_is_installed_has_the_metadata():
    from importlib.metadata import distribution

    here = distribution("depyf")
    check_metadata(
        str(here.metadata) if here.metadata.get_payload() else here.read_text("METADATA")
    )
    points = {(point.group, point.name, point.value) for point in here.entry_points}
    assert ("console_scripts", "depyf", "depyf.cli:main") in points
    assert ("pytest11", "depyf", "depyf.pytest_plugin") in points
    assert any(str(path).endswith("depyf/py.typed") for path in here.files)


def test_the_version_stands_in_one_place():
    """Recipes that cannot read CMakeLists.txt say the same."""
    recipe = read("packaging", "conda-forge", "recipe.yaml")
    assert re.search(r'version: "([^"]+)"', recipe)[1] == VERSION
    assert "## " in read("CHANGELOG.md")
    assert 'dynamic = ["version"]' in read("pyproject.toml")
    for folder, _, names in os.walk(os.path.join(ROOT, "python")):
        for name in names:
            if name.endswith(".py"):
                assert '"%s"' % VERSION not in read(folder, name), name


WITHOUT_JINJA = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jinja2", "markupsafe", "torch"):
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Hide())
import depyf
from depyf.cli import main
print(depyf.decompile(lambda a: [i for i in a if i]))
assert depyf.compare(compile("x", "a", "eval"), compile("x", "b", "eval"))
sys.exit(main(["decompile", "--no-check", sys.argv[1]]))
"""


def test_decompiling_needs_neither_jinja_nor_torch(tmp_path):
    import py_compile

    (tmp_path / "a.py").write_text("def f(x):\n    return x + 1\n")
    py_compile.compile(str(tmp_path / "a.py"), str(tmp_path / "a.pyc"), doraise=True)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_JINJA, str(tmp_path / "a.pyc")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stderr
    assert "for i in a if i" in done.stdout and "return x + 1" in done.stdout


def strings(value):
    """Every string in a document of YAML."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_workflows_call_what_is_there():
    yaml = pytest.importorskip("yaml")
    folder = os.path.join(ROOT, ".github", "workflows")
    presets = read("CMakePresets.json")
    for name in os.listdir(folder):
        document = yaml.safe_load(read(folder, name))
        assert document["jobs"] and document["permissions"] == {"contents": "read"}
        for text in strings(document["jobs"]):
            for script in re.findall(r"\b((?:scripts|tests)/[\w/.]+)", text):
                assert os.path.exists(os.path.join(ROOT, script)), (name, script)
            for file in re.findall(r"-r (requirements-\S+)", text):
                assert os.path.exists(os.path.join(ROOT, file)), (name, file)
            for preset in re.findall(r"--preset (\w+)", text):
                assert '"name": "%s"' % preset in presets, (name, preset)


def test_the_conda_recipe_is_whole():
    """No tool of conda reads it here: its YAML, its expressions and its licence."""
    yaml = pytest.importorskip("yaml")
    jinja2 = pytest.importorskip("jinja2")
    text = read("packaging", "conda-forge", "recipe.yaml")
    environment = jinja2.Environment(
        variable_start_string="${{", variable_end_string="}}", undefined=jinja2.StrictUndefined
    )
    tools = {"compiler": "{}_compiler".format, "stdlib": "{}_stdlib".format}
    context = dict(yaml.safe_load(text)["context"], **tools)
    recipe = yaml.safe_load(environment.from_string(text).render(context))
    assert recipe["package"] == {"name": "depyf", "version": VERSION}
    assert "cxx_compiler" in recipe["requirements"]["build"]
    licence = os.path.join(ROOT, recipe["about"]["license_file"])
    assert os.path.exists(licence) and recipe["about"]["license"] == "MIT"
    known = "schema_version context package source build requirements tests about extra"
    assert set(recipe) <= set(known.split())


@pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")
def test_a_build_without_a_registry_says_what_to_do(tmp_path):
    pytest.importorskip("scikit_build_core")
    for folder in ["packaging", "web/src", "python/depyf/report/assets", "bin"]:
        (tmp_path / folder).mkdir(parents=True)
    names = ["packaging/depyf_build.py", "requirements-node.txt"]
    names += ["web/" + name for name in ("build.mjs", "package.json", "package-lock.json")]
    for name in names:
        shutil.copy(os.path.join(ROOT, name), tmp_path / name)
    for name, script in (("node", "echo v22.0.0"), ("npm", "echo no network >&2; exit 7")):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n%s\n" % script)
        (tmp_path / "bin" / name).chmod(0o755)
    environment = dict(os.environ, PATH="%s:%s" % (tmp_path / "bin", os.environ["PATH"]))
    environment.pop("DEPYF_WITHOUT_PAGE", None)
    command = [sys.executable, str(tmp_path / "packaging" / "depyf_build.py")]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no network" in done.stderr and "exit status 7" in done.stderr
    assert "DEPYF_WITHOUT_PAGE=1" in done.stderr
    environment["DEPYF_WITHOUT_PAGE"] = "1"
    assert subprocess.run(command, env=environment).returncode == 0
