"""Reasons in plain words: what torch says, read."""

import json
import re

import pytest
from depyf import summary
from depyf.advice import breaks
from depyf.report import overview, words
from depyf.trace.guard_text import state_in_words, state_of

PLACE = '   # y = x * n  # /a/b.py:7 in f\nUser stack trace:\n  File "/a/b.py", line 7, in f\n    y = x * n'


@pytest.mark.parametrize(
    "text, said, kind, before, after",
    [
        (
            "0/0: tensor 'x' size mismatch at index 1. expected 2, actual 3",
            "`x.size(1)` was 2, is 3",
            "size",
            "2",
            "3",
        ),
        (
            "tensor 'L['x']' stride mismatch at index 0. expected 8, actual 1",
            "`x.stride(0)` was 8, is 1",
            "stride",
            "8",
            "1",
        ),
        (
            "0/0: tensor 'x' rank mismatch. expected 1, actual 2",
            "`x` had 1 dimension, has 2",
            "rank",
            "1",
            "2",
        ),
        (
            "0/0: tensor 'x' dtype mismatch. expected Float, actual Double",
            "`x.dtype` was float32, is float64",
            "dtype",
            "float32",
            "float64",
        ),
        (
            "0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0",
            "`x` did not require grad, now does",
            "requires_grad",
            "requires_grad=0",
            "",
        ),
        (
            "0/1: GLOBAL_STATE changed: grad_mode ",
            "torch's global state changed: grad mode",
            "global state",
            "",
            "",
        ),
        ("0/1: n == 1" + PLACE, "`n` was 1, is another value", "value", "1", ""),
        (
            "0/1: len(xs) == 1" + PLACE,
            "`xs` had 1 element, has another length",
            "container",
            "1",
            "",
        ),
        ("0/1: KeyError on d['a']", "the key `d['a']` no longer exists", "container", "", ""),
        (
            "0/1: ___check_type_id(n, 14046), type=<class 'int'>" + PLACE,
            "`n` was an int, is of another type",
            "type",
            "int",
            "",
        ),
        ("0/1: flag is None" + PLACE, "`flag` was None, now is given", "value", "", ""),
        (
            "0/1: 2 <= x.size()[0] <= 5" + PLACE,
            "a condition on a shape no longer holds: `2 <= x.size()[0] <= 5`",
            "shape condition",
            "",
            "",
        ),
        (
            "0/0: L['h'] is L['c']" + PLACE,
            "`h` and `c` were one object, are two",
            "object",
            "",
            "",
        ),
        (
            '0/0: Duplicate tensors found: ["c", "h"]',
            "`c` and `h` were two tensors, are one",
            "object",
            "",
            "",
        ),
        (
            "0/1: something new in torch 9",
            "the guard `something new in torch 9` no longer holds",
            "guard",
            "",
            "",
        ),
    ],
)
def test_reasons_of_recompiles(text, said, kind, before, after):
    found = words.of_reason(text)
    assert (found["words"], found["kind"], found["before"], found["after"]) == (
        said,
        kind,
        before,
        after,
    )
    assert found["help"] or kind == "guard"
    assert found["tried"] == (text.split(":")[0] if text[0] == "0" else "")
    assert found["raw"] == text
    if "stack trace" in text:
        assert (found["file"], found["line"], found["source"]) == ("/a/b.py", 7, "y = x * n")


KEPT = """def resume(___stack0, ___stack1, x):
    worst = ___stack0
    return ___stack1 * x
"""


@pytest.mark.parametrize(
    "guard, said, generic",
    [
        (
            "___stack0 == 1.57",
            "`worst`, kept across the graph break at line 61, was 1.57, is another value",
            "a value kept across a graph break was 1.57, is another value",
        ),
        (
            "L['___stack1'] == 2",
            "a value kept across the graph break at line 61 was 2, is another value",
            "a value kept across a graph break was 2, is another value",
        ),
        (
            "Cache line invalidated because ___stack0 got deallocated",
            "an object that the compile depended on was freed: `worst`, kept across the graph "
            "break at line 61",
            "an object that the compile depended on was freed: a value kept across a graph break",
        ),
        (
            "___stack0 > 1.0",
            "a condition on a number no longer holds: `worst > 1.0`",
            "a condition on a number no longer holds: `kept > 1.0`, where `kept` "
            "is a value kept across a graph break",
        ),
        (
            "___stack5.__self__.ema[list(dict.keys(___stack5.__self__.ema))[0]] is None",
            "`kept.ema[...]` was None, now is given, where `kept` is a value kept across the graph "
            "break at line 61",
            "`kept.ema[...]` was None, now is given, where `kept` is a value kept across a graph "
            "break",
        ),
        (
            "___stack5[6] == ___stack6",
            "`kept[6]` was kept_2, is another value, where `kept` and `kept_2` are values kept "
            "across the graph break at line 61",
            "`kept[6]` was kept_2, is another value, where `kept` and `kept_2` are values kept "
            "across a graph break",
        ),
    ],
)
def test_values_on_the_stack_are_named_or_said_in_words(guard, said, generic):
    found = words.of_reason("2/0: " + guard, KEPT, 61)
    assert found["words"] == said and not found["help"] and not found["patches"]
    assert words.of_reason("2/0: " + guard)["words"] == generic


def test_the_kernel_compilers_time_is_that_of_torchs_events():
    metrics = {
        "duration_us": 57e6,
        "aot_autograd_cumulative_compile_time_us": 56e6,
        "inductor_cumulative_compile_time_us": 53e6,
        "triton_compile_time_us": 2e6,
    }
    events = [
        ["inductor_compile", 2e6, 53e6],
        ["compile_file", 3e6, 6e6],
        ["PyCodeCache.load_by_key_path", 20e6, 25e6],
        ["compile_file", 21e6, 20e6],
        ["async_compile.wait", 43e6, 2e6],
    ]
    found = overview.phases({"metrics": metrics, "events": events})
    assert found == {"dynamo": 1, "aot": 3, "inductor": 22, "kernels": 31}
    events[0][0] = "compile_fx.<locals>.bw_compiler"
    assert overview.phases({"metrics": metrics, "events": events})["kernels"] == 2


def test_kernels_are_counted_whether_a_call_gives_its_result_a_name_or_not():
    text = (
        "aten = torch.ops.aten\n"
        "alloc_from_pool = torch.ops.inductor._alloc_from_pool\n"
        "triton_poi_0 = async_compile.triton('triton_poi_0', '''\n"
        "''')\n"
        "    def call(self, args):\n"
        "        buf0 = extern_kernels.convolution(x, w, bias=None)\n"
        "        assert_size_stride(buf0, (4, ), (1, ), 'torch.ops.aten.convolution.default')\n"
        "        triton_poi_0.run(buf0, 4, stream=stream0)\n"
        "        extern_kernels.mm(buf0, w, out=buf1)\n"
        "        buf2 = torch.ops.aten.topk.default(buf1, 2)\n"
        "        torch.ops.mylib.fill.default(buf1)\n"
    )
    entry = {"artifacts": [{"kind": "kernel", "text": text}]}
    assert overview.count_kernels(entry) == 5


