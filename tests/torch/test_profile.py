"""depyf.profile: the parts of a call add up to what the clock says, and entries are told apart."""

import json
import os
import re
import sys
from pathlib import Path

import depyf
import pytest
import torch
import warm
from depyf.torch.profile import Profile, Timing
from depyf.torch.profile.events import Sums
from processes import environment, named_regions
from programs import TORCH

#: earlier torch names its events in other ways
NAMED = pytest.mark.skipif(TORCH < (2, 13), reason="the events' names are those of torch 2.13")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def add_up(found):
    assert sum(found.parts.values()) == pytest.approx(found.whole, rel=0.05)
    assert found.entries and all(one.seconds > 0 for one in found.entries)
    told = str(found)
    assert "guards" in told and "one call, eager" in told and found.verdict in told


@NAMED
def test_the_parts_of_the_toy_add_up_and_its_two_entries_are_told_apart():
    torch._dynamo.reset()
    function = torch.compile(toy, backend="aot_eager")
    found = depyf.profile(function, torch.randn(10), torch.ones(10), calls=30)
    add_up(found)
    assert [one.calls for one in found.entries] == [30, 30]
    assert {one.name.split(",")[0] for one in found.entries} == {"toy"}
    assert all(one.parts["guards"] > 0 for one in found.entries)
    assert {"guards", "python", "wrappers", "operators"} <= set(found.parts)
    calls = {row.name: row.calls for row in found.operators}
    assert calls["aten::div"] == 30 and "aten::to" not in calls  # that is in aten::add
    assert found.to_json()["entries"][0]["calls"] == 30


