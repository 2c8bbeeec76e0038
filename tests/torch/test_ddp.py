"""DistributedDataParallel over gloo with two ranks: each rank's code is replaced and proven,
gradients are those of plain torch.compile.
"""

import json

import pytest
import torch

PROGRAM = """
import json, os, sys
import depyf
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 512), torch.nn.Linear(512, 1024)

    def forward(self, x):
        y = self.first(x).relu()
        torch._dynamo.graph_break()
        return self.second(y)


def step(rank):
    torch._dynamo.reset()
    torch.manual_seed(0)
    # the second layer fills a bucket by itself
    model = torch.compile(DistributedDataParallel(Net(), bucket_cap_mb=1), backend="aot_eager")
    loss = model(torch.ones(2, 4) * (rank + 1)).pow(2).sum()
    loss.backward()
    return [loss.detach()] + [p.grad for p in model.parameters()]


def work(rank, folder):
    dist.init_process_group("gloo", init_method="file://" + os.path.join(folder, "store"), rank=rank, world_size=2)
    plain = step(rank)
    with depyf.prepare_debug(os.path.join(folder, "dump_%d" % rank)) as run:
        watched = step(rank)
    entries = [entry for entry in run.entries() if entry.hooked]
    found = {
        "same": all(torch.equal(one, other) for one, other in zip(plain, watched)),
        "verdicts": [entry.verdict for entry in entries],
        "replaced": [entry.replaced for entry in entries],
        "stages": sorted({artifact.stage for entry in run.entries() for artifact in entry.artifacts}),
        "problems": [problem.message for problem in run.problems],
    }
    with open(os.path.join(folder, "rank_%d.json" % rank), "w") as file:
        json.dump(found, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, args=(sys.argv[1],), nprocs=2, start_method="fork")
"""


@pytest.mark.skipif(
    not torch.distributed.is_available(), reason="this torch has no torch.distributed"
)
def test_two_ranks(tmp_path, run_script):
    run_script(PROGRAM, tmp_path)
    for rank in range(2):
        found = json.loads((tmp_path / ("rank_%d.json" % rank)).read_text())
        assert found["same"] and found["problems"] == []
        assert len(found["verdicts"]) >= 2 and set(found["verdicts"]) <= {"exact", "equivalent"}
        assert all(found["replaced"])
        assert "Captured_Graph" in found["stages"] and "Backward_graph" in found["stages"]