def test_the_time_of_candidates_for_a_kernel_is_a_phase():
    metrics = {
        "duration_us": 20e6,
        "aot_autograd_cumulative_compile_time_us": 19e6,
        "inductor_cumulative_compile_time_us": 18e6,
        "triton_compile_time_us": 2e6,
    }
    events = [
        ["mm_template_precompiling", 2e6, 4e6],
        ["async_compile.precompile", 3e6, 2e6],  # of a candidate
        ["mm_template_autotuning", 6e6, 1e6],
        ["benchmark_fused_nodes", 8e6, 2e6],
        ["CachingAutotuner.benchmark_all_configs", 8e6, 1e6],
        ["PyCodeCache.load_by_key_path", 12e6, 3e6],
    ]
    found = overview.phases({"metrics": metrics, "events": events})
    assert found == {"dynamo": 1, "aot": 1, "inductor": 8, "kernels": 3, "autotuning": 7}


def state(**changed):
    """A guard of an entry on torch's global state."""
    autocast = {"cached_enabled": True, "dtype": [15, 5] + [5] * 8, "enabled": [False] * 10}
    parts = {"autocast_state": autocast, "default_dtype": 6, "grad_mode": True, "num_threads": 2}
    parts.update(deterministic_algorithms=False, allow_fp16_reduce=0)
    parts.update(changed)
    text = "___check_global_state() against " + json.dumps(parts)
    return [{"kind": "GLOBAL_STATE", "text": text}]


def test_what_changed_of_torchs_state_is_told_with_its_values():
    cuda = {
        "cached_enabled": True,
        "dtype": [15, 5] + [5] * 8,
        "enabled": [False, True] + [False] * 8,
    }
    first = {"compile_id": "0/0", "guards": state()}
    said = ["0/0: GLOBAL_STATE changed: grad_mode autocast(cuda)_enabled num_threads "]
    changed = {"grad_mode": False, "autocast_state": cuda, "num_threads": 3}
    second = {"compile_id": "0/1", "guards": state(**changed), "reasons": said}
    run = {"functions": [{"name": "f", "entries": [first, second]}]}
    (reason,) = overview.nodes_of([run])[1].reasons
    assert reason["words"] == (
        "autocast was off, is on for CUDA (float16); grad mode was on, is off; "
        "number of threads was 2, is 3"
    )
    assert reason["row"] == "global state"
    second["guards"] = []  # as in a log
    (reason,) = overview.nodes_of([run])[1].reasons
    assert reason["words"] == (
        "torch's global state changed: grad mode, autocast on CUDA, number of threads"
    )
    second["reasons"] = ["0/0: GLOBAL_STATE changed: default_dtype deterministic_algorithms "]
    second["guards"] = state(default_dtype=7, deterministic_algorithms=True)
    (reason,) = overview.nodes_of([run])[1].reasons
    assert reason["words"] == (
        "default dtype was float32, is float64; deterministic algorithms were off, are on"
    )
    assert reason["row"] == "setting"


def test_a_reason_without_an_entry_is_of_the_one_that_has_its_guard():
    """Torch 2.4 and before tell the guards alone, one for each entry that they have."""

    def entry(number, guards, reasons=()):
        texts = [{"text": text} for text in guards]
        return {"compile_id": "0/%d" % number, "guards": texts, "reasons": list(reasons)}

    def tried(*entries):
        run = {"functions": [{"name": "f", "entries": list(entries)}]}
        return [one["tried"] for one in overview.nodes_of([run])[-1].reasons]

    first, second = entry(0, ["n == 2", "m == 1"]), entry(1, ["n == 3", "m == 1"])
    size = "tensor 'x' size mismatch at index 0. expected 2, actual 3"
    assert tried(first, entry(1, [], [size])) == ["0/0"]
    assert tried(first, second, entry(2, [], ["n == 3", "n == 2"])) == ["0/1", "0/0"]
    assert tried(first, second, entry(2, [], ["m == 1", "L['n'] == 2"])) == ["0/1", "0/0"]
    assert tried(first, second, entry(2, [], ["n == 3"])) == [""]
    assert tried(first, second, entry(2, [], ["m == 1", "m == 1"])) == ["", ""]
    assert tried(first, entry(0, ["n == 3"]), entry(1, [], [size])) == ["0/0"]


def test_a_guard_on_torchs_state_is_told_in_words():
    (guard,) = state(deterministic_algorithms=True)
    assert state_in_words(state_of(guard["text"])) == (
        "grad mode on, autocast off, default dtype float32, number of threads 2, "
        "deterministic algorithms on"
    )
    assert state_in_words(state_of("___check_global_state() against {bad")) == ""


def test_a_backends_time_is_aotautograds_where_that_ran():
    metrics = {"duration_us": 3e6, "aot_autograd_cumulative_compile_time_us": 2e6}
    events = [["entire_frame_compile", 0, 3e6], ["backend_compile", 1e6, 2e6]]
    entry = {"metrics": metrics, "events": events, "artifacts": [{"stage": "Captured_Graph"}]}
    assert overview.phases(entry) == {"dynamo": 1, "backend": 2}
    aot = [["create_aot_dispatcher_function", 1e6, 1e6]]
    assert overview.phases(dict(entry, events=events + aot)) == {"dynamo": 1, "aot": 2}
    graphs = [{"stage": "Captured_Graph"}, {"stage": "Forward_graph"}]  # of torch without events
    assert "aot" in overview.phases(dict(entry, events=[], artifacts=graphs))


def test_a_break_that_is_not_known_is_told_in_torchs_words():
    found = words.of_break(
        {
            "reason": "A new kind",
            "explanation": "It is so.\nMore.",
            "hints": ["Do this.", "Please report an issue to PyTorch."],
        }
    )
    assert (
        found["why"] == "It is so."
        and found["help"] == []
        and found["hints"] == ["Do this."]
        and found["what"] == "A new kind"
    )


GIVEN_UP = """Graph break in user code at /a/b.py:4
Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:

Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.
  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`.

  Developer debug context: call_method TensorVariable() item () {}

 For more details about this graph break, please visit: https://example.invalid/gb/gb0124.html

*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop.
  Hint: This graph break may have been caused by an earlier graph break.

 For more details about this graph break, please visit: https://example.invalid/gb/gb7000.html

User code traceback:
  File "/a/b.py", line 4, in f
    if value.item() > 1:

Traceback (most recent call last):
torch._dynamo.exc.Unsupported: Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.
  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True`.
"""


