"""One model in one way: plain torch.compile, then the same inside depyf.prepare_debug, and what
differs.
"""

import contextlib
import copy
import json
import math
import os
import random
import tempfile
import time
import warnings

import torch

#: name -> (training, backend, form of breaks in the source, what else)
WAYS = {
    "inference": (False, "eager", None, "two_batches"),
    "training": (True, "eager", None, ""),
    "aot_eager": (True, "aot_eager", None, ""),
    "inductor": (True, "inductor", None, ""),
    "first layers": (False, "eager", None, "first"),
    "first layers, training": (True, "eager", None, "first"),
    "hooks": (False, "eager", None, "hooks"),
    "statements": (False, "eager", "statements", ""),
    "statements, training": (True, "eager", "statements", ""),
    "operands": (False, "eager", "operands", ""),
    "operands, training": (True, "eager", "operands", ""),
    "contexts": (False, "eager", "statements", "contexts"),
    "nested breaks": (False, "eager", "statements", "nested"),
}
#: How many leaf modules break the graph in the ways `first layers`.
FIRST = 3
PROVEN = ("identical", "exact", "equivalent")


def seed():
    random.seed(0)
    torch.manual_seed(0)
    try:
        import numpy

        numpy.random.seed(0)
    except ImportError:
        pass


def equal(one, other):
    """Whether two results are the same to the last bit, in type, shape and everything inside."""
    pending = [(one, other)]
    seen = set()
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, torch.Tensor):
            same = a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
            if not same or not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)):
                return False
            if a.is_floating_point() and not torch.equal(a.isnan(), b.isnan()):
                return False
        elif isinstance(a, dict):
            if list(a) != list(b):
                return False
            pending += [(a[key], b[key]) for key in a]
        elif isinstance(a, (list, tuple)):
            if len(a) != len(b):
                return False
            pending += list(zip(a, b))
        elif isinstance(a, (bool, int, str, type(None))):
            if a != b:
                return False
        elif isinstance(a, float):
            if a != b and not (math.isnan(a) and math.isnan(b)):
                return False
        elif hasattr(a, "__dict__") and id(a) not in seen:  # caches of keys and values
            seen.add(id(a))
            if type(a).__module__.startswith(("transformers.cache_utils", "transformers.models")):
                pending.append((dict(vars(a)), dict(vars(b))))
    return True


def scalar(result):
    """One number that depends on every floating-point tensor in a result."""
    loss = getattr(result, "loss", None)
    if isinstance(loss, torch.Tensor) and loss.requires_grad:
        return loss.sum()
    total = 0.0
    pending = [result]
    while pending:
        item = pending.pop()
        if isinstance(item, torch.Tensor):
            if item.is_floating_point() and item.requires_grad:
                total = total + item.float().mean()
        elif isinstance(item, dict):
            pending += list(item.values())
        elif isinstance(item, (list, tuple)):
            pending += list(item)
    return total


def breaking_hook(module, arguments, result):
    torch._dynamo.graph_break()
    return result


def printing_hook(module, arguments):
    print(end="")


class Case:
    """A model with its inputs and the state to which it is put back before each run."""

    def __init__(self, model, way):
        self.training, self.backend, _form, self.extra = WAYS[way]
        seed()
        self.module = model.build().train(self.training)
        batches = (2, 3) if self.extra == "two_batches" else (2,)
        self.inputs = [model.inputs(batch) for batch in batches]
        leaves = [part for part in self.module.modules() if not list(part.children())]
        if self.extra == "first":
            for part in leaves[:FIRST]:
                part.register_forward_hook(breaking_hook)
        if self.extra == "hooks":
            for number, part in enumerate(leaves):
                if number % 2:
                    part.register_forward_pre_hook(printing_hook)
                else:
                    part.register_forward_hook(breaking_hook)
        self.state = copy.deepcopy(self.module.state_dict())

    def function(self):
        module = self.module
        if self.extra == "contexts":

            def call(**inputs):
                with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                    result = module(**inputs)
                return result

            return call
        return module

    def run(self):
        """Results, gradients and buffers, or the exception that the program sees, of one cold run."""
        torch._dynamo.reset()
        self.module.load_state_dict(self.state)
        self.module.zero_grad()
        seed()
        found = []
        try:
            compiled = torch.compile(self.function(), backend=self.backend)
            for inputs in self.inputs:
                inputs = copy.deepcopy(inputs)
                with contextlib.ExitStack() as stack:
                    if not self.training and self.extra != "contexts":
                        stack.enter_context(torch.no_grad())
                    result = compiled(**inputs)
                found.append(result)
                if self.training:
                    scalar(result).backward()
            if self.training:
                found.append([part.grad for part in self.module.parameters()])
            found.append({name: part.clone() for name, part in self.module.named_buffers()})
        except Exception as error:
            return None, "%s: %s" % (type(error).__name__, str(error).strip()[:300])
        return found, None