@NAMED
def test_the_parts_of_a_training_step_add_up():
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(model, backend="aot_eager")

    def step(x, y):
        loss = torch.nn.functional.cross_entropy(compiled(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    found = depyf.profile(step, torch.randn(4, 8), torch.randint(0, 4, (4,)), calls=20)
    add_up(found)
    assert found.parts["autograd"] > 0 and found.parts["other"] > 0
    assert [one.calls for one in found.entries] == [20]


@NAMED
def test_the_parts_of_a_llama_of_two_layers_add_up():
    transformers = pytest.importorskip("transformers")
    torch._dynamo.reset()
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        add_up(depyf.profile(compiled, torch.randint(0, 64, (1, 9)), calls=5))


def test_compiled_code_that_torch_does_not_name_is_compiled_code_still():
    function = torch.compile(lambda x: x + 1, backend="eager")
    found = depyf.profile(function, torch.ones(3), calls=2)
    assert found.parts["python"] > 0
    sums = Sums()  # the events of torch 2.4
    sums.add([("depyf: all calls", 0, 100), ("Torch-Compiled Region", 10, 90)])
    assert round(sums.parts["python"] * 1e6) == 80 and not sums.entries


def test_what_is_inside_of_an_event_is_taken_off_it_once():
    sums = Sums()
    sums.add(
        [
            ("depyf: all calls", 0, 100),
            ("TorchDynamo Cache Lookup", 5, 10),
            ("Torch-Compiled Region: 0/0", 10, 90),
            ("Pregraph bytecode", 11, 12),
            ("## Call CompiledFxGraph abc ##", 20, 50),
            ("aten::mm", 30, 40),
            ("aten::sum", 60, 70),
            ("aten::empty", 61, 62),
            ("compile_inner (dynamo_timed)", 70, 80),
            ("aten::empty", 71, 72),
        ]
    )
    micros = {part: round(seconds * 1e6) for part, seconds in sums.parts.items()}
    assert micros == {
        "other": 15,
        "guards": 5,
        "python": 30,
        "graphs": 30,
        "operators": 10,
        "compiling": 10,
    }
    (entry,) = sums.entries.values()
    assert (entry.compile_id, entry.calls) == ("0/0", 1)
    assert round(entry.seconds * 1e6) == 75  # with its guards, without what compiled in it
    assert [row.name for row in sums.operators.values()] == ["aten::sum"]


def test_a_difference_within_the_noise_is_none():
    def verdict(compiled, eager):
        return Profile(1, 1.0, {}, [], [], compiled, eager).verdict

    assert "2.00 times faster" in verdict(Timing(1, 0.9, 1.1), Timing(2, 1.9, 2.1))
    assert "2.00 times slower" in verdict(Timing(2, 1.9, 2.1), Timing(1, 0.9, 1.1))
    assert "within the noise" in verdict(Timing(2, 0.9, 2.1), Timing(1, 0.8, 1.1))


@NAMED
def test_the_slow_example_shows_its_three_causes(tmp_path):
    options = ["--breaks", "--recompiles", "--profile"]
    command = ["-m", "depyf", "run"] + options + [EXAMPLES / "slow.py"]
    done = warm.run(command, environment(tmp_path / "cache"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "slow.py:13: Data-dependent branching" in done.stderr
    assert "x.size(0) was 2, is 3" in done.stderr and "scale was 2" in done.stderr
    assert "the whole program" in done.stderr and "guards" in done.stderr
    row = next(line for line in done.stderr.splitlines() if "] step" in line)
    assert " 2000 " in row
    assert "graphs" not in row and re.search(r"aten::add +2000 .*slow\.py:20", done.stderr)
    for _ in range(3):  # other work on the machine may take more time than the program
        last = done.stderr.strip().splitlines()[-3:]
        if any("step [2/0]: " in one and "too small to be compiled" in one for one in last):
            return
        done = warm.run(command, environment(tmp_path / "cache"), cwd=tmp_path)
    pytest.fail(done.stderr)


@NAMED
def test_an_operator_has_the_lines_that_it_computes():
    torch._dynamo.reset()
    found = depyf.profile(torch.compile(toy, backend="aot_eager"), torch.randn(10), torch.ones(10))
    first = toy.__code__.co_firstlineno
    lines = {one.name: one.lines for one in found.operators}
    place = "test_profile.py:%d"
    assert [one.endswith(place % (first + 1)) for one in lines["aten::div"]] == [True]
    assert [one.endswith(place % (first + 2)) for one in lines["aten::lt"]] == [True]
    assert {row.name for one in found.entries for row in one.operators} <= set(lines)
    (compiled,) = [one for one in found.entries if "resumed after line" not in one.name]
    assert {"aten::div", "aten::sum"} <= {one.name for one in compiled.operators}


GRAPH = """
        # File: /a/b.py:7 in f, code: y = x.sin() + 1
        sin: "f32[4][1]cpu" = torch.ops.aten.sin.default(primals_1)
        add: "f32[4][1]cpu" = torch.ops.aten.add.Tensor(sin, 1);  sin = None

        # File: /a/b.py:8 in f, code: return y @ w + 1
        mm: "f32[4][1]cpu" = torch.ops.aten.mm.default(add, w);  add = w = None
        add_1: "f32[4][1]cpu" = torch.ops.aten.add.Tensor(mm, 1);  mm = None
"""
CAPTURED = """
        # File: /a/c.py:3 in f, code: y = torch.abs(x) * 2
        abs_1: "f32[4]" = torch.abs(l_x_);  l_x_ = None
        y: "f32[4]" = abs_1 * 2;  abs_1 = None
        z: "f32[4]" = y.cos();  y = None
"""
KERNELS = """
# kernel path: /tmp/k.py
# Topologically Sorted Source Nodes: [sin, add], Original ATen: [aten.sin, aten.add]
# Source node to ATen node mapping:
#   sin => sin
triton_poi_fused_add_sin_0 = async_compile.triton('triton_', 'text')


other = async_compile.triton('triton_', 'text')
"""


def test_lines_are_read_from_graphs_and_kernels():
    from depyf.trace.operator_lines import lines_of

    found = lines_of([("kernel", KERNELS), ("Forward_graph", GRAPH), ("Captured_Graph", CAPTURED)])
    names = {name: [one.rpartition("/")[2] for one in lines] for name, lines in found.items()}
    assert names == {
        "aten::sin": ["b.py:7"],
        "aten::add": ["b.py:7", "b.py:8"],
        "aten::mm": ["b.py:8"],
        "aten::abs": ["c.py:3"],
        "aten::mul": ["c.py:3"],
        "aten::cos": ["c.py:3"],
        "triton_poi_fused_add_sin_0": ["b.py:7"],
    }


def test_a_profile_says_what_its_figures_come_to():
    from depyf.report.runtime import conclusions

    def of(parts, entries=()):
        whole = sum(parts.values())
        return conclusions({"parts": parts, "whole": whole, "entries": entries})

    assert of({"compiling": 3.0, "graphs": 7.0})[0].startswith("30 % of the time went to compiling")
    assert "75 % of the time is code that is not compiled." in of({"other": 3.0, "graphs": 1.0})
    assert "80 % of the time is what the graphs compute" in of({"graphs": 8.0, "guards": 2.0})[0]
    times = {name: dict(low=at, median=at, high=at) for name, at in (("eager", 1), ("compiled", 2))}
    slower = conclusions(dict(times, parts={"graphs": 1.0}, whole=1.0, entries=()))
    assert len(slower) == 1 and slower[0].startswith("Eager runs the same operations in less time")
    entry = {"name": "f", "compile_id": "0/0", "calls": 100, "operators": []}
    small = dict(entry, parts={"guards": 2e-3, "python": 5e-3, "operators": 1e-3})
    (told,) = of({"guards": 1.0}, [small])
    assert told.startswith("f [0/0]: 70 µs of 80 µs for each call are guards")
    large = dict(entry, parts={"guards": 2e-3, "graphs": 5e-3})
    assert of({"guards": 1.0}, [large]) == of({"guards": 1.0}, [dict(small, calls=3)]) == []
    assert of({}) == []


def test_the_peak_of_memory_is_that_of_the_tensors():
    from depyf.torch.memory import of_call

    x = torch.ones(1000, 250)  # 1,000,000 bytes

    def call():
        first = x + 1
        second = first * 2
        del first
        return (second - 1).sum(1)

    found = of_call(torch, call)
    assert found.device == "cpu"
    assert 2_000_000 <= found.peak < 2_100_000 and 4_000 <= found.kept < 5_000


def test_what_a_call_frees_of_the_one_before_it_is_not_kept():
    from depyf.torch.memory import of_call

    weight = torch.nn.Parameter(torch.ones(1000, 250))
    kept = []

    def step():
        weight.grad = None
        (weight * 2).sum().backward()

    def keep():
        kept.append(torch.ones(1000))

    step()
    assert of_call(torch, step).kept < 1000 and of_call(torch, keep).kept == 4000


def test_eager_is_the_function_as_it_is_written():
    torch._dynamo.reset()
    callers = []

    def written(x):
        note()
        return x + 1

    @torch.compiler.disable
    def note():
        frame = sys._getframe()
        while frame is not None and frame.f_code is not written.__code__:
            frame = frame.f_back
        if frame is not None:
            callers.append(os.path.basename(frame.f_back.f_code.co_filename))

    depyf.profile(torch.compile(written, backend="eager"), torch.ones(3), calls=4)
    # no wrapper of torch's stands between the two
    assert len(callers) >= 4 and set(callers) == {"measuring.py"}


@NAMED
def test_memory_of_a_training_step_and_what_the_backward_keeps(tmp_path):
    torch._dynamo.reset()
    weight = torch.ones(100, 50, requires_grad=True)

    @torch.compile(backend="aot_eager")
    def step(x):
        return (x @ weight).exp().sum()

    with depyf.prepare_debug(str(tmp_path), caches=False):
        found = depyf.profile(lambda x: step(x).backward(), torch.ones(20, 100), calls=3)
    (entry,) = [one for one in found.entries if one.saved]
    # exp keeps its result, the product its input x
    assert vars(entry.saved) == dict(
        tensors=2, computed_bytes=20 * 50 * 4, input_bytes=20 * 100 * 4, unknown=0
    )
    assert found.compiled_memory.peak >= 100 * 50 * 4 and found.eager_memory.peak >= 100 * 50 * 4
    told = str(found)
    assert "memory of one call: compiled " in told and "keeps 3.9 KiB of what it computes" in told
    document = json.loads((tmp_path / "depyf.json").read_text())
    (written,) = document["profiles"]
    assert written == json.loads(json.dumps(found.to_json()))
    assert sum(written["parts"].values()) == pytest.approx(written["whole"], rel=0.05)
    (saved,) = [one["saved"] for f in document["functions"] for one in f["entries"] if one["saved"]]
    assert saved["computed_bytes"] == 4000


def test_what_a_backward_graph_keeps_is_read_from_its_text():
    from depyf.trace.saved import saved_for_backward

    text = """
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[s77, 8][8, 1]cpu", exp: "bf16[s77, 4][4, 1]cuda:0",
        mul: "f32[2*s77][1]cpu", getitem: "b8[][]cpu", tangents_1: "f32[100][1]cpu"):
        add: "f32[1000][1]cpu" = torch.ops.aten.add.Tensor(exp, 1)
"""
    found = saved_for_backward(text, [{"symbol": "s77", "val": "3"}])
    assert vars(found) == dict(tensors=4, computed_bytes=24 + 1, input_bytes=96, unknown=1)
    forward = """
        exp: "bf16[s77, 4][4, 1]cuda:0" = torch.ops.aten.view.default(permute, [-1])
        permute: "f32[8, s77][1, 8]cpu" = torch.ops.aten.permute.default(primals_1, [1, 0])
        getitem: "b8[][]cpu" = torch.ops.aten.gt.Scalar(primals_1, 0)
"""
    found = saved_for_backward(text, [{"symbol": "s77", "val": "3"}], forward)
    assert vars(found) == dict(tensors=4, computed_bytes=1, input_bytes=96 + 24, unknown=1)
    assert vars(saved_for_backward("nonsense")) == vars(saved_for_backward("def forward("))


def test_a_skipped_cuda_graph_is_told_with_its_reason():
    from depyf.model import Entry, Run
    from depyf.torch.profile.measuring import _skips

    entry = Entry("0/0", metrics={"cudagraph_skip_reason": "skipping cudagraphs due to\n mutation"})
    skips = _skips(Run(unattributed=[entry, entry]))
    assert skips == ["skipping cudagraphs due to mutation"]
    found = Profile(1, 1.0, {}, [], [], cudagraph_skips=skips)
    assert "no CUDA graph: skipping cudagraphs due to mutation" in str(found)


def test_an_entry_has_its_qualified_name():
    class Inner(torch.nn.Module):
        def forward(self, x):
            x = x + 1
            torch._dynamo.graph_break()
            return x * 2

    found = depyf.profile(torch.compile(Inner(), backend="eager"), torch.ones(3), calls=2)
    names = [one.name.rpartition("<locals>.")[2].partition(",")[0] for one in found.entries]
    if not names and not named_regions():
        pytest.skip("this torch's profiler does not say which compiled code runs")
    assert names == ["Inner.forward"] * 2
    assert "Inner.forward, resumed after line" in str(found)


class Event:
    """An event of torch.profiler."""

    def __init__(self, name, start, end, thread=1, device="CPU"):
        self.name, self.thread, self.device_type = name, thread, "DeviceType." + device
        self.time_range = type("Span", (), {"start": start, "end": end})


def sums(*events):
    from depyf.torch.profile.events import sums_of

    found, _ = sums_of(type("Profiler", (), {"events": lambda self: list(events)})())
    return found, {part: round(seconds * 1e6) for part, seconds in found.parts.items()}


def test_a_backward_in_the_thread_of_a_gpu_is_time_of_the_call_that_waits_for_it():
    step = [
        Event("depyf: all calls", 0, 100),
        Event("Torch-Compiled Region: 0/0", 10, 90),
        Event("aten::ones_like", 12, 20),
    ]
    backward = [
        Event("autograd::engine::evaluate_function: CompiledFunctionBackward", 30, 70, 2),
        Event("CompiledFunctionBackward", 32, 68, 2),
        Event("## Call CompiledFxGraph abc ##", 40, 60, 2),
    ]
    found, parts = sums(*step, *backward)
    assert parts == {"other": 20, "python": 32, "operators": 8, "autograd": 20, "graphs": 20}
    assert round(found.entries["0/0"].seconds * 1e6) == 80
    # a second GPU has a second thread: what the first one runs is no event of the caller
    second = Event("autograd::engine::evaluate_function: AccumulateGrad", 25, 75, 3)
    assert sums(*step, *backward, second)[1] == dict(parts, python=22, autograd=30)
    # a thread that does other things is not autograd's; nor does a caller wait that goes on
    _, parts = sums(*step, *backward, Event("aten::mm", 75, 80, 2))
    assert "graphs" not in parts
    _, parts = sums(*step, *backward, Event("aten::mm", 50, 55))
    assert "graphs" not in parts


def test_waiting_for_a_gpu_is_not_code_that_is_not_compiled():
    from depyf.report.runtime import conclusions

    found, parts = sums(
        Event("depyf: all calls", 0, 100),
        Event("Torch-Compiled Region: 0/0", 5, 15),
        Event("aten::item", 6, 14),
        Event("cudaStreamSynchronize", 7, 13),
        Event("cudaDeviceSynchronize", 20, 100),
        Event("triton_poi_fused_add_0", 8, 98, device="CUDA"),
    )
    assert parts == {"other": 10, "python": 2, "operators": 2, "waiting": 86}
    profile = Profile(1, 1e-4, found.parts, [], [], device=found.device_time())
    assert "86.0 %     86.0 us  waiting for the GPU" in str(profile)
    assert conclusions(profile.to_json()) == [
        "The GPU computes for 90 µs of the 100 µs of a call: only other kernels, or less to "
        "compute, make it faster."
    ]


def test_a_gpu_is_busy_while_at_least_one_kernel_runs():
    from depyf.report.runtime import conclusions

    kernels = [Event("triton_poi_fused_add_0", at, at + 4, device="CUDA") for at in (0, 2, 20)]
    found, _ = sums(
        Event("depyf: all calls", 0, 100),
        Event("cudaGraphLaunch", 1, 2),
        Event("aten::mm", 3, 9),
        *kernels,
    )
    device = found.device_time()
    assert round(device.busy * 1e6) == 10 and device.kernels == 3 and device.graphs == 1
    told = str(Profile(1, 1e-4, {"other": 1e-4}, [], list(found.operators.values()), device=device))
    assert (
        " 10.0 %     10.0 us  the GPU computes meanwhile: 3 kernels and copies, and 1 launch of a CUDA graph, a call"
        in told
    )

    def of(**given):
        profile = {"parts": {"graphs": 1e-4}, "whole": 1e-4, "entries": (), "calls": 1}
        return conclusions(dict(profile, device=dict(vars(device), **given)))

    assert of() == [
        "The GPU computes for 10 µs of the 100 µs of a call; the rest of the time it waits for "
        "what the processor does between launches. Larger inputs, or more work in one call, use "
        "it better."
    ]
    assert 'mode="reduce-overhead" launches the 30 kernels' in of(kernels=30, graphs=0)[0]
    assert "only other kernels, or less to compute" in of(busy=8e-5)[0]
    assert "80 µs of the 100 µs of a call" in of(busy=8e-5)[0]
    assert sums(Event("depyf: all calls", 0, 100))[0].device_time() is None


def test_operators_that_run_one_by_one_are_no_generated_code():
    from depyf.report.runtime import conclusions

    def of(device=None, kernel="sgemm", **parts):
        profile = {"parts": parts, "whole": 1e-4, "entries": (), "calls": 1, "device": device}
        profile["operators"] = [{"name": kernel, "device": "cuda"}] if device else []
        return conclusions(profile)

    (alone,) = of(operators=9e-5)
    assert alone.startswith("90 % of the time is operators that run one by one, as the backend")
    assert "a backend that fuses operators" in alone and "only other kernels" not in alone
    (generated,) = of(operators=1e-5, graphs=8e-5)
    assert "what the graphs compute: only other kernels" in generated
    busy = {"busy": 8e-5, "kernels": 3, "graphs": 0}
    (device,) = of(busy, operators=9e-5)
    assert device.startswith(
        "The GPU computes for 80 µs of the 100 µs of a call. Its operators run"
    )
    assert "a backend that fuses operators" in device
    for one in (of(busy, "triton_poi_0", operators=9e-5), of(dict(busy, graphs=1), operators=9e-5)):
        assert one[0].endswith("only other kernels, or less to compute, make it faster.")


@pytest.mark.parametrize(
    "name, title",
    [
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pinned)"),
        (
            "void cutlass::Kernel2<cutlass_80_sgemm_nn>(cutlass_80_sgemm_nn::Params)",
            "Kernel2<cutlass_80_sgemm_nn>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
            "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>)",
            "vectorized_elementwise_kernel<FillFunctor>",
        ),
        (
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::"
            "native::(anonymous namespace)::where_kernel_impl(at::TensorIterator&)::{lambda()#1}> "
            ">(int)",
            "elementwise_kernel<where_kernel_impl>",
        ),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(x)", "splitKreduce_kernel"),
        ("void softmax(float*)", "softmax"),
        ("void ", "void "),
    ],
)
def test_a_kernel_of_a_library_is_called_by_its_function(name, title):
    from depyf.report.runtime import kernel_title

    assert kernel_title(name) == title


def test_kernels_with_long_names_are_told_apart():
    from depyf.torch.profile import OperatorTime

    names = [
        "sm80_xmma_gemm_f32f32_f32f32_f32_%s_n_tilesize32x32x8_stage3_execute" % one
        for one in ("nt", "tn")
    ]
    told = str(Profile(1, 1.0, {}, [], [OperatorTime(one, 5, 1.0, "cuda") for one in names]))
    rows = [line for line in told.splitlines() if line.startswith("sm80")]
    assert len({row.split()[0] for row in rows}) == 2
    assert all(row.endswith("    5  200.00 ms") for row in rows)


def test_why_a_graph_runs_without_a_cuda_graph_is_told_also_when_only_a_call_shows_it(tmp_path):
    utils = pytest.importorskip("torch._inductor.cudagraph_utils")
    if not hasattr(utils, "log_cudagraph_skip_and_bump_counter"):
        pytest.skip("this torch logs it in another way")
    if not hasattr(utils, "cudagraphs_log"):
        pytest.skip("this torch logs it as a hint on performance")

    def f(x):
        return x + 1

    filters = list(utils.cudagraphs_log.filters)
    torch._dynamo.reset()
    with depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(f, backend="inductor")(torch.ones(3))
        for _ in range(2):
            utils.log_cudagraph_skip_and_bump_counter("skipping cudagraphs due to\n mutated inputs")
    assert run.cudagraph_skips == ["skipping cudagraphs due to mutated inputs"]
    assert list(utils.cudagraphs_log.filters) == filters
    assert json.loads((tmp_path / "depyf.json").read_text())["cudagraph_skips"]
    assert "skipping cudagraphs due to mutated inputs" in (tmp_path / "index.html").read_text()
    from depyf import advise
    from depyf.summary import load

    assert "skipping cudagraphs due to mutated inputs" in advise.text(load(str(tmp_path)))
