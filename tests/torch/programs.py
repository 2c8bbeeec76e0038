"""Small programs, one for each thing that Dynamo does to code; `test_programs.py` runs each with
and without depyf.

A program takes `compiled`, which stands for torch.compile with the program's backend, and returns
what shall be equal. `frames` is the least number of code objects that torch must have transformed,
so that a program which torch no longer breaks, or refuses to compile, is noticed on torch 2.13; it
is 0 where no torch compiles the frame itself: then only results are compared.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import os
import random
import re
import types

import torch

TORCH = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

PROGRAMS = []


@dataclasses.dataclass
class Program:
    run: object
    name: str
    frames: int
    backend: object
    since: tuple


def program(frames=1, backend="eager", since=(2, 2)):
    """Registers a program; `since` is the first torch that compiles such a program at all."""

    def register(function):
        PROGRAMS.append(Program(function, function.__name__, frames, backend, since))
        return function

    return register


# torch 2.6 to 2.8 leave the items of a frozenset on the stack and make an empty one, without depyf,
# too
frozen = list if (2, 6) <= TORCH < (2, 9) else frozenset


def stop(value):
    """Where the graph ends; a call, so values may wait on the stack around it."""
    torch._dynamo.graph_break()
    return value


@torch.compiler.disable
def outside(value, *rest, **more):
    return value * 2 + len(rest) + len(more)


def x_(n=3):
    return torch.arange(1.0, n + 1)


# ---- graph breaks --------------------------------------------------------------------------------


@program(frames=3)
def break_call_with_keywords(compiled):
    class Scaled:
        def head(self, x, scale=1.0, shift=None):
            torch._dynamo.graph_break()
            return x * scale + (0 if shift is None else shift)

        def __call__(self, *rest, **more):
            raise AssertionError("not the object")

    def f(scaled, x, *rest, **more):
        y = scaled.head(x + 1, **more)
        y = scaled.head(*rest, scale=3.0) + y
        y = scaled.head(**{"x": y})
        return scaled.head(y, shift=x) * 2

    return compiled(f)(Scaled(), x_(), x_(), scale=2.0, shift=x_())


@program(2)
def break_print(compiled):
    def f(x):
        y = x + 1
        print("between", tuple(y.shape))
        return y * 2

    return compiled(f)(x_())


@program(3)
def break_data_dependent(compiled):
    def f(a, b):
        x = a / (torch.abs(a) + 1)
        if b.sum() < 0:
            b = b * -1
        return x * b

    g = compiled(f)
    return [g(x_(), x_()), g(x_(), -x_())]


@program(3)
def break_data_dependent_chain(compiled):
    def f(x):
        if x.sum() > 3 and x.max() < 9 or x.min() > 0:
            return x + 1
        elif x.mean() > 0:
            return x + 2
        return x - 1

    g = compiled(f)
    return [g(x_()), g(-x_()), g(10 * x_())]


@program(2)
def break_unsupported_call(compiled):
    def f(x):
        y = x.sin()
        number = os.getpid()
        z = outside(y, 1, key=2)
        return y + z + number * 0

    return compiled(f)(x_())


@program(2)
def break_item(compiled):
    def f(x):
        n = int(x.sum().item())
        return x * n, [n] * 3

    return compiled(f)(x_())


@program(2)
def break_in_no_grad(compiled):
    def f(x):
        with torch.no_grad():
            y = x * 2
            torch._dynamo.graph_break()
            z = y + torch.is_grad_enabled()
        return x * 3 + z

    x = x_().requires_grad_()
    y = compiled(f)(x)
    y.sum().backward()
    return y, x.grad


@program(2)
def break_in_two_contexts(compiled):
    def f(x):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
            torch._dynamo.graph_break()
            y = y @ x
        return y.float(), torch.is_grad_enabled()

    return compiled(f)(torch.ones(3, 3))


@program(2)
def break_in_context_with_keywords(compiled):
    def inner(a, b):
        y = a * 2
        torch._dynamo.graph_break()
        return y + b

    def f(**inputs):
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            result = inner(**inputs)
        return result

    return compiled(f)(a=x_(), b=x_())


@contextlib.contextmanager
def noted(events, name):
    events.append("enter " + name)
    try:
        yield name
    finally:
        events.append("leave " + name)


class Noted:
    def __init__(self, events):
        self.events = events

    def __enter__(self):
        self.events.append("in")
        return self

    def __exit__(self, kind, value, trace):
        self.events.append("out %s" % (kind and kind.__name__))
        return kind is ValueError


@program(0)
def break_in_users_context(compiled):
    def f(x, events):
        with noted(events, "a") as name:
            y = x + len(name)
            torch._dynamo.graph_break()
            y = y * 2
        return y + 1

    events = []
    return compiled(f)(x_(), events), events


@program(0)
def break_in_context_class(compiled):
    def f(x, events):
        y = x + 1
        with Noted(events):
            y = y * 2
            torch._dynamo.graph_break()
            if len(events) == 1:
                raise ValueError("swallowed")
        return y + 1

    events = []
    g = compiled(f)
    return g(x_(), events), g(x_(), events), events


@program(0)
def break_in_try(compiled):
    def f(x):
        y = x + 1
        try:
            y = y * 2
            torch._dynamo.graph_break()
            y = y - {}["missing"]
        except KeyError as error:
            y = y + len(str(error))
        finally:
            y = y * 3
        return y

    return compiled(f)(x_())


@program(0)
def break_in_handler(compiled):
    def f(x):
        y = x + 1
        try:
            raise ValueError("no")
        except ValueError:
            torch._dynamo.graph_break()
            y = y + 2
        else:
            y = y + 3
        return y * y

    return compiled(f)(x_())


def deepest(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def middle(x, scale=2):
    return deepest(x * scale) + deepest(x)


@program(3)
def break_in_nested_calls(compiled):
    def f(x):
        y = middle(x) + 1
        return y, middle(y, scale=3)

    return compiled(f)(x_())


@program(3)
def break_in_a_closure_that_reads_what_changes(compiled):
    # torch's stack holds the tuple of the cells that a resume function was called with
    def f(x):
        def inner():
            torch._dynamo.graph_break()
            return change(x)

        change = functools.partial(torch.mul, other=10)
        x = inner()
        change = functools.partial(torch.add, other=3)
        return inner() + x

    with nested_breaks():
        return compiled(f)(x_())


def nested_breaks():
    """A block in which torch resumes the callers of the function that breaks, too."""
    if hasattr(torch._dynamo.config, "nested_graph_breaks"):
        return torch._dynamo.config.patch(nested_graph_breaks=True)
    return contextlib.nullcontext()


@program(4)
def a_closure_is_resumed_with_its_callers(compiled):
    # torch's stack holds the tuples of all closures until the last function is made
    limit = torch.tensor([0.5, 9.0])

    def f(x, y):
        def inner(a, more):
            stop(a)
            return torch.mul(limit, a) + more

        x = x + 1
        y = chosen(y) + inner(y, len(y))
        return x * y, inner(x, 2)

    def chosen(value):
        if limit[0] < 10:
            return value * value
        return value

    with nested_breaks():
        return compiled(f)(x_(2), x_(2))


@program(1)
def an_ordered_dict_is_filled_beside_a_closure(compiled):
    # torch fills it in a loop, before which the cell of x is read
    def f(x):
        found = collections.OrderedDict(p=x)
        torch._dynamo.graph_break()
        return found, (lambda: x)()

    return compiled(f)(x_())


@program(4)
def a_method_breaks_below_two_closures(compiled):
    # torch's stack holds tuples of cells: of the frame's own, and of a function that is dropped
    class Case:
        tolerance = 0.5

        def compare(self, a, b, *, high=3, allowed=(int, float)):
            torch._dynamo.graph_break()
            found = []

            def note(value):
                nonlocal high
                high = high + 1
                found.append(isinstance(value, allowed))

            note(a)
            return self.differ(a, b, high, self.tolerance)

        def differ(self, *values):
            torch._dynamo.graph_break()
            return len(values)

        def run(self):
            def outer():
                def inner(a, b, kind):
                    stop(a)
                    self.compare(torch.result_type(a, b), kind)

                inner(torch.tensor(1), 1.0, torch.get_default_dtype())

            return compiled(outer)()

    with nested_breaks():
        return Case().run()


@program(8)
def context_managers_wait_at_a_break(compiled):
    def entered(x, manager, y, _):
        with manager:
            return x * y, torch.is_grad_enabled()

    def returned(manager):
        torch._dynamo.graph_break()
        return manager

    def held(x):
        x = x + 1
        manager, other = torch.set_grad_enabled(False), torch.enable_grad()
        torch._dynamo.graph_break()
        with manager:
            x = x + 1
            inside = torch.is_grad_enabled()
        torch._dynamo.graph_break()
        with other:
            return x + 1, inside, torch.is_grad_enabled()

    def passed(x):
        x = x + 1
        return entered(x, torch.set_grad_enabled(False), 2, torch._dynamo.graph_break())

    def inlined(x):
        x = x + 1
        manager = returned(torch.set_grad_enabled(False))
        with manager:
            return x + 1, torch.is_grad_enabled()

    with torch.enable_grad():  # which a manager that is only made ends
        results = [compiled(f)(x_()) for f in (held, passed, inlined)]
        with nested_breaks():
            return results + [compiled(f)(x_(2)) for f in (held, passed, inlined)]


@program(2)
def break_between_operands(compiled):
    def f(x, y):
        return (x + 1) * stop(y) - (x - 1) / stop(x)

    return compiled(f)(x_(), x_())


@program(2)
def break_in_arguments(compiled):
    def g(a, b, c, *rest, key=None, **more):
        return a + b * c + sum(rest) + key + sum(more.values())

    def f(x, rest, more):
        return g(x, stop(x * 2), 3, *rest, key=stop(x), **more)

    return compiled(f)(x_(), (1, 2), {"m": 4})


@program(2)
def break_in_call_of_disabled_with_arguments(compiled):
    def f(x, rest, more):
        y = x * 2
        return y + outside(*rest, **more) + outside(y, *rest) + outside(y, key=1, **more)

    return compiled(f)(x_(), (x_(), 2), {"m": 4})


@program(2)
def break_in_displays(compiled):
    def f(x):
        a = [x + 1, stop(x), *[x, stop(x * 2)]]
        b = {"a": x, "b": stop(x + 3), **{"c": x}}
        c = (x, stop(x), "%s" % stop(3), f"{stop(4)}-{5}")
        return a, b, c

    return compiled(f)(x_())


@program(2)
def break_in_stores(compiled):
    def f(x, target, values):
        values[stop(1)] = stop(x + 1)
        target.field = stop(x * 2)
        target.field += stop(1)
        values[0:2] = [stop(x), x]
        return target.field, values

    return compiled(f)(x_(), types.SimpleNamespace(), [x_(), x_(), 3])


@program(2)
def break_in_conditional_expression(compiled):
    def f(x, flag):
        y = stop(x + 1) if flag else stop(x - 1)
        return (y or stop(x)) if isinstance(y, int) else 0 < stop(2) < 3 and y * 2

    g = compiled(f)
    return g(x_(), True), g(x_(), False)


@program(2)
def break_in_for(compiled):
    def f(x, items):
        total = x * 0
        for i, item in enumerate(items):
            total = middle(total + item) * (i + 1)
        return total

    return compiled(f)(x_(), [1, 2, 3])


@program(2)
def break_with_iterators_on_the_stack(compiled):
    def f(x, table):
        out = []
        for key, value in table.items():
            for n in range(2):
                for a, b in zip([1, 2], (3, 4)):
                    out.append(x + value + a * b + n)
                    if value == 2:
                        out.append(deepest(x))
        return out

    return compiled(f)(x_(), {"a": 1, "b": 2})


@program(2)
def break_in_while(compiled):
    def f(x):
        i = 0
        while i < 3:
            x = deepest(x + i)
            i += 1
            if i == 2:
                continue
            x = x * 2
        else:
            x = x - 1
        return x

    return compiled(f)(x_())


@program(2)
def break_in_closure(compiled):
    scale = 2
    bias = x_()

    def f(x):
        y = x * scale
        torch._dynamo.graph_break()
        return y + bias * scale

    return compiled(f)(x_())


@program(2)
def break_with_nonlocal(compiled):
    count = 1

    def f(x):
        nonlocal count
        y = x + count
        torch._dynamo.graph_break()
        count = count + 1
        torch._dynamo.graph_break()
        count += 3
        return y * count

    g = compiled(f)
    return g(x_()), count, g(x_()), count


@program(2)
def break_with_own_cells(compiled):
    def f(x):
        scale = 2
        total = x + 1

        def add(value):
            nonlocal total
            total = total + value * scale

        add(x)
        torch._dynamo.graph_break()
        scale = 5
        add(x)
        return total

    return compiled(f)(x_())


@program(2)
def break_in_inner_function_of_closure(compiled):
    bias = x_()

    def f(x):
        other = x * 3

        def inner(y):
            z = y + bias
            torch._dynamo.graph_break()
            return z * other

        return inner(x) + inner(other)

    return compiled(f)(x_())


@program(2)
def break_with_unbound_cell(compiled):
    def f(x, flag):
        if flag:
            late = x + 1
        y = x * 2
        torch._dynamo.graph_break()
        get = lambda: late  # noqa: E731
        late = y
        return get()

    g = compiled(f)
    return g(x_(), True), g(x_(), False)


@program(1)
def returned_closure(compiled):
    def f(x):
        y = x + 1

        def g(z, k=2):
            return z * y + k

        return g

    return compiled(f)(x_())(x_())


@program(2)
def break_in_comprehension(compiled):
    def f(x, items):
        a = [x + stop(i) for i in items]
        torch._dynamo.graph_break()
        b = {i: x * i for i in items if i != 2}
        return a, b, sum(x + i for i in items)

    return compiled(f)(x_(), [1, 2, 3])


@program(2)
def comprehensions_around_a_break(compiled):
    def f(x, items):
        a = [x + i * j for i in items for j in items if i < j]
        torch._dynamo.graph_break()
        scale = 3
        return [a, [[y * scale for y in a] for _ in range(2)], {str(i): x for i in items}]

    return compiled(f)(x_(), [1, 2, 3])


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)


class Private(Base):
    def __init__(self):
        super().__init__()
        self.__scale = 2

    def forward(self, x):
        y = super().forward(x) * self.__scale
        torch._dynamo.graph_break()
        self.__scale += 1
        return super().forward(y) * self.__scale


@program(2)
def break_in_method_with_super_and_private_names(compiled):
    model = Private()
    g = compiled(model)
    return g(x_()), g(x_())


def recurse(n, x):
    if n == 0:
        torch._dynamo.graph_break()
        return x + 1
    return recurse(n - 1, x * 2) + n


@program(1)
def break_in_recursion(compiled):
    def f(x):
        return recurse(3, x) * 2

    return compiled(f)(x_())


@program(2)
def break_with_every_kind_of_parameter(compiled):
    def f(a, b=2, *rest, c, d=4, **more):
        y = a * b + sum(rest)
        torch._dynamo.graph_break()
        return y + c * d + sum(more.values()), rest, more

    return compiled(f)(x_(), 3, 1, 2, c=5, extra=6), compiled(f)(x_(), c=1)


def with_many_locals():
    lines = ["def f(x):"]
    lines += ["    v%d = x + %d" % (i, i) for i in range(300)]
    lines += ["    torch._dynamo.graph_break()"]
    lines += ["    return %s" % " + ".join("v%d" % i for i in range(300))]
    names = {"torch": torch}
    exec("\n".join(lines), names)
    return names["f"]


@program(2)
def break_with_three_hundred_locals(compiled):
    return compiled(with_many_locals())(x_())


@program(2)
def break_with_deleted_locals(compiled):
    def f(x):
        y = x + 1
        z = y * 2
        del y
        torch._dynamo.graph_break()
        y = z + 1
        del z
        return y

    return compiled(f)(x_())


@program(2)
def break_between_unpacking(compiled):
    def f(x):
        a, (b, *c) = stop(x), [stop(x + 1), x, x * 2]
        a, b = b, a
        return a - b, c

    return compiled(f)(x_())


@program(2)
def break_with_walrus_and_asserts(compiled):
    def f(x):
        n = stop(3)
        assert n == 3, "n is %d" % n
        y = x * n
        torch._dynamo.graph_break()
        assert y.shape[0] == 3
        return y

    return compiled(f)(x_())


@program(1)
def assert_with_message(compiled):
    def f(x):
        assert x.sum() > 0, "negative: %s" % (x.shape,)
        return x + 1

    g = compiled(f)
    try:
        return [g(x_()), g(-x_())]
    except (AssertionError, RuntimeError) as error:
        return type(error).__name__


# ---- recompiles ----------------------------------------------------------------------------------


@program(2)
def recompile_shape(compiled):
    def f(x):
        return x * x.shape[0]

    g = compiled(f)
    return [g(x_(n)) for n in (2, 3, 4, 5)]


@program(3)
def recompile_dtype_and_type(compiled):
    def f(x, k):
        return x * k

    g = compiled(f)
    return [g(x_(), 1), g(x_().double(), 1), g(x_(), 2.5), g(x_(), True)]


class Settings:
    factor = 2


@program(2)
def recompile_attribute(compiled):
    settings = Settings()

    def f(x):
        return x * settings.factor

    g = compiled(f)
    one = g(x_())
    settings.factor = 5
    return one, g(x_())


SCALE = 2
COUNTER = 0


@program(2)
def recompile_global(compiled):
    global SCALE

    def f(x):
        return x * SCALE

    SCALE = 2
    g = compiled(f)
    one = g(x_())
    SCALE = 3
    return one, g(x_())


@program(3)
def recompile_dict_contents(compiled):
    def f(x, table):
        for key, value in table.items():
            x = x * value + len(key)
        return x

    g = compiled(f)
    return g(x_(), {"a": 1}), g(x_(), {"a": 2}), g(x_(), {"a": 1, "bc": 2})


@program(2)
def recompile_closure_cell(compiled):
    flag = True

    def f(x):
        if flag:
            return x + 1
        return x - 1

    g = compiled(f)
    one = g(x_())
    flag = False
    return one, g(x_())


@program(2)
def recompile_module_flag(compiled):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    g = compiled(model)
    model.eval()
    one = g(x_())
    model.train()
    torch.manual_seed(1)
    return one, g(x_())


@program(4)
def recompile_with_breaks(compiled):
    def f(x, flag):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2 if flag else y * 3

    g = compiled(f)
    return [g(x_(), True), g(x_(), False), g(x_().double(), True)]


# ---- training, modules, contexts -----------------------------------------------------------------


@program(1)
def training_step(compiled):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    loss = compiled(model)(torch.ones(2, 3)).pow(2).sum()
    loss.backward()
    return loss, [p.grad for p in model.parameters()]


@program(1, backend="aot_eager")
def training_step_aot(compiled):
    return training_step(compiled)


@program(2, backend="aot_eager")
def training_with_break(compiled):
    model = torch.nn.Linear(3, 3)

    def f(x):
        y = model(x)
        torch._dynamo.graph_break()
        return model(y.relu()).sum()

    loss = compiled(f)(torch.ones(2, 3))
    loss.backward()
    return loss, [p.grad for p in model.parameters()]


@program(2)
def optimizer_steps(compiled):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    g = compiled(step)
    losses = [g(torch.ones(2, 3)).detach() for _ in range(3)]
    return losses, list(model.parameters())


@program(1)
def compiled_optimizer(compiled):
    parameter = torch.nn.Parameter(x_())
    optimizer = torch.optim.Adam([parameter], lr=0.1)
    g = compiled(optimizer.step)
    for _ in range(3):
        optimizer.zero_grad()
        (parameter * parameter).sum().backward()
        g()
    return parameter


@program(1)
def marked_dynamic(compiled):
    def f(x):
        return x.view(-1, x.shape[1]) + x.shape[0]

    g = compiled(f)
    out = []
    for n in (4, 6, 9):
        x = torch.ones(n, 3)
        torch._dynamo.mark_dynamic(x, 0)
        out.append(g(x))
    return out


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("calls", torch.zeros(()))
        self.seen = []
        self.linear.register_forward_hook(self.hook)
        self.linear.register_forward_pre_hook(lambda module, args: (args[0] + 1,))

    def hook(self, module, args, result):
        self.calls += 1
        return result * 2

    def forward(self, x):
        return self.linear(x) + self.calls


@program(1)
def modules_with_hooks_and_buffers(compiled):
    model = Hooked()
    g = compiled(model)
    return g(x_()), g(x_()), model.calls


@program(2)
def module_hooks_that_break(compiled):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))

    def hook(module, args, kwargs, output):
        torch._dynamo.graph_break()
        return output + 1

    for layer in model:
        layer.register_forward_hook(hook, with_kwargs=True)
    return compiled(model)(x_())


class Mutating(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])
        self.norm = torch.nn.BatchNorm1d(3)
        self.count = 0
        self.cache = {}

    def forward(self, x, mask=None):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if mask is not None:
                x = x * mask
            self.cache[i] = x
        self.count += 1
        return self.norm(x)


@program(1)
def module_that_mutates_itself(compiled):
    model = Mutating()
    g = compiled(model)
    out = g(torch.ones(2, 3)), g(torch.ones(2, 3), mask=torch.ones(3))
    return out, model.count, model.cache, model.norm.running_mean


@program(1)
def no_grad_and_autocast(compiled):
    @torch.no_grad()
    def inner(x):
        return x * 2

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
        with torch.enable_grad():
            z = inner(x) + x
        with torch.set_grad_enabled(False):
            z = z * 2
        return y.float(), z

    return compiled(f)(torch.ones(3, 3, requires_grad=True))


@program(1)
def grad_mode_stays_changed(compiled):
    def f(x):
        torch.set_grad_enabled(False)
        return x * 2

    try:
        return compiled(f)(x_().requires_grad_()), torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + x


@program(1)
def custom_autograd_function(compiled):
    def f(x):
        return Double.apply(x + 1).sum()

    x = x_().requires_grad_()
    loss = compiled(f)(x)
    loss.backward()
    return loss, x.grad


@program(2)
def custom_autograd_function_with_break(compiled):
    def f(x):
        y = Double.apply(x)
        torch._dynamo.graph_break()
        return Double.apply(y).sum()

    x = x_().requires_grad_()
    loss = compiled(f)(x)
    loss.backward()
    return loss, x.grad


# ---- higher-order operators ----------------------------------------------------------------------


@program(1)
def checkpoint(compiled):
    from torch.utils.checkpoint import checkpoint as checkpointed

    linear = torch.nn.Linear(3, 3)

    def f(x):
        return checkpointed(lambda y: linear(y).relu(), x, use_reentrant=False).sum()

    loss = compiled(f)(torch.ones(2, 3, requires_grad=True))
    loss.backward()
    return loss, linear.weight.grad


@program(1, since=(2, 4))
def cond(compiled):
    def f(x):
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))

    g = compiled(f)
    return g(x_()), g(-x_())


@program(1, since=(2, 4))
def transforms(compiled):
    def f(x):
        gradient = torch.func.grad(lambda y: (y * y).sum())(x)
        return torch.func.vmap(lambda y: y * 2)(x), gradient

    return compiled(f)(x_())


@program(1, since=(2, 6))
def scan_and_while(compiled):
    from torch._higher_order_ops.while_loop import while_loop

    def f(x):
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))

    return compiled(f)(x_())


# ---- side effects --------------------------------------------------------------------------------


@program(2)
def lists_are_changed(compiled):
    def f(x, values):
        values.append(x + 1)
        values.extend([x, 2])
        values[0] = values[-1]
        values.insert(1, "one")
        last = values.pop()
        del values[0]
        return last, len(values), x * 2

    def g(x, values):
        values.reverse()
        values += [x + 1]
        values[1:2] = [x, x]
        return values * 2

    values = [1, 2, 3]
    return compiled(f)(x_(), values), compiled(g)(x_(), values), values


@program(2)
def lists_are_changed_around_a_break(compiled):
    def f(x, values, same):
        values.append(x + 1)
        before = values[0]
        values[0] = x
        torch._dynamo.graph_break()
        values.clear()
        values.append(x * before)
        return len(same), values is same

    values = [1, 2]
    return compiled(f)(x_(), values, values), values


@program(1)
def dicts_are_changed(compiled):
    def f(x, table):
        old = table["a"]
        table["b"] = x + old
        table.update(c=3, d=x)
        del table["a"]
        removed = table.pop("c")
        table.setdefault("e", []).append(removed)
        return list(table), x * removed

    table = {"a": 1, "z": 0}
    return compiled(f)(x_(), table), table


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@program(1)
def dicts_with_enum_and_other_keys(compiled):
    def f(x, table):
        table[Color.RED] = x + 1
        table[(1, "two")] = table.get(Color.BLUE, x)
        table[torch.float32] = Color.BLUE
        table[None] = len
        return table, Color.RED, x * Color.BLUE.value

    table = {}
    return compiled(f)(x_(), table)[2], [str(key) for key in table], list(table.values())[:2]


@program(1)
def deques_are_changed(compiled):
    def f(x, queue):
        first = queue.popleft()
        queue.append(x + first)
        queue.appendleft(7)
        queue.extend([1, 2])
        last = queue.pop()
        return x * last, len(queue), first

    queue = collections.deque([1, 2, 3], maxlen=5)
    return compiled(f)(x_(), queue), list(queue), queue.maxlen


@program(1)
def sets_are_changed(compiled):
    def f(x, numbers):
        numbers.add(3)
        numbers |= {4, 5}
        common = numbers & {3, 4, 9}
        numbers.discard(1)
        stop(x)
        return x + len(common), sorted(numbers), frozen(common)

    numbers = {1, 2}
    return compiled(f)(x_(), numbers), sorted(numbers)


@program(1)
def large_displays(compiled):
    def f(x, seen):
        numbered = {i: x + i for i in range(40)}
        named = {"k%d" % i: x + i for i in range(20)}
        listed = [x + i for i in range(40)]
        seen.update({"n%d" % i: i for i in range(20)})
        stop(x)
        return (
            numbered,
            named,
            listed,
            tuple(listed),
            outside(*listed),
            outside(x, **named),
            frozenset(range(40)),
        )

    seen = {}
    return compiled(f)(x_(), seen), seen


@program(2)
def large_dicts_of_objects_are_changed(compiled):
    class Key:
        def __init__(self, number):
            self.number = number

    def f(x, counted, places, key):
        counted[key] += 5
        places["b", 2] = counted[key]
        stop(x)
        return x + counted[key]

    results = []
    for count in (18, 40):
        keys = [Key(number) for number in range(count)]
        counted = collections.defaultdict(int, {key: key.number for key in keys})
        places = collections.Counter({("a", number): number for number in range(count)})
        result = compiled(f)(x_(), counted, places, keys[3])
        numbers = [(key.number, n) for key, n in counted.items()]
        results.append((result, list(places.items()), numbers))
    return results


@program(1)
def ordered_dicts_are_changed(compiled):
    def f(x, queue, waiting):
        queue["b"] = set()
        queue.move_to_end("a")
        waiting["n"] = {}
        y = x + len(queue)
        stop(y)
        queue.popitem(last=False)
        waiting.update(queue)
        return y * 2, [dict(queue), set(), {1}]

    queue, waiting = collections.OrderedDict(a=1, c=2), collections.OrderedDict()
    return compiled(f)(x_(), queue, waiting), list(queue.items()), list(waiting.items())


class Holder:
    limit = 3

    def __init__(self, value):
        self.value = value
        self.history = []

    @property
    def doubled(self):
        return self.value * 2

    def push(self, value):
        self.history.append(self.value)
        self.value = value


@program(1)
def attributes_are_changed(compiled):
    def f(x, holder):
        holder.push(x + holder.value)
        holder.extra = holder.doubled
        del holder.gone
        holder.limit += 1
        return holder.value * 2

    holder = Holder(1)
    holder.gone = 1
    return (
        compiled(f)(x_(), holder),
        sorted(vars(holder)),
        holder.history,
        holder.value,
        holder.limit,
    )


@program(2)
def attributes_are_changed_around_a_break(compiled):
    def f(x, holder):
        holder.push(x)
        seen = holder.value
        holder.value = 5
        torch._dynamo.graph_break()
        holder.push(seen * 2)
        return seen, holder.history

    holder = Holder(1)
    return compiled(f)(x_(), holder), holder.value


@program(1)
def objects_are_made(compiled):
    def f(x):
        holder = Holder(x)
        holder.push(x + 1)
        return holder, [holder, {"h": holder}]

    made, again = compiled(f)(x_())
    return made.value, made.history, again[0] is made, again[1]["h"] is made


@dataclasses.dataclass
class Point:
    x: object
    y: int = 2


Pair = collections.namedtuple("Pair", "left right")


@program(1)
def dataclasses_and_namedtuples(compiled):
    def f(x, point, pair):
        made = Pair(x, pair.left)
        return made, point.x * point.y, pair.right

    return compiled(f)(x_(), Point(x_()), Pair(1, 2))


@program(3)
def containers_of_the_library(compiled):
    def ordered(x):
        return x + 1, collections.OrderedDict(a=x, b=2)

    def lists(x):
        found = collections.defaultdict(list)
        found["k"].append(x + 1)
        return found

    def sets(x):
        return x + 1, {1, 2}, frozen([3]), slice(1, 2), range(3)

    return compiled(ordered)(x_()), compiled(lists)(x_()), compiled(sets)(x_())


@program(2)
def globals_are_stored(compiled):
    global COUNTER

    def f(x):
        global COUNTER
        before = COUNTER
        COUNTER = before + 1
        y = x + before
        torch._dynamo.graph_break()
        COUNTER += 10
        return y * COUNTER

    COUNTER = 0
    return compiled(f)(x_()), COUNTER


@program(2)
def reads_before_mutations(compiled):
    def f(x, values, table, queue):
        a, b, c = values[0], table["k"], queue[0]
        del values[0]
        table["k"] = x
        queue.popleft()
        torch._dynamo.graph_break()
        d, e, g = values[0], table["k"] + x, queue[0]
        values[0] = table["k"] = 9
        queue.clear()
        return a, b, c, d, e, g

    values, table, queue = [1, 2, 3], {"k": 4}, collections.deque([5, 6])
    return compiled(f)(x_(), values, table, queue), values, table, list(queue)


@program(1)
def random_numbers(compiled):
    def f(x):
        return x * random.random() + random.randint(1, 5), torch.rand(2)

    random.seed(3)
    torch.manual_seed(3)
    return compiled(f)(x_()), random.random()


@program(1)
def tensors_are_changed_in_place(compiled):
    def f(x, out):
        out.add_(x)
        out[0] = 5
        x.grad_note = 3
        return out.t_() if out.dim() == 2 else out

    out = torch.zeros(3)
    return compiled(f)(x_(), out), out


@program(1)
def hooks_on_tensors(compiled):
    def f(x):
        y = x * 2
        y.register_hook(lambda grad: grad * 3)
        return y.sum()

    x = x_().requires_grad_()
    compiled(f)(x).backward()
    return x.grad


# ---- iterators and generators --------------------------------------------------------------------


def numbers(n):
    for i in range(n):
        yield i
    return "done"


@program(1)
def generators_consumed(compiled):
    def f(x):
        total = x
        for i in numbers(3):
            total = total + i
        return total, list(numbers(2)), sum(i * 2 for i in numbers(4)), tuple(numbers(2))

    return compiled(f)(x_())


@program(2)
def generator_consumed_around_a_break(compiled):
    def f(x, source):
        y = x + 1
        torch._dynamo.graph_break()
        a = next(source)
        return y * a + sum(source)

    return compiled(f)(x_(), iter([1, 2, 3]))


@program(1)
def iterators_handed_back(compiled):
    def pairs(x, items):
        found = zip(items, range(3))
        first = next(found)
        return x + first[1], found

    def mapped(x, items):
        return x + 1, map(lambda v: v + 1, items), itertools.repeat(3)

    def chained(x, items):
        return x + 1, itertools.chain([1], items), itertools.count(2)

    items = [4, 5, 6]
    a, b, c = (
        compiled(pairs)(x_(), items),
        compiled(mapped)(x_(), items),
        compiled(chained)(x_(), items),
    )
    return a[0], list(a[1]), list(b[1]), next(b[2]), list(c[1]), next(c[2])


@program(1)
def range_iterator_kept(compiled):
    def f(x, iterator):
        return x + next(iterator)

    iterator = iter(range(5))
    g = compiled(f)
    return g(x_(), iterator), g(x_(), iterator), next(iterator)


@program(1)
def library_iterators(compiled):
    def f(x):
        out = [a * b for a, b in itertools.product([1, 2], [3, 4])]
        out += [functools.reduce(lambda a, b: a + b, out), sum(itertools.accumulate([1, 2]))]
        return (
            x * out[-1],
            sorted(out, key=lambda v: -v),
            list(reversed(out)),
            dict(enumerate("ab")),
        )

    return compiled(f)(x_())


# ---- other things Dynamo emits code for ----------------------------------------------------------


@program(12)
def constants_of_each_kind(compiled):
    def returning(constant):
        names = {"constant": constant}
        exec("def f(x): return x + 1, constant", names)
        return names["f"]

    constants = [
        -0.0,
        float("inf"),
        2**70,
        -1,
        3j,
        b"bytes\x00",
        "text\n'\"",
        ...,
        None,
        True,
        (),
        ((1, True), (1.0, "a")),
    ]
    constants += [
        torch.float16,
        torch.device("cpu"),
        Holder,
        Color.RED,
        len,
        slice(1, None),
        torch.Size([2]),
    ]
    return [repr(compiled(returning(constant))(x_())[1]) for constant in constants]


@program(1)
def functions_with_defaults_are_returned(compiled):
    def f(x, k):
        def inner(a, b=k, *, c=3):
            """Says something."""
            return a + b + c

        return inner, functools.partial(inner, 1, c=k), x + 1

    inner, partial, y = compiled(f)(x_(), 2)
    return inner(1), partial(), y, inner.__doc__


@program(1)
def fullgraph(compiled):
    def f(x, *rest, **more):
        return {"sum": x + sum(rest), **more}

    return compiled(f, fullgraph=True)(x_(), 1, 2, k=3)


@program(1)
def fullgraph_that_breaks_raises(compiled):
    def good(x):
        return x + 1

    def f(x):
        torch._dynamo.graph_break()
        return x

    try:
        compiled(f, fullgraph=True)(x_())
    except Exception as error:
        return type(error).__name__, compiled(good, fullgraph=True)(x_())
    return None


@program(2)
def nested_compile(compiled):
    def inner(x):
        return x * 2

    fast = compiled(inner)

    def f(x):
        y = fast(x) + 1
        torch._dynamo.graph_break()
        return fast(y)

    return compiled(f)(x_()), fast(x_())


@program(1)
def dynamic_shapes(compiled):
    def f(x, n):
        return x.reshape(n, -1).sum(0) + x.shape[0] // 2

    g = compiled(f, dynamic=True)
    return g(x_(6), 2), g(x_(8), 4), g(x_(9), 3)


@program(2)
def dynamic_shapes_with_break(compiled):
    def f(x, n):
        m = x.shape[0] * n
        torch._dynamo.graph_break()
        return x.new_ones(m) * m, m

    g = compiled(f, dynamic=True)
    return g(x_(4), 2), g(x_(5), 3)


@program(1)
def tensor_subclass_and_parameters(compiled):
    parameter = torch.nn.Parameter(x_())

    def f(x):
        return torch.nn.Parameter(x * 2) if False else x * parameter

    return compiled(f)(x_())


@program(1)
def views_of_arguments(compiled):
    def f(x):
        return x[1:], x.view(3, 1), x, (x, [x])

    x = x_()
    a, b, c, d = compiled(f)(x)
    return a, b, c is x, d[0] is x


@program(1)
def numpy_in_the_graph(compiled):
    import numpy

    def f(x):
        return numpy.sin(x) * 2

    return torch.from_numpy(compiled(f)(numpy.ones(3)))


@program(1)
def raising_after_a_break(compiled):
    def f(x, flag):
        y = x + 1
        torch._dynamo.graph_break()
        if flag:
            raise ValueError("from the program %d" % len(y))
        return y * 2

    g = compiled(f)
    try:
        g(x_(), True)
    except ValueError as error:
        return str(error), g(x_(), False)
    return None


@program(2)
def string_formatting_around_a_break(compiled):
    def f(x, name):
        text = f"{name!r:>10}|{x.shape[0]:03d}"
        torch._dynamo.graph_break()
        return x + 1, text + "%s %d" % (name, 3) + "{}".format(name)

    return compiled(f)(x_(), "n")


@program(1)
def a_branch_that_is_not_taken_asks_for_its_locals(compiled):
    # as pytest writes each `assert`: the names stay in the table of torch's code
    def f(x):
        size = x.shape[0]
        if size == 77:
            return locals(), "f_locals", vars().get("size")
        return x + size

    return compiled(f)(x_())


@program(2)
def stack_of_many_values(compiled):
    def f(x):
        return max(1, stop(2), *[3, stop(4)]) + sum([stop(1), len([stop(x), stop((x, [x]))])]) * x

    return compiled(f)(x_())


@program(2)
def lambda_that_breaks(compiled):
    g = compiled(lambda x, k=3: stop(x + k) * k)
    return g(x_()), g(x_(), 5)


@program(2)
def loop_over_modules_with_breaks(compiled):
    layers = [torch.nn.Linear(3, 3) for _ in range(2)]

    def f(x):
        out = []
        for layer in layers:
            x = layer(x)
            out.append(deepest(x))
        return out, x

    return compiled(f)(x_())


@program(2)
def with_block_after_break(compiled):
    def f(x):
        y = stop(x + 1)
        with torch.no_grad():
            z = y * 2
        with contextlib.nullcontext():
            z = z + 3
        return z

    return compiled(f)(x_())


@program(2)
def break_under_torch_function_mode_and_device(compiled):
    def f(x):
        y = torch.ones(3, device="cpu") + x
        torch._dynamo.graph_break()
        return torch.zeros_like(y), y.dtype, y.device.type

    return compiled(f)(x_())


# ---- backends ------------------------------------------------------------------------------------


def users_backend(module, inputs):
    def run(*arguments):
        return module.forward(*arguments)

    return run


@program(3, backend=users_backend)
def users_own_backend(compiled):
    return break_data_dependent(compiled)


@program(3, backend="aot_eager")
def aot_eager(compiled):
    return break_data_dependent(compiled)


@program(3, backend="inductor")
def inductor(compiled):
    return break_data_dependent(compiled)


@program(1, backend="inductor")
def inductor_training(compiled):
    return training_step(compiled)


@program(1)
def compiled_autograd(compiled):
    model = torch.nn.Linear(3, 1)
    x = torch.ones(2, 3)
    if hasattr(torch._dynamo.config, "compiled_autograd"):
        with torch._dynamo.config.patch(compiled_autograd=True):
            g = compiled(lambda: model(x).sum().backward())
            g()
    else:
        from torch._dynamo import compiled_autograd as autograd

        loss = compiled(model)(x).sum()
        with autograd.enable(compiled):
            loss.backward()
    return [p.grad for p in model.parameters()]


@program(3)
def functions_of_a_class_in_a_function(compiled):
    class Base:
        def go(self, x):
            stop(x)
            return x + 1

    def f(x, n):
        stop(x)

        class Inner(Base):
            size = n

            def go(self, x):
                stop(x)
                return super().go(x) + self.size

        stop(x)
        return Inner().go(x), (lambda y: stop(y) + n)(x)

    g = compiled(f)
    return [g(x_(), n) for n in (1, 2, 3)]


@program(2)
def a_call_with_everything_unpacked(compiled):
    def f(x, n):
        stop(x)
        try:
            if n == 2:
                raise ValueError(n)
        finally:
            x = x + outside(*[x + 1], 3, *(1, 2), r=x.shape[0], **dict(s=n))
        return [x, outside(*[x, stop(n)], **{"p": stop(n)}, **dict(q=2))]

    g = compiled(f)
    return [g(x_(), n) for n in (1, 3)]


@program(2)
def iterators_that_wait(compiled):
    def f(x):
        numbers, texts = iter((3, 5, 7)), iter("ab")
        pair = [numbers, zip((1, 2), [3, 4])]
        y = x + next(numbers)
        stop(y)
        y = y + next(pair[0]) + next(pair[1])[1]
        stop(next(texts))
        return y, list(numbers), list(texts), list(pair[1])

    return compiled(f)(x_())


def readme_of(folder):
    """README.md of a dump with each paragraph and each entry of a list on one line."""
    with open(os.path.join(str(folder), "README.md"), encoding="utf-8") as file:
        parts = file.read().split("```")
    joined = re.compile(r"(?<=[^\n])\n *(?=\S)(?![#|]|- |\d+\. )")
    parts[::2] = [joined.sub(" ", one) for one in parts[::2]]
    return "```".join(parts)
