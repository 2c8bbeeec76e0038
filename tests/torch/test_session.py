"""prepare_debug and capture as blocks: nesting, threads, failures, names, folders, and what they
leave behind.
"""

import gc
import io
import json
import logging
import os
import re
import threading
import types
import warnings
import weakref

import depyf
import pytest
import torch
from processes import function_of
from depyf import dumped
from depyf.torch import DepyfWarning, compat
from depyf.torch.capture.hub import hub
from programs import TORCH, readme_of


def double(x):
    return x * 2


def broken(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x * 2


def compiled(function):
    return torch.compile(function, backend="eager")


def test_capture_gives_everything_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with depyf.capture() as run:
        compiled(broken)(torch.ones(3))
    assert [function.name for function in run.functions][0] == "broken"
    entry = run.function("broken").entries[0]
    assert (
        entry.source
        and entry.guards
        and entry.graphs["Captured_Graph"].startswith("class GraphModule")
    )
    assert entry.breaks and entry.verdict in ("exact", "equivalent")
    assert not entry.replaced
    assert entry.graph_module is not None and entry.guard_manager is not None
    assert os.listdir(str(tmp_path)) == []
    assert "def broken" in run.function("broken").source


def test_a_captured_run_can_be_dumped(tmp_path):
    with depyf.capture() as run:
        compiled(broken)(torch.ones(3))
    folder = run.dump(str(tmp_path / "dump"))
    assert "full_code_for_broken_0.py" in os.listdir(folder)
    assert [name for name in os.listdir(folder) if name.endswith(".Captured_Graph.0.py")]
    again = run.dump(str(tmp_path / "again"))
    assert sorted(os.listdir(again)) == sorted(os.listdir(folder))


@pytest.mark.parametrize(
    "file, kind",
    [
        ("full_code_for_broken_0.py", "full code"),
        ("depyf.json", "depyf.json"),
        ("README.md", "README.md"),
        ("index.html", "index.html"),
        ("Captured_Graph.tables.txt", "Captured_Graph.tables.txt"),
    ],
)
def test_a_dump_of_a_captured_run_raises_where_it_is_not_whole(tmp_path, monkeypatch, file, kind):
    from depyf import files

    with depyf.capture() as run:
        compiled(broken)(torch.ones(3))

    def failing(call, at):
        def full(*arguments, **keywords):
            if os.path.basename(str(arguments[at])) == file:
                raise OSError(28, "No space left on device")
            return call(*arguments, **keywords)

        return full

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "replace", failing(files.os.replace, 1))
        patched.setattr(files.io, "open", failing(files.io.open, 0))
        with pytest.raises(OSError, match="No space left on device; missing: " + kind) as caught:
            run.dump(str(tmp_path / "dump"))
    assert str(tmp_path / "dump") in str(caught.value)
    # what was not written there is nothing that a later dump lacks
    again = run.dump(str(tmp_path / "again"))
    assert file in os.listdir(again) and "depyf.json" in os.listdir(again)


def test_unknown_function_names_those_that_are_there():
    with depyf.capture() as run:
        compiled(double)(torch.ones(3))
    with pytest.raises(KeyError, match="double"):
        run.function("nothing")


def test_block_can_be_entered_and_left_by_hand(tmp_path):
    manager = depyf.prepare_debug(str(tmp_path / "dump"))
    manager.__enter__()
    compiled(double)(torch.ones(3))
    manager.__exit__(None, None, None)
    assert (tmp_path / "dump" / "full_code_for_double_0.py").exists()
    assert json.loads((tmp_path / "dump" / "depyf.json").read_text())["open"] is False


def test_nothing_stays_attached():
    from torch._dynamo import convert_frame

    trace = logging.getLogger("torch.__trace")
    handlers, hooks = list(trace.handlers), list(convert_frame._bytecode_hooks.values())
    loggers = [trace, *compat.artifact_loggers().values()]
    before = [(logger.level, list(logger.filters)) for logger in loggers]
    with depyf.capture():
        if compat.trace_logger() is not None:
            assert len(trace.handlers) == len(handlers) + 1
        assert all(logger.filters for logger in loggers[1:])
        assert len(convert_frame._bytecode_hooks) == len(hooks) + 1
    assert trace.handlers == handlers
    assert [(logger.level, list(logger.filters)) for logger in loggers] == before
    assert list(convert_frame._bytecode_hooks.values()) == hooks