def unpacked(found):
    """Results without the classes of transformers, which hide what is in them behind attributes."""
    if isinstance(found, dict):
        return {key: unpacked(value) for key, value in found.items()}
    if type(found) in (list, tuple):
        return [unpacked(value) for value in found]
    return found


def measure(model, way, keep=None):
    """Runs the case both ways.

    Args:
        model: a `catalog.Model`.
        way: a key of `WAYS`.
        keep: a folder for the dump; a temporary one, removed afterwards, when not given.
    Returns:
        A dictionary for the table.
    """
    import depyf
    from depyf.torch import DepyfWarning

    case = Case(model, way)
    torch._dynamo.config.nested_graph_breaks = case.extra == "nested"
    begin = time.perf_counter()
    plain, plain_error = case.run()
    middle = time.perf_counter()
    with contextlib.ExitStack() as stack:
        folder = keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="depyf-models-"))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always", DepyfWarning)
        with depyf.prepare_debug(os.path.join(folder, "dump")) as run:
            looked, looked_error = case.run()
        end = time.perf_counter()
        entries = [entry for entry in run.entries() if entry.hooked]
        unproven = [
            {
                "name": entry.name,
                "verdict": entry.verdict,
                "detail": entry.detail[:600],
                "source": entry.source[:6000],
            }
            for entry in entries
            if not entry.replaced or entry.verdict not in PROVEN
        ]
        notes = [
            {"name": entry.name, "detail": entry.detail[:300]} for entry in entries if entry.detail
        ]
        messages = [
            str(one.message)[:600] for one in caught if issubclass(one.category, DepyfWarning)
        ]
        problems = [problem.message[:600] for problem in run.problems]
    if plain_error or looked_error:
        same = plain_error == looked_error
    else:
        same = equal(unpacked(plain), unpacked(looked))
    return {
        "model": model.name,
        "group": model.group,
        "way": way,
        "codes": len(entries),
        "replaced": len(entries) - len(unproven),
        "unproven": unproven,
        "notes": notes,
        "verdicts": {v: sum(e.verdict == v for e in entries) for v in {e.verdict for e in entries}},
        "equal": same,
        "error": plain_error,
        "looked_error": looked_error,
        "warnings": messages,
        "problems": problems,
        "breaks": sum(len(entry.breaks) for entry in entries),
        "plain_seconds": round(middle - begin, 3),
        "seconds": round(end - middle, 3),
    }


def main(stream, model, ways, keep=None):
    """Measures a model in several ways and writes a line of JSON for each, begun and done, to
    `stream`.
    """
    torch.set_num_threads(1)
    torch._inductor.config.compile_threads = 1
    for way in ways:
        print(json.dumps({"begin": way}), file=stream, flush=True)
        try:
            found = measure(model, way, keep)
        except Exception as error:
            import traceback

            found = {
                "model": model.name,
                "group": model.group,
                "way": way,
                "crash": "%s: %s" % (type(error).__name__, str(error)[:300]),
                "traceback": traceback.format_exc()[-3000:],
            }
        print(json.dumps(found), file=stream, flush=True)