def test_a_break_at_which_torch_gives_the_function_up_is_the_first_of_its_chain():
    pytest.importorskip("torch")
    from depyf.trace.breaks import parse_break

    parsed = parse_break(GIVEN_UP, 0)
    assert parsed.reason.startswith("Unsupported Tensor.item()") and parsed.explanation.startswith(
        "Dynamo does not support"
    )
    assert parsed.hints == [
        "Set `torch._dynamo.config.capture_scalar_outputs = True`."
    ] and parsed.url.endswith("gb0124.html")
    assert parsed.user_stack == ['File "/a/b.py", line 4, in f', "  if value.item() > 1:"]
    found = words.of_break(
        {
            "reason": parsed.reason,
            "location": parsed.location,
            "user_stack": parsed.user_stack,
            "text": parsed.text,
        }
    )
    assert (
        "converted to a Python number" in found["why"]
        and "inside a loop" in found["then"]
        and "plain Python" in found["then"]
    )
    assert (found["line"], found["source"]) == (4, "if value.item() > 1:") and any(
        "separate function" in hint for hint in found["help"]
    )
    failure = words.of_failure(
        "Unsupported: Unsupported Tensor.item() call with capture_scalar_outputs=False", [found]
    )
    assert failure["why"] == found["why"] and failure["line"] == 4


@pytest.mark.parametrize(
    "text, why, then",
    [
        (
            "BackendCompilerFailed: backend='mine' raised:\nValueError: no <b>",
            "The backend `mine` raised `ValueError: no <b>`.",
            "",
        ),
        (
            "Unsupported: Dynamo recompile limit exceeded\n  Explanation: Too often.",
            "recompile limit",
            "compiles only functions with a torch.compile of their own",
        ),
        (
            "Unsupported: Tensor.item call\n  Explanation: No.",
            "converted to a Python number",
            "fullgraph=True",
        ),
        (
            "InternalTorchDynamoError: AssertionError: x",
            "torch could not compile this: `InternalTorchDynamoError: AssertionError: x`.",
            "",
        ),
    ],
)
def test_failures(text, why, then):
    found = words.of_failure(text)
    assert (
        why in found["why"]
        and then in found["then"]
        and bool(then) == bool(found["then"])
        and found["raw"] == text
    )


@pytest.mark.parametrize(
    "text, why, help",
    [
        (
            "InductorError: InvalidCxxCompiler: No working C++ compiler found in "
            "torch._inductor.config.cpp.cxx: (None, 'g++')",
            "found none",
            "Install g++ or clang++",
        ),
        (  # torch 2.5
            "BackendCompilerFailed: backend='inductor' raised:\nInvalidCxxCompiler: No working "
            "C++ compiler found",
            "found none",
            "Install g++ or clang++",
        ),
        (
            "InductorError: SubprocException: An exception occurred in a subprocess:\n\n"
            "Traceback (most recent call last):\nRuntimeError: Failed to find C compiler. Please "
            "specify via CC environment variable or set triton.knobs.build.impl.",
            "found none",
            "Install g++ or clang++",
        ),
        (
            "InductorError: CppCompileError: C++ compile error\n\nCommand:\ng++ x.cpp\n\n"
            "Output:\nx.cpp:5:10: fatal error: Python.h: No such file or directory",
            "header files",
            "python3-dev",
        ),
        (
            "TritonMissing: Cannot find a working triton installation. Either the package is not "
            "installed or it is too old.",
            "Triton",
            "pip install triton",
        ),
    ],
)
def test_a_tool_that_the_machine_lacks_is_told_with_what_helps(text, why, help):
    found = words.of_failure(text)
    assert why in found["why"] and found["raw"] == text
    assert help in found["help"][0] and "--backend aot_eager" in found["help"][0]


def test_a_line_of_a_library_is_told_with_the_readers_own_line_that_led_there():
    library = "/x/lib/python3.11/site-packages/torch/nn/modules/module.py"
    stack = [
        'File "/x/depyf/launch.py", line 1, in run', "  exec(code)",
        'File "/x/depyf/launch/program.py", line 1, in run_as_main', "  exec(code)",
        'File "/home/me/train.py", line 7, in main', "  loss = model(x)", "         ^^^^^^^^",
        'File "%s", line 9, in forward' % library, "  self.log()",
        'File "/home/me/dump/__transformed_code_0_for_f.py", line 2, in f', "  g()",
        'File "<frozen runpy>", line 3, in run',
    ]  # fmt: skip
    found = words.of_break({"reason": "A call", "location": library + ":9", "user_stack": stack})
    assert found["caller"] == ("/home/me/train.py", 7, "loss = model(x)")
    assert words.of_break(
        {"reason": "A call", "location": "/home/me/train.py:7", "user_stack": stack}
    )["caller"] == ("", 0, "")
    assert words.users_line(["/home/me/a b.py:3 in f: x = g(1)", library + ":9 in forward: y"]) == (
        "/home/me/a b.py",
        3,
        "x = g(1)",
    )
    assert words.users_line([]) == ("", 0, "")


def test_a_printed_message_is_known_by_what_is_called():
    found = words.of_break(
        {
            "reason": "Failed to trace builtin operator",
            "explanation": "Dynamo does not know how to trace builtin operator `print` with argument types ['str']",
            "location": "/a/b.py:10",
            "user_stack": ['File "/a/b.py", line 10, in f', '  print("hi")', "  ^^^^^"],
        }
    )
    assert "prints" in found["why"] and found["source"] == 'print("hi")' and found["line"] == 10


@pytest.mark.parametrize(
    "text",
    ["", "\x00", "0/0: ", ":" * 50, "tensor '", "0/0: tensor 'x' size mismatch at index", "x == "],
)
def test_any_text_is_told_somehow(text):
    assert words.of_reason(text)["raw"] == text
    assert words.of_break({"reason": text, "text": text})["what"] is not None
    assert words.of_failure(text)["what"] is not None