def test_nested_blocks_each_get_everything(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "outer")) as outer:
        with depyf.prepare_debug(str(tmp_path / "inner")) as inner:
            result = compiled(double)(torch.ones(3))
        compiled(broken)(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 2.0))
    assert [function.name for function in inner.functions] == ["double"]
    assert [function.name for function in outer.functions][:2] == ["double", "broken"]
    assert inner.functions[0].entries[0].replaced and not outer.functions[0].entries[0].replaced
    for folder in ("outer", "inner"):
        assert (tmp_path / folder / "__transformed_code_0_for_double.py").exists()
        assert (tmp_path / folder / "full_code_for_double_0.py").exists()


def test_blocks_may_be_left_in_any_order(tmp_path):
    first, second = (
        depyf.prepare_debug(str(tmp_path / "first")),
        depyf.prepare_debug(str(tmp_path / "second")),
    )
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    compiled(double)(torch.ones(3))
    second.__exit__(None, None, None)
    assert (tmp_path / "second" / "full_code_for_double_0.py").exists()
    assert not (tmp_path / "first" / "full_code_for_double_0.py").exists()


def test_the_same_block_cannot_be_entered_twice(tmp_path):
    block = depyf.prepare_debug(str(tmp_path / "dump"))
    with block, pytest.raises(RuntimeError, match="already open"):
        block.__enter__()


def test_an_exception_passes_through_and_the_dump_is_whole(tmp_path):
    with pytest.raises(ZeroDivisionError), depyf.prepare_debug(str(tmp_path / "dump")):
        compiled(double)(torch.ones(3))
        1 / 0
    names = os.listdir(str(tmp_path / "dump"))
    assert "full_code_for_double_0.py" in names and not [
        name for name in names if name.startswith(".depyf-")
    ]


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(DepyfWarning, match="cannot write to") as caught:
        with depyf.prepare_debug(str(tmp_path / "file" / "dump")) as run:
            result = compiled(double)(torch.ones(3))
    assert len(caught) == 1
    assert torch.equal(result, torch.full((3,), 2.0))
    assert run.functions[0].entries[0].source
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_disk_that_fills_is_one_warning_and_rows(tmp_path, monkeypatch):
    from depyf import files

    real = open

    def full(path, *arguments, **keywords):
        real(path, *arguments, **keywords).close()
        raise OSError(28, "No space left on device")

    with pytest.warns(DepyfWarning) as caught:
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            monkeypatch.setattr(files.io, "open", full)
            result = compiled(double)(torch.ones(3))
        monkeypatch.undo()
    assert torch.equal(result, torch.full((3,), 2.0))
    assert len([one for one in caught if "No space left" in str(one.message)]) == 1
    assert [problem for problem in run.problems if "No space left" in problem.message]
    assert not [name for name in os.listdir(str(tmp_path / "dump")) if name.startswith(".depyf-")]


def test_a_block_that_waits_for_a_backward_takes_no_other_compile(tmp_path):
    def loss_of(x):
        return (x * 2).sin().sum()

    def other(x):
        y = (x + 3).cos().sum()
        torch._dynamo.graph_break()
        return y * 2

    def known(run):
        return [
            (entry.compile_id, len(entry.artifacts), len(entry.breaks)) for entry in run.entries()
        ]

    with depyf.prepare_debug(str(tmp_path / "dump"), caches=False) as run:
        loss = torch.compile(loss_of)(torch.ones(3, requires_grad=True))
    seen = known(run)
    assert len(seen) == 1
    torch.compile(other)(torch.ones(3))
    assert known(run) == seen
    loss.backward()
    assert [one[0] for one in known(run)] == [one[0] for one in seen]
    if TORCH < (2, 4):  # which does not tell of which compile it is
        assert known(run) == seen and not hub._lingering
    else:
        assert known(run)[0][1] > seen[0][1]


