"""Two ranks under the real torchrun, watched by `depyf run`: each writes its folder, the report
says where they part.
"""

import os
import subprocess
import sys

import pytest

# Group and module end right after backward. With the module the group's last reference could go,
# and torch then waits for gloo's thread, which may wait for Python's lock: a deadlock. It does not
# go where Dynamo is imported, as here, after the group was made: see depyf.imports.
PROGRAM = """
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

    def forward(self, x, often):
        y = self.inner(x).relu()
        for _ in range(often):
            y = y.sin()
        y = functional.all_reduce(y, "sum", dist.group.WORLD)
        return self.outer(y)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.compile(DistributedDataParallel(Net()), backend="aot_eager")
    model(torch.ones(2, 4), 1 + dist.get_rank()).sum().backward()
    dist.destroy_process_group()


main()
"""


def test_two_ranks_that_part(screen, tmp_path):
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("this torch has no torch.distributed")
    (tmp_path / "train.py").write_text(PROGRAM)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "depyf",
        "run",
        "--dump",
        "dump",
        "train.py",
    ]
    done = subprocess.run(
        command,
        cwd=str(tmp_path),
        env=environment,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        assert (
            "rank_%d" % rank in done.stderr
            and (tmp_path / "dump" / ("rank_%d" % rank) / "index.html").is_file()
        )
    told = subprocess.run(
        [sys.executable, "-m", "depyf", "report", "dump"],
        cwd=str(tmp_path),
        env=environment,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert (
        told.returncode == 1
        and "RANKS DIFFER" in told.stdout
        and "rank 1 unlike rank 0" in told.stdout
    )
    assert ".sin()" in told.stdout
    page = screen.open(tmp_path / "dump" / "index.html")
    screen.picture("torchrun")
    table = page.locator(".ranks").first.inner_text()
    assert "different graphs" in table and "sin" in table
    met = page.locator(".collectives")
    assert met.locator("thead th").all_inner_texts() == [
        "n",
        "rank 0: 1 all_reduce",
        "rank 1: 1 all_reduce",
    ]
    assert met.locator("tbody tr").count() == 1 and met.locator(".apart").count() == 0
    assert met.locator("tbody tr").inner_text().count("all_reduce(f32[2, 8], 'sum', '0')") == 2
    page.locator(".ranks a").first.click()
    screen.until("document.querySelector('#view-title') !== null")
    assert "r0:" in page.locator("#view-title").inner_text()
