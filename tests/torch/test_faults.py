"""Whatever call of depyf fails, the program ends as without it; scripts/faults does this for each
program.
"""

import warnings

import pytest
from interpreters import load_script
from programs import PROGRAMS, TORCH


@pytest.mark.skipif(TORCH < (2, 13), reason="what is injected is that of the latest torch")
@pytest.mark.parametrize("name", ["break_in_closure"])
def test_a_program_notices_no_fault(name):
    faults = load_script("faults")
    (program,) = [one for one in PROGRAMS if one.name == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count, noticed, silent = faults.check(program)
    assert noticed == [] and silent == [] and count > 50
