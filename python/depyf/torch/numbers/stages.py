"""Runs a function at each stage of the compiler and compares."""

import contextlib
from typing import Any, Callable, List, Optional, Tuple

from depyf.torch import compat
from depyf.torch.numbers.nodes import differentiable, gradients_of, result_tensors, versions_of
from depyf.torch.numbers.partings import first_parting
from depyf.torch.numbers.recorded import (
    Measure,
    Outcome,
    Recorder,
    copy_of,
    differing_pairs,
    eager_calls,
)
from depyf.torch.numbers.results import Stage, StageComparison
from depyf.torch.state import OwnCompiles, State, fresh_function
from depyf.torch_wrappers import unwrapped

STAGES = ("eager", "captured graph", "AOT graph", "inductor")


def compare_stages(
    fn: Callable[..., Any],
    *args: Any,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    dynamic: Optional[bool] = None,
    backward: Optional[bool] = None,
    **kwargs: Any,
) -> StageComparison:
    """Runs a function eagerly, as captured graph, as AOT graph and by inductor, and finds where the
    stages part.

    Every stage starts from the same state, random numbers included (inductor uses torch's own
    generators for this), and the state is as before afterwards. Values of all nodes are kept until
    the comparison is done. The stages are compiled from scratch, without torch's caches.

    Example:
        >>> print(depyf.compare_stages(model, batch))

    Args:
        fn: a function or module, compiled or not.
        args, kwargs: its arguments.
        rtol, atol: tolerance; by default one that fits each dtype.
        dynamic: as for torch.compile.
        backward: whether to compare gradients; by default where the result requires them.
    Raises:
        ImportError: torch is not installed.
        Exception: what the function raises when it is run eagerly.
    """
    torch = compat.require_torch()
    target = unwrapped(fn)
    state = State(target, args, kwargs)
    leaves = state.leaves()
    measure = Measure(rtol, atol)
    outcomes: List[Outcome] = []
    comparison = StageComparison()
    with OwnCompiles() as own:
        for name in STAGES:
            outcome = Outcome(name)
            outcomes.append(outcome)
            try:
                with contextlib.ExitStack() as stack:
                    if name == "eager":
                        stack.enter_context(compat.eager())
                        stack.enter_context(eager_calls(outcome))
                        run = target
                    else:
                        recorder = Recorder(outcome)
                        backend = recorder.captured
                        if name != "captured graph":
                            stack.enter_context(compat.inductor_as_eager_random())
                            compile_inner = (
                                recorder.interpreted if name == "AOT graph" else recorder.generated
                            )
                            backend = recorder.lowered(compile_inner)
                        run = torch.compile(
                            fresh_function(target), backend=backend, dynamic=dynamic
                        )
                    _run_stage(outcome, run, args, kwargs, leaves, backward)
            except Exception as error:
                if name == "eager":
                    raise
                outcome.error = "%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0])
            finally:
                state.restore()
                own.forget()
            if name == "eager":
                comparison.result = outcome.raw
            first = outcomes[0]
            stage = Stage(name, outcome.count, error=outcome.error)
            if outcome.error is None:
                stage.difference = _largest(first, outcome, measure)
            comparison.stages.append(stage)
            previous = [one for one in outcomes[:-1] if one.error is None]
            if comparison.first is None and outcome.error is None and previous:
                comparison.first = first_parting(previous[-1], outcome, measure)
    return comparison


def _run_stage(
    outcome: Outcome,
    run: Callable[..., Any],
    args: Any,
    kwargs: Any,
    leaves: List[Tuple[str, Any]],
    backward: Optional[bool],
) -> None:
    versions = versions_of([leaf for _, leaf in leaves])
    gradients = [leaf.grad for _, leaf in leaves]
    grad_versions = versions_of(
        [one if one is not None else leaf for one, (_, leaf) in zip(gradients, leaves)]
    )
    result = run(*args, **kwargs)
    if outcome.name == "eager":
        outcome.raw = result
    outputs = differentiable(result)
    outcome.results = [copy_of(tensor) for tensor in result_tensors(result)]
    for (name, leaf), old, gradient, version in zip(leaves, versions, gradients, grad_versions):
        if versions_of([leaf])[0] != old:
            outcome.effects[name] = copy_of(leaf)
        if leaf.grad is not None and (
            leaf.grad is not gradient or versions_of([leaf.grad])[0] != version
        ):
            outcome.gradients[name + ".grad"] = copy_of(leaf.grad)
    if backward is not False and outputs:
        outcome.gradients.update(
            (name, copy_of(gradient)) for name, gradient in gradients_of(outputs, leaves).items()
        )


def _largest(one: Outcome, other: Outcome, measure: Measure) -> float:
    return max([measure(a, b)[0] for _, _, a, b in differing_pairs(one, other)] or [0.0])