def test_compile_time_that_could_be_saved_is_summed_up():
    from depyf.report import overview

    def entry(number, seconds, **more):
        metrics = dict(more.pop("metrics", {}), duration_us=seconds * 1e6)
        found = {"compile_id": number, "metrics": metrics, "name": "f", "cache": [], "events": []}
        return dict(found, **more)

    graph = {"stage": "Captured_Graph", "kind": "graph", "text": "class M:\n    y = x + 1  # a.py"}
    again = dict(graph, text=graph["text"].replace("a.py", "b.py"))
    restarted = {
        "restart_reasons": ["TensorifyScalarRestartAnalysis"],
        "dynamo_compile_time_before_restart_us": 2500000,
    }
    bypass = {"cache": "aotautograd_cache", "result": "bypass", "cache_bypass_reason": "no\nway"}
    entries = [
        entry("0/0", 5.0, metrics=restarted, artifacts=[graph], events=[["build_guards", 0, 1e6]]),
        entry("0/1", 0.5, artifacts=[again]),  # of the same function
        entry("1/0", 3.0, artifacts=[again], cache=[bypass]),
        # time before a restart is told for compiles that had none, too
        entry("2/0", 1.0, metrics={"dynamo_compile_time_before_restart_us": 900000}),
    ]
    rows = overview.avoidable(overview.nodes_of([{"functions": [], "unattributed": entries}]))
    told = {row["what"]: (row["seconds"], row["count"], row["details"]) for row in rows}
    assert told["analysis that torch discarded and restarted"] == (
        2.5,
        1,
        ["TensorifyScalarRestartAnalysis"],
    )
    assert told["compiles that aotautograd_cache could not keep"] == (3.0, 1, ["no way"])
    assert told["graphs that were compiled before, for another function"][:2] == (3.0, 1)
    assert told["guards that took long to build"][0] == 1.0
    assert len(told) == 4 and rows == sorted(rows, key=lambda row: -row["seconds"])
    help = {row["what"].split()[0]: row["help"] for row in rows}
    assert "specialize_float = True" in help["analysis"] and "graph break" not in help["analysis"]
    assert "such as the forward" in help["graphs"] and "Each process" in help["compiles"]


def test_what_torchs_caches_did_not_hold_is_told_with_how_to_keep_it():
    def rows_of(events, **settings):
        metrics = {
            "duration_us": 9e6,
            "aot_autograd_cumulative_compile_time_us": 8e6,
            "inductor_cumulative_compile_time_us": 7e6,
            "settings": settings,
        }
        entry = {"compile_id": "0/0", "name": "f", "metrics": metrics, "cache": events}
        entry["events"] = [["compile_file", 1e6, 2e6], ["compile_file", 3e6, 2e6]]
        found = overview.avoidable(overview.nodes_of([{"unattributed": [entry]}]))
        return {row["what"].partition(",")[0]: (row["seconds"], row["help"]) for row in found}

    missed = rows_of([{"cache": "fx_graph_cache", "result": "miss"}] * 2, compile_threads=4)
    assert [seconds for seconds, _ in missed.values()] == [8.0]
    assert "TORCHINDUCTOR_CACHE_DIR" in missed["graphs that were not in torch's caches"][1]
    assert list(rows_of([{"cache": "fx_graph_cache", "result": "hit"}])) == ["kernels (C++"]
    in_turn = rows_of([], compile_threads=1)
    assert in_turn["kernels that were compiled one after the other"][0] == 4.0


def test_a_compile_that_began_again_is_counted_once_among_what_caches_did_not_keep():
    reason = "FX graph cache is not enabled"
    event = {"cache": "aotautograd_cache", "result": "bypass", "cache_bypass_reason": reason}
    restart = "<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>"
    metrics = {
        "duration_us": 16e6,
        "restart_reasons": [restart],
        "dynamo_compile_time_before_restart_us": 5e6,
    }
    entry = {"compile_id": "0/0", "name": "f", "metrics": metrics, "cache": [event, event]}
    rows = overview.avoidable(overview.nodes_of([{"unattributed": [entry]}]))
    kept, restarted = rows
    assert (kept["seconds"], kept["count"], len(kept["nodes"])) == (16.0, 1, 1)
    assert "fx_graph_cache" in kept["help"] and "cannot keep" not in kept["help"]
    assert restarted["details"] == ["TensorifyScalarRestartAnalysis"]


def test_of_one_compile_that_is_not_needed_nothing_is_counted():
    reason = "0/0: n == 2   # y = x * n  # /a/b.py:7 in f"
    metrics = {"duration_us": 1e6}
    entry = {"compile_id": "0/1", "name": "f", "metrics": metrics, "reasons": [reason]}
    entry.update(events=[["build_guards", 0, 5e5]], guards=[{"text": "x"}])
    rows = overview.avoidable(overview.nodes_of([{"unattributed": [entry]}]))
    (guards,) = [row for row in rows if row["what"].startswith("guards")]
    assert "of the 1 compiles" not in guards["help"]
    assert guards["help"].endswith(
        "would not be needed without the recompiles and graph breaks above."
    )


def test_advice_that_stands_alone_does_not_begin_with_or():
    said = {"reason": "graph break in loop", "text": "graph break in loop\n  Explanation: x"}
    assert words.of_break(said)["help"][0].startswith("Make the loop's body")


def test_a_recompile_that_failed_is_not_advised_to_be_spared_by_what_failed():
    reason = "0/0: n == 2   # y = x * n  # /a/b.py:7 in f"
    entry = {"compile_id": "0/1", "name": "f", "reasons": [reason], "guards": [{"text": "x"}]}
    (node,) = overview.nodes_of([{"unattributed": [entry]}])
    assert node.reasons[0]["help"]
    failed = "AsPythonConstantNotImplementedError: SymNodeVariable() is not a constant"
    (node,) = overview.nodes_of([{"unattributed": [dict(entry, failure=failed)]}])
    assert not node.reasons[0]["help"] and node.failure["row"] == "number as a constant"


def test_analysis_that_began_again_at_graph_breaks_says_so():
    metrics = {"restart_reasons": ["Failed to trace"], "dynamo_time_before_restart_s": 1.0}
    cut = {"reason": "Failed to trace", "location": "/a/b.py:1"}
    entry = {"compile_id": "0/0", "name": "f", "metrics": metrics, "breaks": [cut]}
    (row,) = overview.avoidable(overview.nodes_of([{"unattributed": [entry]}]))
    assert row["help"] == (
        "It did so at a graph break (without it, torch does so at the next, if there is one)."
    )


@pytest.mark.parametrize("parameters, marked", [(None, True), (["x"], True), (["y"], False)])
def test_nothing_is_advised_for_a_local_before_the_call(parameters, marked):
    text = "3/0: tensor 'x' size mismatch at index 0. expected 32, actual 19"
    found = words.of_reason(text, "", 33, parameters)
    assert any("mark_dynamic(x, 0)" in one for one in found["help"]) == marked
    assert any("dynamic=True" in one for one in found["help"])


