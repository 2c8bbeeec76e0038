"""What the last release promised is still there (docs/compatibility.md)."""

import copy
import os
import re

import pytest
import pythons

from tests.interpreters import load_script

pytest.importorskip("torch")
pytestmark = pytest.mark.slow  # a program is compiled with torch


SURFACE = load_script("surface")
PROMISED = SURFACE.promised()


@pytest.fixture(scope="module")
def now():
    """What the package that is installed offers; one program is compiled for it."""
    return SURFACE.surface()


def test_what_the_last_release_promised_is_kept(now):
    assert SURFACE.broken(PROMISED, now) == []


def test_what_ships_under_the_recorded_version_is_recorded(now):
    """A new name, key or option goes into packaging/surface.json with the change that adds it.

    After a release the package has a later version than the file, and may grow.
    """
    if now["version"] == PROMISED["version"]:
        recorded = "scripts/surface > packaging/surface.json"
        assert SURFACE.unrecorded(PROMISED, now) == [], recorded


def test_the_promise_names_each_kind_of_exit_code():
    assert set(PROMISED["exit_codes"].values()) >= {0, 1, 2, 3}


def codes_of(cases):
    """Verb -> the exit codes of its cases in packaging/surface.json."""
    found = {}
    for what, code in cases.items():
        verb, colon, _ = what.partition(": ")
        if colon and not verb.startswith("-"):
            found.setdefault(verb, set()).add(code)
    return found


def codes_in_help():
    """Verb -> the exit codes that its help names; of `run` those that are not the program's own."""
    section = SURFACE.help_of().partition("\nexit code\n")[2].partition("\n\n")[0]
    rows = re.findall(r"(?m)^  (\d)  (.*)", section)
    verbs = ("decompile", "dis", "dump", "compare", "completion")
    # a row that begins with a verb is about it alone
    alone = {code: re.match(r"(\w+): ", text) for code, text in rows}
    found = {
        verb: {int(code) for code, only in alone.items() if only is None or only[1] == verb}
        for verb in verbs
    }
    for verb in ("run", "report", "diff"):
        told = " ".join(SURFACE.help_of(verb).split()).partition("exit code: ")[2]
        found[verb] = {int(code) for code in re.findall(r"(?:^|; )(\d) ", told)}
    return found


def codes_in_documentation():
    """Verb -> the codes under which the table of docs/compatibility.md says something."""
    with open(os.path.join(pythons.ROOT, "docs", "compatibility.md"), encoding="utf-8") as file:
        table = file.read().partition("## Exit codes")[2]
    heads, _, *rows = (
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in table.splitlines()
        if row.startswith("|")
    )
    return {
        verb: {int(head) for head, cell in zip(heads[1:], row[1:]) if cell}
        for row in rows
        for verb in re.findall(r"`(\w+)`", row[0])
    }


def test_exit_codes_are_those_of_the_help_and_of_the_documentation():
    promised, said, documented = (
        codes_of(PROMISED["exit_codes"]),
        codes_in_help(),
        codes_in_documentation(),
    )
    assert set(promised) == set(said) == set(documented)
    for verb in said:
        of_a_shell = {130} if verb == "decompile" else {7} if verb == "run" else set()
        assert promised[verb] - of_a_shell == documented[verb], verb
        assert said[verb] == documented[verb] - ({0} if verb == "run" else set()), verb
    assert "decompile: interrupted" in PROMISED["exit_codes"]


def test_output_that_cannot_be_written_is_exit_code_1_and_runs_the_programs_own():
    for what, code in PROMISED["exit_codes"].items():
        if "cannot be written" in what:
            assert code == (0 if what.startswith("run: ") else 1), what


def _without(part, one):
    """What was promised, less one thing of that part."""
    now = copy.deepcopy(PROMISED)
    if isinstance(now[part], dict):
        del now[part][one]
    else:
        now[part].remove(one)
    return now


