"""Random functions do what their control-flow graphs say, under each interpreter found here."""

import glob
import os
import subprocess

import pytest
from pythons import ROOT, VERSIONS, path_of


def find_oracle():
    folders = [
        os.environ.get("DEPYF_BUILD", ""),
        os.path.join(ROOT, "build"),
        os.path.join(ROOT, "build", "*"),
    ]
    paths = [
        path
        for folder in folders
        if folder
        for path in glob.glob(os.path.join(folder, "depyf_flow_oracle"))
    ]
    return max(paths, key=os.path.getmtime) if paths else None


@pytest.mark.parametrize("version", VERSIONS)
def test_graphs_run_like_the_functions(version):
    oracle = find_oracle()
    if oracle is None:
        pytest.skip("depyf_flow_oracle is not built (cmake --build build, or DEPYF_BUILD)")
    script = os.path.join(ROOT, "tests", "oracle", "flow_run.py")
    run = subprocess.run(
        [path_of(version), "-I", "-W", "ignore", script, oracle, "300"],
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert run.returncode == 0, run.stdout