def test_a_resume_function_knows_the_parameters_of_what_it_continues():
    place = {"filename": "a.py", "qualname": "f"}
    root = dict(place, is_resume=False, source="@torch.compile\ndef f(x, n=1):\n    y = x\n")
    reason = "1/0: tensor '%s' size mismatch at index 0. expected 32, actual 19"
    for name, marked in (("x", True), ("y", False)):
        entry = {"compile_id": "1/1", "reasons": [reason % name]}
        resumed = dict(place, is_resume=True, source="", name="torch_dynamo_resume_in_f_at_3")
        run = {"functions": [dict(root, entries=[]), dict(resumed, entries=[entry])]}
        node = overview.Node(run, run["functions"][1], entry, "1/1")
        assert any("mark_dynamic" in one for one in node.reasons[0]["help"]) == marked


def test_what_a_local_holds_is_not_advised_to_be_marked():
    for name in ("d.logits", "g['weight']"):
        text = "3/0: tensor '%s' size mismatch at index 0. expected 32, actual 19" % name
        assert not any("mark_" in one for one in words.of_reason(text, "", 33, ["x"])["help"])
        root = re.split(r"\W", name)[0]
        assert any("mark_" in one for one in words.of_reason(text, "", 33, [root])["help"])


@pytest.mark.parametrize(
    "reason, row, part",
    [
        ("builtin: print [<class 'torch.ConstantVariable'>] False", "print", "print"),
        (
            "Graph break due to unsupported builtin time.sleep. This function is either a Python "
            "builtin (e.g. _warnings.warn) or a third-party C/C++ Python extension",
            "not traced",
            "time.sleep",
        ),
        (
            "Graph break due to unsupported Python builtin _warnings.warn. Please file an issue.",
            "warning",
            "warns",
        ),
        ("'skip function graph_break in file /x/torch/_dynamo/decorators.py'", "graph_break", ""),
        ("'skip function manual_seed in file /x/torch/_compile.py'", "seed", "manual_seed"),
        pytest.param(
            "call torch._dynamo.disable() wrapped function <function out at 0x7f0adbc55bd0>",
            "disabled",
            "`out`",
            id="disabled",
        ),
    ],
)
def test_a_break_in_the_words_of_an_earlier_torch(reason, row, part):
    said = words.of_break({"reason": reason, "user_stack": ['  File "a.py", line 3, in f']})
    assert said["row"] == row and part in said["why"] and said["raw"] == reason
    assert "0x" not in said["what"] and len(said["what"]) < 60


def test_guards_that_took_long_are_told_with_what_can_be_done():
    def compiled(number, **more):
        guards = [
            {"kind": "K", "source": "", "text": "x", "expression": None, "comment": ""}
        ] * 1200
        events = [["build_guards", 0, 900000]]
        one = {"compile_id": "%d/0" % number, "name": "f", "guards": guards, "events": events}
        return dict(one, metrics={"duration_us": 2e6}, **more)

    def told(*entries):
        run = {"functions": [], "unattributed": list(entries)}
        rows = overview.avoidable(overview.nodes_of([run]))
        found = [one["help"] for one in rows if one["what"].startswith("guards that took long")]
        return found[0] if found else None

    assert told(compiled(0)) is None  # they are needed once, and no setting makes that shorter
    short = dict(compiled(1), events=[])
    assert "fewer compiles need fewer" in told(compiled(0), short)
    again = told(compiled(0), compiled(1, reasons=["0/0: tensor 'x' size mismatch"]))
    assert (
        "0/0 has 1,200 guards" in again
        and "of the 2 compiles whose guards took long, 1 would not be needed (" in again
    )


def test_a_break_in_another_file_names_the_line_that_led_there():
    stack = [
        'File "/venv/bin/depyf", line 8, in <module>',
        "  sys.exit(main())",
        'File "/home/me/main.py", line 13, in <module>',
        "  train(x)",
        'File "/home/me/main.py", line 9, in train',
        "  z = block(y)",
        'File "/src/pytorch/torch/nn/modules/module.py", line 1789, in _call_impl',
        "  return forward_call(*args, **kwargs)",
        'File "/home/me/helper.py", line 8, in forward',
        "  return log(x * 2)",
        'File "/home/me/helper.py", line 4, in log',
        "  print(x)",
    ]
    raw = {"reason": "A call", "location": "/home/me/helper.py:4", "user_stack": stack}
    found = words.of_break(raw)
    assert found["caller"] == ("/home/me/main.py", 9, "z = block(y)")
    assert found["via"] == "reached by way of main.py:13, main.py:9, helper.py:8"
    own = words.of_break(dict(raw, location="/home/me/main.py:9", user_stack=stack[:6]))
    assert own["caller"] == ("", 0, "") and own["via"] == ""
    entry = {"compile_id": "0/0", "breaks": [raw]}
    text = summary.breaks_text({"functions": [], "unattributed": [entry]})
    assert "called from /home/me/main.py:9: z = block(y)\n" in text
    assert "reached by way of main.py:13, main.py:9, helper.py:8\n" in text


@pytest.mark.parametrize("file, helped", [("/x/site-packages/a/b.py", False), ("/home/b.py", True)])
def test_nobody_passes_what_a_wrapper_of_a_library_hands_on(file, helped):
    reason = "0/0: expected type of 'args[0]' to be a tensor type, but found <class 'tuple'>"
    stack = ["/home/me/main.py:3 in <module>: f(x)", file + ":1 in wrapped: "]
    entries = [
        {"compile_id": "0/0", "user_stack": stack},
        {"compile_id": "0/1", "user_stack": stack, "reasons": [reason]},
    ]
    function = {"name": "wrapped", "filename": file, "firstlineno": 1, "entries": entries}
    nodes = overview.nodes_of([{"functions": [function], "unattributed": []}])
    assert bool(nodes[1].reasons[0]["help"]) == helped
    assert "was a tensor" in nodes[1].reasons[0]["words"]


def test_a_recompile_for_a_tensor_names_the_line_because_of_which_it_is_guarded():
    def guard(kind, source, comment):
        return {"kind": kind, "source": source, "text": "", "expression": "", "comment": comment}

    where = "# y = x + 1  # /home/me/model.py:4 in f"
    guards = [
        guard("TYPE_MATCH", "L['x']", "# other(x)  # /home/me/model.py:2 in f"),
        guard("TENSOR_MATCH", "L['y']", "# y + 1  # /home/me/model.py:3 in f"),
        guard("TENSOR_MATCH", "L['x']", where),
    ]
    failed = "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4"
    entries = [
        {"compile_id": "0/0", "name": "a", "guards": guards},
        {"compile_id": "0/1", "name": "b", "reasons": [failed]},
    ]
    function = {"name": "f", "filename": "/home/me/model.py", "firstlineno": 1, "entries": entries}
    (reason,) = overview.nodes_of([{"functions": [function]}])[1].reasons
    assert (reason["file"], reason["line"]) == ("/home/me/model.py", 4)
    assert reason["source"] == "y = x + 1"


