"""Prints what depyf asks of the program's own objects: every call of a method of theirs, also of
`__getattribute__`, `__eq__` or `__instancecheck__`, with a frame of depyf's on the stack.

    python watchful_objects.py capture|prepare_debug FOLDER
"""

import collections
import os
import sys

import depyf
import torch

OWN = os.path.dirname(os.path.abspath(depyf.__file__)) + os.sep
asked = collections.Counter()


def note(what, name):
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(OWN):
            asked[what, name, frame.f_code.co_filename[len(OWN) :], frame.f_lineno] += 1
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


class Tensor(torch.Tensor):
    vars().update(watching("tensor", torch.Tensor))


class Table(dict):
    vars().update(watching("dict", dict, "__getitem__", "__iter__", "__eq__", "__len__"))


class Text(str):
    vars().update(watching("str", str, "__eq__", "__hash__", "__str__", "__format__", "__len__"))


class Failure(Exception):
    vars().update(watching("exception", Exception, "__str__", "__repr__"))


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


def raises(x):
    y = x + 1
    torch._dynamo.graph_break()
    raise Failure(y)


def run():
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
    ]:
        for _ in range(2):
            try:
                torch.compile(function, backend="eager")(*arguments)
            except Failure:
                pass


if __name__ == "__main__":
    way = depyf.capture() if sys.argv[1] == "capture" else depyf.prepare_debug(sys.argv[2])
    with way as found:
        run()
    for key, count in sorted(asked.items()):
        print(count, *key)
    print("%d compiles" % len(list(found.entries())))