def test_a_program_s_own_io_open_is_not_called(tmp_path, monkeypatch):
    def forbidden(*arguments, **keywords):
        raise PermissionError("no file is opened here")

    with warnings.catch_warnings():
        warnings.simplefilter("error", DepyfWarning)
        monkeypatch.setattr(io, "open", forbidden)
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            compiled(double)(torch.ones(3))
        monkeypatch.undo()
    assert not run.problems
    assert (tmp_path / "dump" / "index.html").stat().st_size > 1000


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "a" * 300,
        "<lambda>",
        "naïve_é",
        "a/b\\c:d",
        "0digit",
        "",
        "CON",
        "a\nb",
        'q"""q',
        "\\",
    ],
)
def test_hostile_names_stay_in_the_folder(tmp_path, name):
    hostile = type(double)(double.__code__.replace(co_name=name), globals())
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        result = compiled(hostile)(torch.ones(3))
    assert torch.equal(result, torch.full((3,), 2.0))
    assert os.listdir(str(tmp_path)) == ["dump"]
    found = os.listdir(str(tmp_path / "dump"))
    assert [one for one in found if one.startswith("__transformed_code_0_for_")]
    full = [one for one in found if one.startswith("full_code_for_")]
    assert len(full) == 1
    compile((tmp_path / "dump" / full[0]).read_text(encoding="utf-8"), full[0], "exec")
    assert run.functions[0].name == name
    assert run.problems == []


def test_two_functions_of_one_name_get_two_numbers(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")):
        for factor in (2, 3):
            compiled(function_of("def same(x):\n    return x * %d\n" % factor, "same"))(
                torch.ones(3)
            )
    names = os.listdir(str(tmp_path / "dump"))
    for number in (0, 1):
        assert "full_code_for_same_%d.py" % number in names
        assert "__transformed_code_%d_for_same.py" % number in names


def test_an_earlier_dump_is_replaced_and_other_files_are_not(tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "__compiled_fn_999999.Captured_Graph.0.py").write_text("old")
    (folder / "full_code_for_old_0.py").write_text("old")
    (folder / "notes.txt").write_text("mine")
    with depyf.prepare_debug(str(folder)):
        compiled(double)(torch.ones(3))
    names = os.listdir(str(folder))
    assert "notes.txt" in names and "full_code_for_double_0.py" in names
    assert (
        "__compiled_fn_999999.Captured_Graph.0.py" not in names
        and "full_code_for_old_0.py" not in names
    )


def test_an_earlier_dump_can_be_kept(tmp_path):
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "full_code_for_old_0.py").write_text("old")
    with depyf.prepare_debug(str(folder), existing="number") as run:
        compiled(double)(torch.ones(3))
    assert os.listdir(str(folder)) == ["full_code_for_old_0.py"]
    assert run.folder == str(tmp_path / "dump_2")