INDUCTOR = "InductorError: TypeError: cannot determine truth value of Relational: 32*s58 < 32"


def failed_entry(**more):
    cache = [{"cache": "fx_graph_cache", "result": "miss"}]
    metrics = {"duration_us": 9e6, "aot_autograd_cumulative_compile_time_us": 8e6}
    metrics["inductor_cumulative_compile_time_us"] = 3e6
    metrics["config_suppress_errors"] = False
    found = {"compile_id": "0/0", "failure": INDUCTOR, "metrics": metrics, "cache": cache}
    return dict(found, **more)


def test_what_a_failed_compile_took_is_in_no_cache():
    nodes = overview.nodes_of([{"unattributed": [failed_entry()]}])
    assert overview.avoidable(nodes) == []
    nodes = overview.nodes_of([{"unattributed": [failed_entry(failure="")]}])
    assert [row["seconds"] for row in overview.avoidable(nodes)] == [8.0]


@pytest.mark.parametrize(
    "text, metrics, raised",
    [
        (INDUCTOR, {"config_suppress_errors": False}, True),
        (INDUCTOR, {"config_suppress_errors": True}, False),
        (INDUCTOR, {}, False),  # torch does not tell
        ("KeyboardInterrupt: the compile was interrupted", {}, True),
        ("Unsupported: Tensor.item call\n  Explanation: No.", {}, True),
        ("Unsupported: Dynamo recompile limit exceeded", {"config_suppress_errors": False}, False),
        ("UserError: no", {"config_suppress_errors": False}, False),
    ],
)
def test_an_exception_that_went_to_the_program_is_said_to(text, metrics, raised):
    found = words.of_failure(text, metrics=metrics)
    assert found["raised"] is raised
    assert ("to the program" in found["then"]) == (raised and "interrupted" not in text)


def test_a_failure_names_the_operation_and_the_line_that_torch_was_at():
    stack = [
        '  File "/a/net.py", line 53, in forward',
        "    h1 = self.d1(h0, emb)",
        '  File "/x/site-packages/torch/nn/modules/normalization.py", line 334, in forward',
        "    return F.group_norm(input, self.num_groups)",
    ]
    at = {"failure_operation": "aten.view.default", "failure_stack": stack}
    (node,) = overview.nodes_of([{"unattributed": [failed_entry(**at)]}])
    assert "`aten.view.default`" in node.failure["why"]
    assert node.failure["line"] == 334 and node.failure["source"].startswith("return F.group_norm")
    assert node.failure["caller"] == ("/a/net.py", 53, "h1 = self.d1(h0, emb)")


def test_a_failure_of_inductor_tells_the_place_in_its_text():
    text = (
        "InductorError: LoweringException: TypeError: no\n  target: aten.cumsum.default\n  args[0]: x\n"
        "Found from : \n"
        '   File "/a/b.py", line 12, in outer\n    return inner(z) - 4\n           ^^^^^^^^\n'
        '  File "/a/b.py", line 9, in inner\n    return torch.cumsum(y, 0)\n           ^^^^\n'
    )
    found = words.of_failure(text)
    assert (found["file"], found["line"]) == ("/a/b.py", 9) and "aten.cumsum" in found["why"]
    assert found["source"] == "return torch.cumsum(y, 0)"


def test_the_break_that_an_optimizer_makes_on_purpose_is_none_to_be_spared():
    text = "Call to `torch._dynamo.graph_break()`"
    cut = {
        "reason": text,
        "explanation": "/lib/torch/optim/optimizer.py",
        "location": "/lib/torch/optim/optimizer.py:1",
        "url": "https://x/gb0025.html",
    }
    metrics = {"restart_reasons": [text], "dynamo_time_before_restart_s": 1.0}
    entry = {"compile_id": "0/0", "name": "f", "metrics": metrics, "breaks": [cut]}
    nodes = overview.nodes_of([{"unattributed": [entry]}])
    assert nodes[0].breaks[0]["row"] == "optimizer's break"
    assert "nothing is lost" not in nodes[0].breaks[0]["why"]
    (row,) = overview.avoidable(nodes)
    assert row["help"].endswith("makes on purpose, which needs no action.")


