"""Rows of what belongs to training: packed sequences, optimizers, schedulers, loaders."""

from depyf.advice import helps, row

_SCHEDULER = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

@torch.compile(backend="eager")
def step():
    optimizer.step()

for _ in range(3):
    weight.grad = torch.ones(3)
    step()
    scheduler.step()
result = weight.detach()
"""
_TRAINING = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))

@torch.compile(backend="eager")
def step(x):
    optimizer.zero_grad()
    (x * weight).sum().backward()
    optimizer.step()
    scheduler.step()

for _ in range(3):
    step(torch.ones(3))
result = weight.detach()
"""
_DDP = """
import tempfile
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

store = dist.FileStore(tempfile.mktemp(), 1)
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
torch.manual_seed(0)
model = torch.compile(DistributedDataParallel(torch.nn.Linear(3, 3)), backend="eager")
result = model(torch.ones(2, 3)).detach()
dist.destroy_process_group()
"""
_LOADER = """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2)

@torch.compile(backend="eager")
def epoch(weight):
    total = torch.zeros(())
    for (batch,) in loader:
        total = total + (batch * weight).sum()
    return total

result = epoch(torch.ones(2))
"""
_PACKED = """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)
model = torch.nn.GRU(3, 4, batch_first=True)

@torch.compile(backend="eager")
def f(x, lengths):
    packed = pack_padded_sequence(x * 2, lengths, batch_first=True, enforce_sorted=False)
    y, _ = pad_packed_sequence(model(packed)[0], batch_first=True)
    return y.sin()

result = f(torch.ones(2, 3, 3), torch.tensor([2, 3])).detach()
"""
_UNPACKED = """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
torch.manual_seed(0)
model = torch.nn.GRU(3, 4, batch_first=True)

@torch.compile(backend="eager")
def before(x):
    return x * 2

@torch.compile(backend="eager")
def after(y):
    return y.sin()

def f(x, lengths):
    packed = pack_padded_sequence(before(x), lengths, batch_first=True, enforce_sorted=False)
    y, _ = pad_packed_sequence(model(packed)[0], batch_first=True)
    return after(y)

result = f(torch.ones(2, 3, 3), torch.tensor([2, 3])).detach()
"""
_CLOSURE = """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.LBFGS([weight], max_iter=3)

def closure():
    optimizer.zero_grad()
    loss = (weight.sin() - 0.1).square().sum()
    loss.backward()
    return loss

@torch.compile(backend="eager")
def train():
    return optimizer.step(closure)

train()
result = weight.detach()
"""

