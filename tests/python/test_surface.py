"""What the last release promised is still there (docs/compatibility.md)."""

import json
import os
import re

import pytest
import pythons

from tests.interpreters import load_script

pytest.importorskip("torch")


with open(os.path.join(pythons.ROOT, "packaging", "surface.json"), encoding="utf-8") as _file:
    PROMISED = json.load(_file)


@pytest.fixture(scope="module")
def now():
    """What the package that is installed offers; one program is compiled for it."""
    return load_script("surface").surface()


def test_public_names_keep_their_parameters(now):
    for name, promised in PROMISED["names"].items():
        assert name in now["names"], "%s was public in the last release" % name
        found = now["names"][name]
        assert found[: len(promised)] == promised, "%s: %s became %s" % (name, promised, found)
        for added in found[len(promised) :]:
            assert added.endswith("=") or added.startswith("*"), "%s needs %s now" % (name, added)


def lost(promised, now):
    """Keys of the manifest that went away, as "kind.key"."""
    return sorted(
        "%s.%s" % (kind, key)
        for kind, keys in promised.items()
        for key in set(keys) - set(now.get(kind, ()))
    )


def test_keys_of_the_manifest_stay(now):
    if now["schema_version"] > PROMISED["schema_version"]:
        return
    assert now["schema_version"] == PROMISED["schema_version"]
    gone = lost(PROMISED["manifest"], now["manifest"])
    assert not gone, "schema_version must rise, since these keys went away: %s" % gone
    assert set(PROMISED["schema_keys"]) <= set(now["schema_keys"])


def test_every_key_of_the_manifest_is_documented(now):
    with open(os.path.join(pythons.ROOT, "docs", "run_schema.md"), encoding="utf-8") as file:
        text = file.read()
    for kind, keys in now["manifest"].items():
        for key in keys:
            assert re.search(r"[`{ ]%s[`,}]" % key, text), "%s.%s" % (kind, key)


def test_files_of_a_dump_keep_their_names(now):
    assert set(PROMISED["files"]) <= set(now["files"])
    assert set(PROMISED["stages"]) <= set(now["stages"])


def test_verbs_and_options_of_the_command_stay(now):
    assert set(PROMISED["verbs"]) <= set(now["verbs"])
    for verb, promised in PROMISED["options"].items():
        assert set(promised) <= set(now["options"][verb]), verb


def test_exit_codes_keep_their_meaning(now):
    for what, code in PROMISED["exit_codes"].items():
        assert now["exit_codes"][what] == code, what
    # each code that the help names was seen
    assert set(PROMISED["exit_codes"].values()) >= {0, 1, 2, 3}