def test_a_setting_that_does_not_help_is_not_hinted_at(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("def f(x):\n    print(x.sum().item())\n    return x\n")
    hint = "Set `torch._dynamo.config.capture_scalar_outputs = True`"
    said = {"reason": "Tensor.item()", "hints": [hint], "location": "%s:2" % program}
    found = words.of_break(said)
    assert "does not help" in found["why"] and found["hints"] == []


def guarded(*texts):
    return [{"kind": "", "source": "", "text": text} for text in texts]


def recompiled(entries, **more):
    """The nodes of one function with these entries."""
    function = {"name": "f", "filename": "/a/b.py", "firstlineno": 1, "entries": entries}
    return overview.nodes_of([{"functions": [dict(function, **more)], "unattributed": []}])


def test_an_entry_for_another_state_is_not_the_cause_where_one_for_the_same_does_not_fit():
    def cache(size, stride):
        return guarded(
            "check_tensor(L['cache'].k, Tensor, size=[%s], stride=[%s])" % (size, stride)
        )

    stride = "0/0: tensor 'cache.k' stride mismatch at index 0. expected 8, actual 96"
    state = "0/1: cache.k is None  # if cache.k is not None:  # /a/b.py:7 in f"
    entries = [
        {"compile_id": "0/0", "name": "a", "guards": cache("None", 8)},
        {"compile_id": "0/1", "name": "b", "guards": guarded("L['cache'].k is None")},
        {"compile_id": "0/2", "name": "c", "guards": cache("None", 96), "reasons": [state, stride]},
    ]
    reasons = recompiled(entries)[2].reasons
    assert [one["tried"] for one in reasons] == ["0/0", "0/1"]
    assert "needs no action" not in " ".join(reasons[0]["help"])
    # where no earlier entry has the state, that is the cause
    entries[2]["guards"] = guarded("L['cache'].k is None")
    entries[1]["guards"] = guarded("L['cache'].k is None")
    assert [one["tried"] for one in recompiled(entries)[2].reasons] == ["0/1", "0/0"]


def test_the_entry_for_a_size_of_one_is_not_the_cause_of_a_compile_for_another_size():
    def sized(size):
        return guarded("check_tensor(L['ids'], Tensor, size=[2, %s], stride=[1, 1])" % size)

    def failed(number, before, after):
        text = "0/%d: tensor 'ids' size mismatch at index 1. expected %d, actual %d"
        return text % (number, before, after)

    entries = [
        {"compile_id": "0/0", "name": "a", "guards": sized(5)},
        {"compile_id": "0/1", "name": "b", "guards": sized(1), "reasons": [failed(0, 5, 1)]},
        {"compile_id": "0/2", "name": "c", "guards": sized("None")},
    ]
    entries[2]["reasons"] = [failed(1, 1, 9), failed(0, 5, 9)]
    nodes = recompiled(entries)
    assert nodes[1].reasons[0]["row"] == "size 0 or 1"
    assert nodes[2].reasons[0]["tried"] == "0/0" and nodes[2].reasons[0]["row"] == "size"


@pytest.mark.parametrize(
    "before, after, told",
    [
        ("L['mode'] == 'a'", "L['mode'] == 'b'", "; `mode`, which was 'a', is 'b', too"),
        ("not L['seen']", "len(L['seen']) == 2", "; `seen`, which had 0 elements, has 2, too"),
        ("len(L['seen']) == 3", "len(L['seen']) == 2", "which had 3 elements, has 2, too"),
        ("L['mode'] == 'a'", "L['mode'] == 'a'", ""),
    ],
)
def test_what_else_differs_is_told_beside_a_size(before, after, told):
    def sized(size, other):
        return guarded("check_tensor(L['x'], Tensor, size=[%s], stride=[1])" % size, other)

    failed = "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5"
    entries = [
        {"compile_id": "0/0", "name": "a", "guards": sized(4, before)},
        {"compile_id": "0/1", "name": "b", "guards": sized("None", after), "reasons": [failed]},
    ]
    (reason,) = recompiled(entries)[1].reasons
    assert reason["words"].startswith("`x.size(0)` was 4, is 5") and told in reason["words"]
    assert ("too" in reason["words"]) == bool(told)
    alone = [one.startswith("torch.compile(..., dynamic=True)") for one in reason["help"]]
    assert any(alone) == (not told)  # neither helps without the other
    assert any("And for `x`: torch.compile(" in one for one in reason["help"]) == bool(told)
    assert told or "equal stay equal" in reason["help"][0]


def test_a_rest_that_torch_gives_up_is_not_said_to_be_the_whole_function():
    rest = GIVEN_UP.replace("line 4, in f", "line 4, in torch_dynamo_resume_in_f_at_3")
    stack = ['  File "/a/b.py", line 4, in torch_dynamo_resume_in_f_at_3']
    whole = words.of_break({"reason": "x", "text": GIVEN_UP})["then"]
    assert "skips the whole function" in whole
    for text, frames in ((rest, []), (GIVEN_UP, stack)):
        found = words.of_break({"reason": "x", "text": text, "user_stack": frames})
        assert "skips the rest of the function: it runs" in found["then"]
    assert "separate function" not in breaks.WHILE.words  # after the break, the loop is given up


def test_a_float_that_no_operator_takes_is_not_said_to_be_taken_by_one():
    metrics = {"duration_us": 1e6, "restart_reasons": ["TensorifyScalarRestartAnalysis"]}
    metrics["dynamo_compile_time_before_restart_us"] = 5e5
    entry = {"compile_id": "0/0", "name": "f", "metrics": metrics}
    (row,) = overview.avoidable(overview.nodes_of([{"unattributed": [entry]}]))
    assert "operator" not in row["help"]  # none need take the float


def test_a_line_in_no_loop_is_said_to_be_called_from_one():
    debug = "  Developer debug context: frame skipped: loss_of (/a/b.py line 51)"
    raw = GIVEN_UP + debug
    frames = [
        'File "/a/b.py", line 56, in loss_of',
        "  cell()",
        'File "/a/b.py", line 16, in timer',
    ]
    said = {"reason": "x", "text": raw}
    assert "is called from inside a loop" in words.of_break(dict(said, user_stack=frames))["then"]
    assert "It is inside" in words.of_break(dict(said, user_stack=frames[:1]))["then"]


def test_a_clock_that_torch_names_with_a_dot_behind_is_known():
    explanation = "Dynamo does not know how to trace the builtin `time.time.` This function is"
    reason = "Attempted to call function marked as skipped"
    found = words.of_break({"reason": reason, "explanation": explanation, "text": "x"})
    assert found["why"] == "`time.time` reads a clock, which torch does not trace."


def test_the_summary_tells_one_advice_once():
    def failed(number):
        metrics = {"duration_us": 1e6, "co_name": "f", "co_filename": "/a/b.py"}
        metrics["co_firstlineno"] = number
        made = {
            "compile_id": "%d/0" % number,
            "metrics": metrics,
            "failure": "Unsupported: " + ITEM,
        }
        return dict(made, breaks=[{"reason": ITEM, "text": ITEM, "location": "/a/b.py:9"}])

    entries = [failed(number) for number in range(3)]
    told = summary.summary({"functions": [], "unattributed": entries})
    assert told.count("because of line 9") == 1 and told.count("help: ") == 1
    # one change for all of them, which are named above it
    assert "  no figure  not compiled" in told
    assert "runs uncompiled: f /a/b.py; f /a/b.py:1; f /a/b.py:2" in told


ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False"


def test_answers_of_inductors_cache_say_of_which_graph_they_are():
    def answers(*keys):
        events = [{"cache": "aotautograd_cache", "result": "miss", "key": "k"}]
        return events + [{"cache": "fx_graph_cache", "result": "hit", "key": one} for one in keys]

    def of(keys, backward):
        return words.graphs_asked_for(answers(*keys), backward)

    assert of("ab", True) == ["", "forward", "backward"]
    assert of("aab", True) == ["", "forward", "forward", "backward"]
    assert of("ab", False) == of("aa", True) == ["", "", ""]
    assert of("abc", True) == [""] * 4


LISTS = """
class Log:
    def __init__(self):
        self.items = []
    def add(self, x):
        self.items.append(x)
    def last(self):
        return %s

def f(x, log):
    log.add(x)
    return x + log.last()
"""


@pytest.mark.parametrize(
    "read, begin",
    [("self.items[-1]", "end of a list"), ("len(self.items)", "length of a list")],
)
def test_a_list_that_grows_in_a_method_has_the_same_advice_as_one_in_the_function(
    tmp_path, read, begin
):
    program = tmp_path / "program.py"
    program.write_text(LISTS % read)
    found = words.of_reason("0/0: len(log.items) == 2  # self.items.append(x)")
    found.update(file=str(program), line=6, row="growing list", name="log.items")
    words.describe_methods(found, (str(program), 10))
    assert found["row"] == begin


def test_parts_that_call_each_other_in_a_circle_end_the_search_for_a_caller():
    run = {"functions": []}
    node = overview.Node(run, {"is_resume": True}, {"name": "a"}, "a")
    other = overview.Node(run, {"is_resume": True}, {"name": "b"}, "b")
    node.callers, other.callers = [other], [node]
    assert node.source_of_parameter("x") is None


def test_settings_of_a_dump_that_are_no_table_are_left_out():
    run = {"functions": []}
    entry = {"metrics": {"settings": "x"}, "reasons": ["0/0: tensor 'x' size mismatch at index 0"]}
    assert overview.Node(run, {}, entry, "a").reasons


@pytest.mark.parametrize(
    "guard, name",
    [
        ("pos != x.size()[1]", "pos"),
        ("max(1, x.size()[1]) != x.size()[0]", None),
        ("x.stride()[0] != x.size()[1]", None),
        ("x.storage_offset() != x.size()[0]", None),
    ],
)
def test_only_a_number_is_a_position_in_a_tensor(guard, name):
    from depyf.report.words import forms

    found = forms._filled(guard)
    assert (found and found["position"]) == name


def test_a_line_that_torch_recorded_is_no_more_than_that_where_it_lacks_the_value():
    found = {"name": "w", "words": "`w` did require grad, now does not", "source": 'print("in")'}
    assert words.guarded_at(found, "a.py:3") == (
        ', which torch first saw around a.py:3, `print("in")`'
    )
    found["source"] = "y = x @ w"
    assert words.guarded_at(found, "a.py:3") == ", guarded at a.py:3"
    found.update(name="___stack0", words="`y.size(0)` was 2, is 3", source="return y")
    assert words.guarded_at(found, "a.py:3") == ", guarded at a.py:3"


def test_modules_in_a_container_are_not_told_to_be_stacked():
    for sign in ("==", "!="):
        found = words.of_reason("0/0: len(self._modules['layer']._modules) %s 2" % sign)
        assert found["words"] == "`self._modules['layer']` had 2 modules, has another number"
        assert found["row"] == "number of modules"
        assert not any("stack" in one for one in found["help"])


def test_what_torch_tells_its_own_developers_is_left_out():
    said = (
        "Dynamo does not support next() on x. Add tp_iternext_impl to this VariableTracker subclass"
    )
    found = words.of_break({"reason": "Missing tp_something", "explanation": said})
    assert found["why"] == "Dynamo does not support next() on x."


def test_a_value_at_a_position_of_a_dict_is_written_as_a_program_would():
    name = "dict.__getitem__(L['outputs'], list(dict.keys(L['outputs']))[0])"
    said = words.of_reason("0/0: tensor '%s' size mismatch at index 1. expected 5, actual 1" % name)
    assert said["words"] == "`list(outputs.values())[0].size(1)` was 5, is 1"


def test_one_keyword_argument_is_counted_as_one():
    assert words.of_reason("0/0: len(L['kwargs']) == 1")["words"].startswith(
        "the call had 1 keyword argument, has"
    )


@pytest.mark.parametrize(
    "name, condition, told",
    [
        ("n", "2 <= n", "for which `2 <= n` holds"),
        ("___stack0", "2 <= ___stack0", "for which `2 <= kept` holds"),
        ("n", "(-0.05) + ___stack0 + n <= 0.5", "for which the code decides the same"),
        ("n", "%s >= 0.0" % " + ".join(["n*n"] * 20), "for which the code decides the same"),
    ],
)
def test_a_condition_on_numbers_is_told_in_short_and_in_names_of_the_program(name, condition, told):
    found = words.of_reason("0/0: %s == 1" % name)
    words.describe_any(found, guards=[condition])
    assert found["words"].endswith(told)


def test_what_a_caller_changes_is_said_of_the_choice_that_is_the_callers():
    found = {"own": "", "help": [], "patches": [""]}
    advice = "If it changes, make it a tensor, or keep it out of the compiled function."
    for text, told in (
        (advice, advice[:-1] + " and change it where `step` is called."),
        (
            "Pass a tensor.",
            "Pass a tensor. The caller passes it on: change it where `step` is called.",
        ),
    ):
        found.update(help=[text], patches=[""])
        words.describe_handed_on(found, "step")
        assert found["help"] == [told]


@pytest.mark.parametrize("backend, helped", [("inductor", True), ("aot_eager", False)])
def test_a_backend_that_the_advice_names_is_not_advised_where_it_failed(backend, helped):
    text = "BackendCompilerFailed: backend='%s' raised:\nRuntimeError: Please add one" % backend
    said = words.of_failure(text)
    assert bool(said["help"]) == helped
    assert "Please add one" in said["why"]


def test_what_torchs_caches_cannot_hold_is_not_said_to_be_in_them():
    metrics = {
        "duration_us": 9e6,
        "aot_autograd_cumulative_compile_time_us": 8e6,
        "inductor_cumulative_compile_time_us": 7e6,
    }

    def told(aot, graph, *stages, **more):
        events = [{"cache": "aotautograd_cache", "result": aot, "cache_bypass_reason": "no way"}]
        events.append({"cache": "fx_graph_cache", "result": graph})
        artifacts = [{"stage": one, "text": ""} for one in stages]
        entry = {"compile_id": "0/0", "name": "f", "metrics": metrics, "cache": events}
        entry = dict(entry, artifacts=artifacts, **more)
        found = overview.avoidable(overview.nodes_of([{"unattributed": [entry]}]))
        assert sum(row["seconds"] for row in found) <= 8.0
        return {row["what"]: row["seconds"] for row in found}

    missed = "graphs that were not in torch's caches"
    no_backward = "graphs that torch's cache does not keep, as no backward pass followed"
    compiled = ("Forward_graph", "Backward_graph", "AFTER_POST_GRAD")
    assert told("miss", "hit", *compiled) == {no_backward: 1.0}
    assert told("miss", "miss", *compiled) == {no_backward: 1.0, missed: 7.0}
    assert told("miss", "miss", *compiled, "AFTER_POST_GRAD") == {missed: 8.0}
    assert told("miss", "miss", *compiled, backward_metrics={"duration_us": 1}) == {missed: 8.0}
    assert told("miss", "miss", "Forward_graph", "AFTER_POST_GRAD") == {missed: 8.0}
    bypass = "compiles that aotautograd_cache could not keep"
    assert told("bypass", "miss", *compiled) == {bypass: 1.0, missed: 7.0}
    assert told("bypass", "hit", *compiled) == {bypass: 1.0}


def test_a_guard_that_torch_could_not_evaluate_is_told_as_such():
    told = words.of_reason("0/1: 'NoneType' object has no attribute 'size'")
    assert told["words"] == (
        "a guard of that compile asks for `size` of a value that is None now, and so could not be "
        "evaluated"
    )
    assert "is a list now" in words.of_reason("0/1: 'list' object has no attribute 'x'")["words"]
    assert not told["help"] and words.is_not_evaluated(told)