@pytest.mark.parametrize(
    "part, one",
    [
        (part, one)
        for part in ("names", "exit_codes", "verbs", "files", "environment", "attributes", "json")
        for one in PROMISED[part]
    ]
    + [("stages", PROMISED["stages"][0]), ("schema_keys", PROMISED["schema_keys"][0])]
    + [("options", "run"), ("manifest", "guard"), ("pytest", "marks")],
)
def test_what_vanishes_is_noticed(part, one):
    lines = SURFACE.broken(PROMISED, _without(part, one))
    assert lines and any(one in line for line in lines), lines


@pytest.mark.parametrize(
    "part, name, one",
    [
        ("options", "depyf", "-o"),
        ("options", "depyf", "--stage"),
        ("options", "depyf", "--check"),
        ("options", "run", "-m"),
        ("pytest", "options", "--depyf"),
        ("json", "file", "source"),
        ("json", "check", "verdict"),
        ("attributes", "depyf.torch.model.Entry", "guards"),
        ("attributes", "depyf.torch.model.Run", "folder"),
        ("attributes", "depyf.torch.expect.Exceeded", "run"),
        ("attributes", "depyf.CompareResult", "verdict"),
        ("attributes", "depyf.decompiler.DecompiledSource", "proven"),
        ("attributes", "depyf.difference.Change", "sign"),
    ],
)
def test_what_users_rely_on_is_promised(part, name, one):
    assert one in PROMISED[part][name]
    now = copy.deepcopy(PROMISED)
    now[part][name].remove(one)
    (line,) = SURFACE.broken(PROMISED, now)
    assert one in line and name in line


def test_no_other_commands_option_is_promised():
    """Help may name options of torchrun and pip."""
    known = {"-m", "-h"} | {one for one in PROMISED["options"]["run"] if one.startswith("--")}
    assert set(PROMISED["options"]["run"]) <= known and "--nproc-per-node" not in known
    assert {"worker_N", "depyf.N.json"} <= set(PROMISED["files"])
    assert "DEPYF_PYTHONS" in PROMISED["environment"]


def test_parameters_may_be_added_but_not_needed_or_moved():
    name = next(name for name, parameters in PROMISED["names"].items() if len(parameters) > 1)
    for change, kept in [
        (lambda parameters: parameters + ["more="], True),
        (lambda parameters: parameters + ["**more"], True),
        (lambda parameters: parameters + ["more"], False),
        (lambda parameters: parameters[::-1], False),
        (lambda parameters: parameters[1:], False),
    ]:
        now = copy.deepcopy(PROMISED)
        now["names"][name] = change(now["names"][name])
        lines = SURFACE.broken(PROMISED, now)
        assert (lines == []) == kept and all(name in line for line in lines)


def test_a_release_notices_what_was_not_recorded(now):
    """scripts/surface --recorded, which scripts/release runs."""
    assert SURFACE.unrecorded(now, now) == []
    for part, value in now.items():
        old = copy.deepcopy(now)
        if isinstance(value, dict):
            one = next(iter(value))
            del old[part][one]
        elif isinstance(value, list):
            one = old[part].pop()
        else:
            one, old[part] = str(value), "another"
        (line,) = SURFACE.unrecorded(old, now)
        assert part in line and one in line
        del old[part]
        assert SURFACE.unrecorded(old, now) == ["%s: not recorded" % part]


def test_the_promise_is_of_no_later_version(now):
    def numbers(version):
        return [int(number) for number in version.split(".")]

    assert numbers(PROMISED["version"]) <= numbers(now["version"])


def test_keys_may_go_with_a_higher_schema_version():
    now = _without("manifest", "guard")
    now["schema_version"] += 1
    assert SURFACE.broken(PROMISED, now) == []


def test_every_key_of_the_manifest_is_documented(now):
    with open(os.path.join(pythons.ROOT, "docs", "run_schema.md"), encoding="utf-8") as file:
        text = file.read()
    for kind, keys in now["manifest"].items():
        for key in keys:
            assert re.search(r"[`{ ]%s[`,}]" % key, text), "%s.%s" % (kind, key)
