"""Whatever call of depyf fails, the program ends as without it; scripts/faults does this for each program."""

import importlib.machinery
import importlib.util
import os
import warnings

import pytest
from programs import PROGRAMS, TORCH

_SCRIPT = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    "scripts",
    "faults",
)


@pytest.mark.skipif(TORCH < (2, 13), reason="what is injected is that of the latest torch")
@pytest.mark.parametrize("name", ["break_in_closure"])
def test_a_program_notices_no_fault(name):
    loader = importlib.machinery.SourceFileLoader("faults", _SCRIPT)
    faults = importlib.util.module_from_spec(importlib.util.spec_from_loader("faults", loader))
    loader.exec_module(faults)
    (program,) = [one for one in PROGRAMS if one.name == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count, noticed, silent = faults.check(program)
    assert noticed == [] and silent == [] and count > 50
