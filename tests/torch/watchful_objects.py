"""Prints what depyf asks of the program's own objects: every call of a method of theirs, also of
`__getattribute__`, `__eq__` or `__instancecheck__`, with a frame of depyf's on the stack.

    python watchful_objects.py capture|prepare_debug FOLDER
"""

import collections
import enum
import os
import sys
import types

import depyf
import torch
import torch.utils._pytree as pytree

OWN = os.path.dirname(os.path.abspath(depyf.__file__)) + os.sep
asked = collections.Counter()


def note(what, name):
    frame = sys._getframe(2)
    while frame is not None:
        if str.startswith(frame.f_code.co_filename, OWN):
            asked[what, name, str(frame.f_code.co_filename)[len(OWN) :], frame.f_lineno] += 1
            return
        frame = frame.f_back


def watching(what, base, *names):
    """Methods of `base` that note who calls them."""

    def of(name):
        real = getattr(base, name)

        def method(self, *arguments):
            note(what, arguments[0] if name == "__getattribute__" else name)
            return real(self, *arguments)

        return method

    return {name: of(name) for name in ("__getattribute__",) + names}


class Meta(type):
    vars().update(watching("class", type, "__instancecheck__", "__subclasscheck__"))
    vars().update(
        watching("class", type, "__repr__", "__str__", "__format__", "__hash__", "__eq__")
    )


class Plain(metaclass=Meta):
    vars().update(watching("object", object, "__eq__", "__hash__", "__repr__", "__format__"))

    def __init__(self):
        self.factor = 2

    def __call__(self, x):
        y = x + self.factor
        torch._dynamo.graph_break()
        return y * self.factor

    def __bool__(self):
        note("object", "__bool__")
        return True

    def __len__(self):
        note("object", "__len__")
        return 3

    def method(self, x):
        y = x - self.factor
        torch._dynamo.graph_break()
        return y

    @classmethod
    def of_class(cls, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2


class Module(torch.nn.Module):
    vars().update(watching("module", torch.nn.Module))

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        y = x * self.weight
        torch._dynamo.graph_break()
        return y + self.weight


class MetaOfTensor(type(torch.Tensor)):
    vars().update(watching("tensor's class", type(torch.Tensor), "__repr__", "__str__"))
    vars().pop("__getattribute__")  # torch writes the types of a graph's inputs with their modules


class Tensor(torch.Tensor, metaclass=MetaOfTensor):
    vars().update(watching("tensor", torch.Tensor))


class MetaOfEnum(enum.EnumMeta):
    vars().update(watching("enum", enum.EnumMeta, "__repr__", "__str__", "__format__"))


class Color(enum.Enum, metaclass=MetaOfEnum):
    RED = 1
    vars().update(watching("member", enum.Enum, "__repr__", "__str__", "__format__"))


class Key(tuple):
    vars().update(watching("key", tuple, "__repr__", "__str__", "__format__"))


class Scope(dict):
    vars().update(
        watching("globals", dict, "__getitem__", "__contains__", "get", "keys", "values", "items")
    )
    vars().update(watching("globals", dict, "__iter__", "__eq__", "__len__", "copy"))


class Backend:
    """What a backend returns: it has none of the attributes that torch or depyf look for."""

    def __init__(self, module, examples):
        self.module = module

    def __call__(self, *arguments):
        return self.module(*arguments)

    def __getattribute__(self, name):
        note("backend", name)
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        note("backend", name)
        raise AttributeError(name)


class Refused(Exception):
    vars().update(watching("exception of a backend", Exception))


def refuses(module, examples):
    raise Refused("no")


class Table(dict):
    vars().update(watching("dict", dict, "__getitem__", "__iter__", "__eq__", "__len__"))


class Text(str):
    vars().update(watching("str", str, "__eq__", "__hash__", "__str__", "__format__", "__len__"))
    vars().update(watching("str", str, "encode", "endswith", "startswith", "partition"))


class File(str):
    vars().update({name: vars(Text)[name] for name in vars(Text) if callable(vars(Text)[name])})
    __eq__ = str.__eq__  # a dictionary compares it with its key
    __hash__ = vars(Text)["__hash__"]


class Failure(Exception):
    vars().update(watching("exception", Exception, "__str__", "__repr__"))


class Holder:
    made, kind = Plain(), Plain

    def method(self, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2


class MetaOfFunction(type(torch.autograd.Function)):
    vars().update(
        watching("function", type(torch.autograd.Function), "__repr__", "__hash__", "__eq__")
    )
    if torch.__version__ >= "2.15":
        # its guard of `apply` never holds where the class of the function has this
        vars().pop("__getattribute__")


class Doubled(torch.autograd.Function, metaclass=MetaOfFunction):
    made = Plain()

    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


class Node:
    vars().update(watching("node", object, "__eq__", "__hash__", "__repr__", "__format__"))

    def __init__(self, value, kept):
        self.value, self.kept = value, kept


def parts_of(node):
    return [node.value], node.kept


def node_of(parts, kept):
    return Node(parts[0], kept)


pytree.register_pytree_node(Node, parts_of, node_of)


class Kept(Plain):
    __hash__ = Plain.__hash__

    def __eq__(self, other):
        note("kept", "__eq__")
        return type(other) is Kept


class Wrapper(torch.Tensor):
    """A tensor of two parts, one of which is an object of the program."""

    @staticmethod
    def __new__(cls, inner, meta):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner, meta):
        self.inner, self.meta = inner, meta

    def __tensor_flatten__(self):
        note("wrapper", "__tensor_flatten__")
        return ["inner"], self.meta

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Wrapper(inner["inner"], meta)

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments, keywords=None):
        note("wrapper", "__torch_dispatch__")
        plain = [one.inner if isinstance(one, Wrapper) else one for one in arguments]
        found = function(*plain, **(keywords or {}))
        return Wrapper(found, Kept()) if isinstance(found, torch.Tensor) else found

    def __repr__(self):
        note("wrapper", "__repr__")
        return "wrapper"


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        note("mode", "__torch_function__")
        return function(*arguments, **(keywords or {}))