def test_blocks_of_one_process_share_a_folder(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")):
        compiled(double)(torch.ones(3))
    with depyf.prepare_debug(str(tmp_path / "dump")):
        compiled(broken)(torch.ones(3))
    names = os.listdir(str(tmp_path / "dump"))
    assert "full_code_for_double_0.py" in names and "full_code_for_broken_0.py" in names


def test_dynamo_reset_starts_ids_again_and_mixes_nothing():
    from torch._dynamo import convert_frame

    with depyf.capture() as run:
        compiled(double)(torch.ones(3))
        torch._dynamo.reset()
        restarted = convert_frame.FRAME_COUNTER == 0
        compiled(broken)(torch.ones(3))
    ids = [run.function(name).entries[0].compile_id for name in ("double", "broken")]
    assert ids == ["0/0", "0/0"] if restarted else ids[0] != ids[1]
    assert "* 2" in run.function("double").entries[0].graphs["Captured_Graph"]
    assert "+ 1" in run.function("broken").entries[0].graphs["Captured_Graph"]
    assert run.unattributed == []


def test_other_hooks_in_the_chain_keep_working(tmp_path):
    from torch._dynamo.convert_frame import register_bytecode_hook

    seen = []

    def before(code, new_code):
        seen.append(("before", new_code))

    def after(code, new_code):
        seen.append(("after", new_code))
        return new_code

    first = register_bytecode_hook(before)
    try:
        with depyf.prepare_debug(str(tmp_path / "dump")) as run:
            second = register_bytecode_hook(after)
            try:
                result = compiled(double)(torch.ones(3))
            finally:
                second.remove()
    finally:
        first.remove()
    assert torch.equal(result, torch.full((3,), 2.0))
    entry = run.functions[0].entries[0]
    assert [name for name, _ in seen] == ["before", "after"]
    assert seen[1][1] is entry.code and seen[0][1] is not entry.code


def test_threads_are_told_apart():
    results, errors = {}, []

    def work(number):
        def function(x):
            return x + number

        try:
            results[number] = torch.compile(function, backend="eager")(torch.zeros(2))
        except Exception as error:  # pragma: no cover
            errors.append(error)

    with depyf.capture() as run:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    for number, result in results.items():
        assert torch.equal(result, torch.full((2,), float(number)))
    assert len([entry for entry in run.entries() if entry.graphs]) == 4


def test_nothing_is_kept_alive(tmp_path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(x)

    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        model = Model()
        torch.compile(model, backend="eager")(torch.ones(2))
        alive = weakref.ref(model)
        graph = run.functions[0].entries[0]._graph_module
        assert graph.get() is not None
    del model
    torch._dynamo.reset()
    gc.collect()
    assert alive() is None
    assert graph.get() is None
    assert run.functions[0].entries[0].code is None
    assert run.functions[0].entries[0].guards and run.functions[0].entries[0].source


def test_a_model_that_dies_inside_the_block_still_has_its_guards():
    with depyf.capture() as run:

        def local(x):
            return x + 1

        torch.compile(local, backend="eager")(torch.ones(2))
        del local
        torch._dynamo.reset()
        gc.collect()
    guards = run.function("local").entries[0].guards
    assert any("check_tensor(L['x']" in guard.text for guard in guards)


def test_recompiles_have_their_reasons(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        function = compiled(double)
        function(torch.ones(3))
        function(torch.ones(3, dtype=torch.float64))
    entries = run.function("double").entries
    assert [entry.index for entry in entries] == [0, 1]
    assert any("dtype" in reason for reason in entries[1].reasons)
    text = (tmp_path / "dump" / "full_code_for_double_0.py").read_text()
    said = re.search(r"^- (compiled again because: .*)$", readme_of(tmp_path / "dump"), re.M)
    assert said.group(1) in " ".join(text.replace("\n#", "").split())
    assert "User stack trace" not in text and "HINT" not in text
    assert all(len(line) <= 100 for line in text.splitlines() if line.startswith("# compiled"))


def test_training_has_its_graphs_and_figures(tmp_path):
    def loss(x):
        return (x * 3).sin().sum()

    with depyf.prepare_debug(str(tmp_path / "dump")) as run:
        torch.compile(loss, backend="aot_eager")(torch.ones(3, requires_grad=True)).backward()
    entry = run.function("loss").entries[0]
    for stage in ("Captured_Graph", "Joint_graph", "Forward_graph", "Backward_graph"):
        assert entry.graphs[stage].count("def forward(") == 1, stage
    called = {stage: re.findall(r"\.(sin|cos)\b", text) for stage, text in entry.graphs.items()}
    assert "cos" in called["Backward_graph"] and "cos" not in called["Captured_Graph"]
    assert entry.metrics["co_name"] == "loss" and entry.metrics["graph_op_count"] >= 3
    assert entry.finished and not entry.failure
    assert run.unattributed == []


def test_a_failing_backend_is_the_users_exception(tmp_path):
    def backend(module, inputs):
        raise ValueError("from the backend")

    def plain():
        return torch.compile(double, backend=backend)(torch.ones(3))

    with pytest.raises(Exception) as without:
        plain()
    torch._dynamo.reset()
    with pytest.raises(Exception) as within, depyf.prepare_debug(str(tmp_path / "dump")) as run:
        plain()
    assert type(within.value) is type(without.value)
    assert run.unattributed[0].failure
    assert [name for name in os.listdir(str(tmp_path / "dump")) if ".Captured_Graph." in name]


def test_a_failure_names_the_operation_of_the_graph_and_its_line(tmp_path):
    class Picky(torch.fx.Interpreter):
        def run_node(self, n):
            if "relu" in str(n.target):
                raise TypeError("not this one")
            return super().run_node(n)

    def backend(module, inputs):
        Picky(module).run(*inputs)
        return module

    def activated(x):
        y = double(x)
        return torch.relu(y)

    with pytest.raises(Exception), depyf.prepare_debug(str(tmp_path)) as run:
        torch.compile(activated, backend=backend)(torch.ones(3))
    (entry,) = run.unattributed
    assert entry.failure_operation == "torch.relu"
    assert any("return torch.relu(y)" in line for line in entry.failure_stack)
    page = (tmp_path / "index.html").read_text()
    assert "ended the call" in page and "not compiled</a>" not in page
    torch._dynamo.reset()
    with torch._dynamo.config.patch(suppress_errors=True), depyf.capture() as run:
        assert torch.compile(activated, backend=backend)(torch.ones(3)).sum() == 6
    assert run.unattributed[0].failure_operation == "torch.relu"


def test_explain_call_returns_the_run_and_the_result():
    run = depyf.explain_call(broken, torch.ones(3))
    assert torch.equal(run.result, broken(torch.ones(3)))
    assert run.function("broken").entries


def test_log_bytecode_writes_the_disassembly(tmp_path):
    with depyf.prepare_debug(str(tmp_path / "dump"), log_bytecode=True):
        compiled(double)(torch.ones(3))
    text = (tmp_path / "dump" / "__transformed_code_0_for_double.txt").read_text()
    assert "ORIGINAL BYTECODE" in text and "RETURN_VALUE" in text and "__compiled_fn" in text


def test_install_prints_source_after_the_bytecode(run_script):
    done = run_script(
        "import depyf, torch\n"
        "depyf.install()\n"
        "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
        "depyf.uninstall()\n"
        "torch._dynamo.reset()\n"
        "torch.compile(lambda x: x + 2, backend='eager')(torch.ones(2))\n",
        TORCH_LOGS="+bytecode",
    )
    assert done.stderr.count("possible source code:") == 1
    assert done.stderr.index("MODIFIED BYTECODE") < done.stderr.index("possible source code:")
    assert "__compiled_fn" in done.stderr.partition("possible source code:")[2]


def test_warnings_as_errors_do_not_reach_the_program(tmp_path):
    (tmp_path / "file").write_text("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with depyf.prepare_debug(str(tmp_path / "file" / "dump")):
            compiled(double)(torch.ones(3))


def test_what_torch_logs_stands_in_for_the_trace():
    from depyf.trace.breaks import parse_break
    from depyf.trace.logged import read_logged

    graph = "TRACED GRAPH\n ===== %s =====\n <eval_with_key>.3 class GraphModule(torch.nn.Module):\n    pass\n"
    for name, record in (
        ("__compiled_fn_0", "dynamo_output_graph"),
        ("Joint graph 0", "aot_joint_graph"),
        ("Forward graph 0", "aot_forward_graph"),
        ("Backward graph 0", "aot_backward_graph"),
        ("something else", ""),
    ):
        found, text = read_logged("graph_code", graph % name)
        assert found == record
        assert not record or text == "class GraphModule(torch.nn.Module):\n    pass\n"
    assert read_logged("output_code", "Output code: \nimport torch\n") == (
        "inductor_output_code",
        "import torch\n",
    )
    assert read_logged("output_code", "Output code written to: /tmp/x.py")[0] == ""
    wrapped = graph.replace(
        "eval_with_key>.3 ", "eval_with_key>.3 from /a/class b.py:98 in wrapped "
    )
    assert read_logged("aot_joint_graph", wrapped % "Joint graph 0")[1].startswith(
        "class GraphModule("
    )
    split = "\n---orig graph---\ngraph()\n\n---split graph---\ngraph()\n"
    assert read_logged("ddp_graphs", split) == ("optimize_ddp_split_graph", split.strip() + "\n")
    assert read_logged("ddp_graphs", "\n---final graph---\ngraph()\n")[0] == ""
    text = (
        'Graph break: call print {} from user code at:\n  File "a.py", line 3, in f\n    print(x)\n'
    )
    assert read_logged("graph_breaks", text) == ("dynamo_graph_break_reason", text)
    raised = "Graph break in user code at a.py:3\nTraceback (most recent call last):\ntorch._dynamo.exc.Unsupported: call print\n"
    assert parse_break(raised, 0).reason == "call print"
    for reason, name in (
        ("Unsupported: call print", "call print"),
        ("Data-dependent jump", "Data-dependent branching"),
    ):
        told = (
            'Graph break in user code at a.py:3\nReason: %s\nUser code traceback:\n  File "a.py", line 3, in f\n'
            % reason
        )
        assert (parse_break(told, 0).reason, parse_break(told, 0).location) == (name, "a.py:3")
    found = parse_break(text, 0)
    assert (found.reason, found.location) == ("call print {}", "a.py:3")
    assert found.user_stack == ['File "a.py", line 3, in f', "  print(x)"]


def test_paths_with_line_breaks_are_whole_in_what_torch_tells_of_a_break():
    from depyf.trace.frames import parse_place
    from depyf.trace.breaks import parse_break

    frames = ['File "/a\nb.py", line 7, in main', '  File "x"', 'File "c.py", line 2, in f']
    stack = "".join("  %s\n" % frame for frame in frames)
    for reason in ("Graph Break Reason: call print", "Reason: call print"):
        told = "Graph break in user code at /a\nb.py:5\n%s\nUser code traceback:\n%s" % (
            reason,
            stack,
        )
        found = parse_break(told, 0)
        assert (found.location, found.reason, found.user_stack) == (
            "/a\nb.py:5",
            "call print",
            frames,
        )
    assert parse_place("/a\nb.py:5") == ("/a\nb.py", 5)
    assert parse_place("/a\nb.py:5 in f: x") == ("/a\nb.py", 5)
    assert parse_place(frames[0]) == ("/a\nb.py", 7)
    assert parse_place("no place\nbut here: 7\nx:3, y") is None


def traced_kinds(monkeypatch):
    """The kinds of trace records that reach depyf."""
    import sys

    from depyf.trace.vocabulary import record_kind

    hub, seen = sys.modules["depyf.torch.capture"].Hub, []
    real = hub.traced

    def spy(self, record):
        seen.append(record_kind(record.metadata))
        real(self, record)

    monkeypatch.setattr(hub, "traced", spy)
    return seen


needs_trace = pytest.mark.skipif(
    compat.trace_logger() is None, reason="this torch has no structured trace"
)


@needs_trace
def test_records_that_nobody_reads_are_not_computed(run_script):
    # in a process of its own: pytest listens to every logger
    run_script(
        """
import logging, torch, depyf, depyf.torch
import sys
capture = sys.modules["depyf.torch.capture"]
seen, real = [], capture.Hub._told
def spy(self, kind, metadata, made):
    seen.append(kind)
    real(self, kind, metadata, made)
capture.Hub._told = spy
with depyf.capture() as run:
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
assert "dynamo_output_graph" in seen and "compilation_metrics" in seen, seen
assert "describe_tensor" not in seen and "describe_storage" not in seen, seen
assert list(run.entries())[0].graphs
assert logging.getLogger("torch.__trace").handlers == []
"""
    )


@needs_trace
@pytest.mark.parametrize("listener", ["", "trace.addHandler(logging.NullHandler())"])
@pytest.mark.parametrize(
    "change",
    [
        "logging.disable(logging.CRITICAL)",
        "logging.config.dictConfig({'version': 1})",  # disables the loggers that there are
        "trace.addFilter(lambda record: False)",
        "trace.setLevel(logging.ERROR)",
    ],
)
def test_logging_that_hands_on_no_record_of_the_trace_changes_no_capture(
    run_script, change, listener
):
    # in a process of its own: torch's handler of the trace leaves at its first record
    run_script(
        """
import logging.config, torch, depyf
trace = logging.getLogger("torch.__trace")
%s
%s
with depyf.capture() as run:
    function = torch.compile(lambda x, n: (x + n).sin(), backend="eager")
    function(torch.ones(3), 2)
    function(torch.ones(3), 3)
first, second = run.entries()
assert [len(entry.graphs) for entry in (first, second)] == [1, 1]
assert second.reasons and not first.reasons
assert not run.problems, run.problems
"""
        % (listener, change)
    )


@pytest.mark.skipif(compat.trace_logger() is not None, reason="this torch traces what it logged")
def test_disabled_logging_changes_no_capture_where_torch_only_logs(run_script):
    run_script(
        """
import logging, torch, depyf
logging.disable(logging.CRITICAL)
with depyf.capture() as run:
    torch.compile(lambda x: (x + 1).sin(), backend="eager")(torch.ones(3))
(entry,) = run.entries()
assert entry.graphs and entry.guards, entry
assert entry.metrics["graph_op_count"] == 2, entry.metrics
assert not run.problems, run.problems
"""
    )


@needs_trace
def test_another_listener_of_the_trace_gets_every_record(monkeypatch):
    seen, heard = traced_kinds(monkeypatch), []

    class Listener(logging.Handler):
        def emit(self, record):
            heard.append(sorted(record.metadata))

    trace, listener = logging.getLogger("torch.__trace"), Listener()
    with depyf.capture():
        trace.addHandler(listener)
        compiled(double)(torch.ones(3))
    compiled(broken)(torch.ones(3))
    assert listener in trace.handlers and type(trace.handlers) is list
    trace.removeHandler(listener)
    kinds = {name for names in heard for name in names}
    assert {"describe_tensor", "dynamo_output_graph"} <= kinds
    assert "describe_tensor" in seen
    assert len(heard) > len(seen)


@pytest.mark.parametrize("kind", ["capture", "prepare_debug", "expect"])
def test_a_block_within_a_compiled_function_warns_of_nothing(tmp_path, kind):
    runs, expect = [], depyf.expect  # torch 2.2 knows no names that a module makes when asked

    def program(x):
        y = x + 1
        if kind == "capture":
            block = depyf.capture()
        elif kind == "prepare_debug":
            block = depyf.prepare_debug(tmp_path)
        else:
            block = expect()
        with block as run:
            runs.append(run)
            z = compiled(double)(y)
        return z * 3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        have = torch.compile(program, backend="eager")(torch.ones(3))
    assert torch.equal(have, double(torch.ones(3) + 1) * 3)
    names = [function.name for function in runs[0].functions]
    if TORCH < (2, 6):  # it looks at each function that the block calls
        names = [name for name in names if name != "compiled"]
    assert names[:1] == ["double"]


def test_a_block_that_expects_no_breaks_tells_of_each():
    torch._dynamo.reset()
    with depyf.expect(breaks=1, recompiles=0):
        compiled(broken)(torch.ones(3))
    torch._dynamo.reset()
    function = compiled(broken)
    with pytest.raises(AssertionError) as raised:
        with depyf.expect(breaks=0, recompiles=0):
            function(torch.ones(3))
            function(torch.ones(3).double())
    text = str(raised.value)
    assert "2 graph breaks at 1 line, 0 allowed" in text and "broken" not in text.split(":")[0]
    assert "graph_break()" in text and "help: Remove that call." in text
    assert "recompiles, 0 allowed" in text and "float32, is float64" in text
    assert "is torch's number of a compile: function" in text.splitlines()[-1]
    assert raised.value.run.functions
    with pytest.raises(ZeroDivisionError):  # what the block raises is not hidden
        with depyf.expect(breaks=0):
            compiled(broken)(torch.ones(4, 4))
            1 / 0


def test_an_open_block_can_be_read_and_says_what_the_run_says(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    folder = tmp_path / "dump"

    def broken(x):
        y = (x * weight).sin()
        if y.sum() > 0:
            y = y * 2
        return y

    def without_times(document):
        for function in document["functions"]:
            for entry in function["entries"]:
                del entry["events"]  # torch tells of the end of a compile behind it
                del entry["guards"]  # the run has them when the block ends
            assert function["entries"]
        return {
            key: document[key] for key in ("functions", "unattributed", "problems", "torch_version")
        }

    def agree(run):
        read = dumped.load(str(folder))
        assert read["open"] is True and read["finished"] is None
        guards = [entry["guards"] for one in read["functions"] for entry in one["entries"]]
        assert all(guards) or not any(entry.guard_tree for entry in run.entries())
        assert without_times(read) == without_times(json.loads(run.dumps()))

    with depyf.prepare_debug(str(folder), page=False) as run:
        with pytest.raises(dumped.DumpError, match="holds no compile"):
            dumped.load(str(folder))
        compiled = torch.compile(broken, backend="aot_eager")
        for size in (3, 1):  # the second is compiled again
            result = compiled(torch.ones(size))
            agree(run)
            result.sum().backward()  # changes an entry that was complete
        with depyf.prepare_debug(str(folder), page=False):  # sees no more than the one around it
            torch.compile(lambda x: x.cos() + 1, backend="eager")(torch.ones(3))
        assert dumped.load(str(folder))["open"] is False
        journal = folder / "depyf.1.jsonl"
        size = journal.stat().st_size
        torch.compile(lambda x: x.cos() + 2, backend="eager")(torch.ones(3))
        grown = journal.read_bytes()[size:]  # the one compile alone, however many there were
        assert [json.loads(line).get("entry") for line in grown.splitlines()][-1] is not None
        assert 0 < len(grown) < 25000 and grown.count(b"\n") <= 4
    assert not journal.exists() and dumped.load(str(folder))["open"] is False


def test_a_dump_without_a_page_gets_it_from_the_report(tmp_path):
    pytest.importorskip("jinja2")
    from depyf import report

    folder = tmp_path / "dump"
    with depyf.prepare_debug(str(folder), page=False):
        torch.compile(lambda x: x.cos() + 1, backend="eager")(torch.ones(3))
    assert not (folder / "index.html").exists() and (folder / "depyf.json").exists()
    assert "x.cos() + 1" in report.build(folder).read_text()


def test_a_dumped_file_says_where_the_code_of_its_resume_functions_is(tmp_path):
    def parted(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    with depyf.prepare_debug(str(tmp_path)):
        torch.compile(parted, backend="eager")(torch.ones(3))
    (text,) = [
        path.read_text() for path in tmp_path.glob("__transformed_code_0_for_parted.py")
    ] or [
        path.read_text()
        for path in tmp_path.glob("__transformed_code_0_for_*_parted.py")
        if "resume" not in path.name
    ]
    name = re.search(r"return (__resume_at_\w+)\(", text).group(1)
    comment = text[text.index("# " + name) :].replace("\n# ", " ")
    assert "resumed after line %d" % (parted.__code__.co_firstlineno + 2) in comment
    pattern = re.search(r"Its code is in (\S+\.py)\.", comment).group(1)
    assert len(list(tmp_path.glob(pattern))) == 1


def test_a_torch_without_regions_lacks_nothing(monkeypatch):
    from torch.fx import traceback

    from depyf.torch.compat import probes, unavailable
    from depyf.torch.compat.records import surroundings_of

    monkeypatch.delattr(traceback, "_get_regional_inductor_subgraph_name", raising=False)
    monkeypatch.setattr(probes, "_found", {})
    monkeypatch.setattr(probes, "_unavailable", {})
    assert surroundings_of(types.SimpleNamespace(compile_id=None)) == {}
    assert unavailable() == {}
