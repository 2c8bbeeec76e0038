"""What the last release promised is still there (docs/compatibility.md)."""

import json
import os

import pytest
import pythons

from tests.interpreters import load_script

pytest.importorskip("torch")


with open(os.path.join(pythons.ROOT, "packaging", "surface.json"), encoding="utf-8") as _file:
    PROMISED = json.load(_file)


def test_public_names_keep_their_parameters():
    now = load_script("surface").public_names()
    for name, promised in PROMISED["names"].items():
        assert name in now, "%s was public in the last release" % name
        kept = now[name][: len(promised)]
        assert kept == promised, "%s: %s became %s" % (name, promised, now[name])
        for added in now[name][len(promised) :]:
            assert added.endswith("=") or added.startswith("*"), "%s needs %s now" % (name, added)


def test_keys_of_the_manifest_stay():
    assert set(PROMISED["schema_keys"]) <= set(load_script("surface").schema_keys())


def test_options_of_the_command_stay():
    now = load_script("surface").options()
    for verb, promised in PROMISED["options"].items():
        assert set(promised) <= set(now[verb]), verb