shared = Plain()


def uses_global(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * shared.factor


def closure(kept):
    def inner(x, extra=kept):
        y = x + 1
        torch._dynamo.graph_break()
        return y if kept is extra else y * 2

    return inner


def hands_on(a, b, c, *rest, **more):
    y = a + 1
    torch._dynamo.graph_break()
    return y, b, c, rest, more


def looks_up(x, table):
    y = x + table["a"]
    torch._dynamo.graph_break()
    return y * table["a"]


def of_node(node, x):
    (value,), spec = pytree.tree_flatten(node)
    y = value + x
    torch._dynamo.graph_break()
    return pytree.tree_unflatten([y * 2], spec)


def doubled(x):
    y = Doubled.apply(x)
    torch._dynamo.graph_break()
    return Doubled.apply(y).sum()


def with_constant(value):
    """A function that has an object of the program among its constants."""

    code = uses_global.__code__
    return types.FunctionType(code.replace(co_consts=code.co_consts + (value,)), globals())


def fails_in_backward(x):
    from torch._dynamo.backends.common import aot_autograd

    def forward(module, examples):
        return module

    backend = aot_autograd(fw_compiler=forward, bw_compiler=refuses)
    call = torch.compile(lambda x: (x.sin() * x.shape[0]).sum(), dynamic=True, backend=backend)
    try:
        call(x).backward()
    except Exception:
        pass


def other_backends():
    torch._dynamo.reset()
    x = torch.ones(2, requires_grad=True)
    torch.compile(doubled, backend="aot_eager")(x).backward()
    torch.compile(doubled)(x).backward()
    torch.compile(of_node, backend="aot_eager")(Node(x, Plain()), x)
    torch.compile(hands_on, backend="aot_eager")(Wrapper(torch.ones(2), Kept()), 1, 2)
    train = torch.compile(lambda x: x.sin().sum(), backend="aot_eager")
    train(Wrapper(torch.ones(2), Kept()).requires_grad_()).backward()
    fails_in_backward(torch.ones(3, requires_grad=True))
    with Mode():
        torch.compile(looks_up, backend="aot_eager")(x, {"a": 2})


def raises(x):
    y = x + 1
    torch._dynamo.graph_break()
    raise Failure(y)


def by_member(x, color, table):
    y = x + table[color]
    torch._dynamo.graph_break()
    return y if color is Color.RED else y * 2


def with_other_names():
    """A function whose code, module and file have names of a class of the program's."""
    code = raises.__code__.replace(co_name=Text("other"), co_filename=File("/a/b.py"))
    return types.FunctionType(code, dict(globals(), __name__=Text("module"), __loader__=None))


def with_other_globals():
    return types.FunctionType(uses_global.__code__.replace(), Scope(globals()))


def run():
    for backend in (Backend, refuses):
        for _ in range(2):
            try:
                torch.compile(Plain().method, backend=backend)(torch.ones(2))
            except Exception as error:
                if backend is not refuses:
                    raise error
        torch._dynamo.reset()
    x, plain, module = torch.ones(2), Plain(), Module()
    tensor, table, text = torch.ones(2).as_subclass(Tensor), Table(a=2), Text("q")
    for function, arguments in [
        (plain, (x,)),
        (plain.method, (x,)),
        (Plain.of_class, (x,)),
        (module, (x,)),
        (uses_global, (x,)),
        (closure(Plain()), (x,)),
        (hands_on, (x, plain, module, tensor, table, text)),
        (hands_on, (x, text, table, [plain])),
        (hands_on, (tensor, 1, 2)),
        (looks_up, (x, table)),
        (raises, (x,)),
        (Holder().method, (x,)),
        (with_constant(Plain()), (x,)),
        (with_constant(Plain), (x,)),
        (with_constant((Plain(), 1)), (x,)),
        (by_member, (x, Color.RED, {Color.RED: 2, Key("k"): 3})),
        (by_member, (x, Key("k"), {Color.RED: 2, Key("k"): 3})),
        (with_other_names(), (x,)),
        (with_other_globals(), (x,)),
    ]:
        for _ in range(2):
            try:
                torch.compile(function, backend="eager")(*arguments)
            except Failure:
                pass
    other_backends()


if __name__ == "__main__":
    way = depyf.capture() if sys.argv[1] == "capture" else depyf.prepare_debug(sys.argv[2])
    with way as found:
        run()
    for key, count in sorted(asked.items()):
        print(count, *key)
    print("%d compiles" % len(list(found.entries())))
