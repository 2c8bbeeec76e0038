"""Settings of torch are advised only where they help the program as it is after the change."""

import linecache

import pytest

pytest.importorskip("torch")
import torch  # noqa: E402

from followed import run  # noqa: E402

from programs import TORCH  # noqa: E402

from depyf import advise  # noqa: E402
from depyf.advice import uses  # noqa: E402

pytestmark = pytest.mark.skipif(TORCH < (2, 13), reason="the advice is of torch 2.13")

LISTED = "sizes = s.tolist()\n"
#: body of f(x, s), whether torch stops tracing at its last `if` with capture_scalar_outputs
OF_SIZES = [
    ("t = x.sum()\nfor p in x.split(s.tolist()):\n    if p.numel(): t = t + 1\nreturn t", True),
    ("parts = x.split(s.tolist())\nreturn sum([p.sum() for p in parts if len(p)])", True),
    (LISTED + "y = x[: sizes[0]]\nreturn y.sum() if y.shape[0] else x.sum()", True),
    (LISTED + "ys = [x[:n] for n in sizes]\nreturn x if ys[0].numel() > 1 else x * 2", True),
    ("n = int(s[0])\ny = x.narrow(0, 0, n)\nreturn x if y.size(0) > 2 else x * 2", True),
    ("n = s[0].item()\ny = torch.zeros(n)\nreturn x if len(y) > 2 else x * 2", True),
    ("parts = x.split(s.tolist())\nreturn x if len(parts) == 2 else parts[0]", False),
    ("n = s[0].item()\ny = x * n\nreturn x if len(y) > 2 else y", False),
]


@pytest.mark.parametrize("body, stops", OF_SIZES)
def test_a_size_by_a_tensors_numbers_is_told_where_torch_stops_at_it(body, stops, tmp_path):
    text = "import torch\ndef f(x, s):\n    " + body.replace("\n", "\n    ") + "\n"
    path = tmp_path / "sized.py"
    path.write_text(text)
    linecache.checkcache()
    lines = text.split("\n")
    made = 1 + next(
        at for at, line in enumerate(lines) if any(one in line for one in ("list()", "item", "int"))
    )
    decides = max(at for at, line in enumerate(lines, 1) if " if " in line)
    assert uses.sized_by_numbers_at(str(path), made) == (decides if stops else 0)
    scope = {}
    exec(compile(text, str(path), "exec"), scope)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        f = torch.compile(scope["f"], backend="eager", fullgraph=True)
        try:
            f(torch.arange(9.0), torch.tensor([2, 3, 4]))
            stopped = False
        except Exception as error:
            stopped = "data-dependent" in str(error)
    assert stopped == stops


COUNTED = """import torch

torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if x.max() > 100:
            x = x / 100
        return x

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.nets = torch.nn.ModuleList([Net()])

    def forward(self, x):
        for net in self.nets:
            x = net(x).relu()
        return x

%s
for k in range(5):
    print("result", f(torch.ones(3) * k).sum().item())
"""
COMPILED = '@torch.compile(backend="eager")\n'
MADE = "    @torch.compile(backend='eager')\n    def f(x):\n        return net(x) * 2\n"
CALLS = COMPILED + "def %s:\n    return %s(x) * 2\n"


@pytest.mark.parametrize(
    "calls, helps",
    [
        ("net = Net()\n" + CALLS % ("f(x)", "net"), False),
        ("nets = [Net()]\n" + CALLS % ("f(x)", "nets[0]"), False),
        ("net = Outer()\n" + CALLS % ("f(x)", "net"), False),
        ("def make(net):\n" + MADE + "    return f\n\nf = make(Net())\n", True),
        ("f = torch.compile(Outer(), backend='eager')\n", True),
        ("f = torch.compile(Net(), backend='eager')\n", True),
    ],
)
def test_a_setting_for_numbers_of_modules_is_advised_where_it_helps_without_the_break(
    calls, helps, tmp_path
):
    """torch takes no number as symbolic that the compiled function reaches by a global."""
    advice = run(COUNTED % calls, str(tmp_path / "program.py")).advice
    counted = [one for one in advice.listed() if one.row == "counter"]
    assert counted and all(bool(one.patch) == helps for one in counted)
    told = advise.text(advice.document, advice=advice)
    assert ("makes integer attributes of modules" in told) == helps
    helped = [one for node in advice.nodes for reason in node.reasons for one in reason["help"]]
    named = "it is part of the code that reaches its object by the global `net"
    assert any(named in one for one in helped) == (not helps)
    setting = "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
    where = "x = torch.where(x.max() > 100, x / 100, x)\n"
    text = COUNTED.replace("if x.max() > 100:\n            x = x / 100\n", where) % calls
    text = text.replace("torch.manual_seed", setting + "torch.manual_seed").replace(
        '"eager"', '"eager", dynamic=True'
    )
    text = text.replace("'eager'", "'eager', dynamic=True")
    after = run(text, str(tmp_path / "followed.py")).advice.nodes
    assert any("calls" in one["raw"] for node in after for one in node.reasons) == (not helps)
