"""Texts of annotations that CPython stores come back as they are (annotations_run.py, in short)."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from annotations_run import run  # noqa: E402
from interpreters import SUPPORTED, interpreters, native_command  # noqa: E402


@pytest.mark.parametrize("minor", SUPPORTED, ids=["3.%d" % m for m in SUPPORTED])
def test_texts_of_annotations_come_back(minor):
    if minor not in interpreters() or native_command() is None:
        pytest.skip("no CPython 3.%d, or no depyf program" % minor)
    total, lost = run(minor, seed=14, count=600)
    assert total > 300
    assert not lost