ROWS = (
    row(
        "optimizer that torch excludes",
        "torch excludes the step of this optimizer from compilation, as it does not support it.",
        [
            helps(
                "Take torch.compile off the function that calls the step, and compile the function "
                "that computes the loss.",
                _CLOSURE,
                """
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.LBFGS([weight], max_iter=3)

@torch.compile(backend="eager")
def loss_of(weight):
    return (weight.sin() - 0.1).square().sum()

def closure():
    optimizer.zero_grad()
    loss = loss_of(weight)
    loss.backward()
    return loss

def train():
    return optimizer.step(closure)

train()
result = weight.detach()
""",
            )
        ],
        ids=("GB0098", "GB0099"),
        reason=r"torch\.compiler\.disable",
        where=r"optimizer <class '[^']+'> \w+ not supported",
    ),
    row(
        "packed sequence",
        "torch traces neither pack_padded_sequence nor an RNN, GRU or LSTM whose input is a "
        "packed sequence.",
        [
            helps(
                "Pack, call the RNN, GRU or LSTM, and unpack outside of the compiled function. "
                "Compile the code before and after them separately. allow_rnn does not help: "
                "with packed sequences the graph breaks at their lengths.",
                _PACKED,
                _UNPACKED,
            )
        ],
        ids=("GB0007", "GB0014", "GB0148"),
        reason=r"RNN, GRU, (or|and) LSTM|marked as skipped",
        where=r"\n\? packs sequences",
    ),
    row(
        "optimizer's break",
        "torch's optimizer breaks the graph here on purpose, so that torch compiles its step "
        "separately. The break costs one more analysis of the code before it at each compile, "
        "and nothing at calls. It needs no action.",
        [],
        ids=("GB0025",),
        reason=r"graph_break\(\)",
        where=r"torch[/\\]optim[/\\]optimizer\.py",
    ),
    row(
        "graph_break",
        "The program breaks the graph here: it calls torch._dynamo.graph_break().",
        [
            helps(
                "Remove that call.",
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 3

result = f(torch.ones(3))
""",
                """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    return y * 3

result = f(torch.ones(3))
""",
            )
        ],
        ids=("GB0025",),
        reason=r"graph_break\(\)",
    ),
    row(
        "lr_scheduler",
        "A scheduler of torch.optim.lr_scheduler wraps `{name}`, and torch does not trace that "
        "wrapper.",
        [
            helps(
                "Before the scheduler is made, replace the optimizer's step by a compiled one, "
                "optimizer.step = types.MethodType(torch.compile(type(optimizer).step), "
                "optimizer), and call optimizer.step() outside of compiled functions. The "
                "scheduler, which counts the calls of the step, then gives no warning.",
                _SCHEDULER,
                """
import types
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1))
compiled = torch.compile(type(optimizer).step, backend="eager")
optimizer.step = types.MethodType(compiled, optimizer)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

for _ in range(3):
    weight.grad = torch.ones(3)
    optimizer.step()
    scheduler.step()
result = weight.detach()
""",
            ),
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `[^`]*` in file `[^`]*lr_scheduler\.py`",
        names=r"function `(?P<name>[^`]+)` in file",
    ),
    row(
        "DDP",
        "torch does not trace the bookkeeping of DistributedDataParallel. It compiles the "
        "wrapped module separately.",
        [
            helps(
                "Compile the module before it is wrapped, "
                "DistributedDataParallel(torch.compile(model)), if torch need not split the "
                "graph at the buckets of gradients.",
                _DDP,
                _DDP.replace(
                    "torch.compile(DistributedDataParallel(torch.nn.Linear(3, 3)), "
                    'backend="eager")',
                    "DistributedDataParallel(torch.compile(torch.nn.Linear(3, 3), "
                    'backend="eager"))',
                ),
            )
        ],
        ids=("GB0007", "GB0008", "GB0156"),
        reason=r"marked as skipped|Unsupported method call",
        where=r"nn[/\\]parallel[/\\]distributed\.py|DistributedDataParallel\._inside_ddp_forward",
    ),
    row(
        "training step",
        "torch does not trace `{called}` by design: the call belongs outside of the compiled "
        "function.",
        [
            helps(
                "Compile the function that computes the loss. Compile the optimizer's step "
                "separately: before a scheduler is made, optimizer.step = "
                "types.MethodType(torch.compile(type(optimizer).step), optimizer). Leave "
                ".backward(), zero_grad(), GradScaler and schedulers outside.",
                _TRAINING,
                """
import types
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
compiled = torch.compile(type(optimizer).step, backend="eager")
optimizer.step = types.MethodType(compiled, optimizer)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))

@torch.compile(backend="eager")
def loss_of(x):
    return (x * weight).sum()

for _ in range(3):
    optimizer.zero_grad()
    loss_of(torch.ones(3)).backward()
    optimizer.step()
    scheduler.step()
result = weight.detach()
""",
            ),
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `(\w*Optimizer\.zero_grad|GradScaler\.\w+|\w*(Scheduler|LR)\w*\.step)`",
        names=r"function `(?P<name>[\w.]+)`",
    ),
    row(
        "data loader",
        "`{name}` runs Python code that loads data, which torch does not trace.",
        [
            helps(
                "Loop over the data outside of the compiled function, and compile the function "
                "that takes one batch.",
                _LOADER,
                """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2)

@torch.compile(backend="eager")
def step(total, batch, weight):
    return total + (batch * weight).sum()

result = torch.zeros(())
for (batch,) in loader:
    result = step(result, batch, torch.ones(2))
""",
            )
        ],
        ids=("GB0007", "GB0008"),
        reason=r"marked as skipped",
        where=r"function `(\w*DataLoader\w*)\.",
        names=r"function `(?P<name>[^`]+)`",
    ),
)
