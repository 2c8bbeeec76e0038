"""The short form of a long suite, which scripts/test runs; DEPYF_TEST_LONG=1 asks for all of it."""

import os

import pytest

LONG = bool(os.environ.get("DEPYF_TEST_LONG"))

#: a test that only the long form has
long_form = pytest.mark.skipif(not LONG, reason="of the long form; DEPYF_TEST_LONG=1 runs it")


def some_of(items, step, begin=0):
    """Each `step`-th of the items from number `begin` on; all of them in the long form.

    Suites that draw on one list begin at different numbers, so that together they see more of it.
    """
    return list(items) if LONG else list(items)[begin::step]
