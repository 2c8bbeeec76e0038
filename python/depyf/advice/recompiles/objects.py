"""Rows of types, of objects, and of values that are one of a few: flags, texts, None."""

from depyf.advice import helps, row

_TYPE = """
@torch.compile(backend="eager", dynamic=True)
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), 2), f(torch.ones(3), 2.0)]
"""
_CONTAINER = """
@torch.compile(backend="eager")
def f(x, past):
    return x + past[0]

result = [f(torch.ones(3), past) for past in ((torch.ones(3),), [torch.ones(3)])]
"""
_GIVEN = """
@torch.compile(backend="eager")
def f(x, past):
    return x * 1 if past is None else x + past[0]

result = [f(torch.ones(3), past) for past in ((torch.ones(3),), None)]
"""
_TENSOR_TYPE = """
@torch.compile(backend="eager")
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.tensor(2.0)), f(torch.ones(3), 2.0)]
"""
_LAYERS = """
class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    @torch.compile(backend="eager")
    def forward(self, x):
        return x * self.index + 1

layers = torch.nn.ModuleList(Layer(index) for index in range(2, 6))
result = torch.ones(3)
for layer in layers:
    result = layer(result)
"""
_SCALES = """
class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    @torch.compile(backend="eager")
    def forward(self, x, scales):
        return x * scales[self.index]

layers = torch.nn.ModuleList(Layer(index) for index in range(4))
scales = [torch.full((3,), 2.0)] * 4
result = torch.ones(3)
for layer in layers:
    result = layer(result, scales)
"""
_TRIALS = """
class Trial:
    def __init__(self, kind):
        self.kind = kind

    @torch.compile(backend="eager")
    def run(self, x):
        y = x.sin() if self.kind == "wave" else x.cos()
        return y * 2 + 1

result = []
for kind in ("wave", "turned", "other"):
    trial = Trial(kind)
    result.append(trial.run(torch.ones(3)))
"""
_TEXT = """
@torch.compile(backend="eager")
def f(x, name):
    return x * len(name)

result = [f(torch.ones(3), name) for name in ("ab", "abc", "abcd")]
"""
_CHOOSING = """
heads = {"plain": torch.abs, "other": torch.neg, "third": torch.exp}

@torch.compile(backend="eager")
def f(x, kind):
    return heads[kind](x.sin())

result = [f(torch.ones(3), kind) for kind in heads]
"""
_VALUE = """
@torch.compile(backend="eager")
def f(x, kind):
    return x * kind.itemsize

result = [f(torch.ones(3), kind) for kind in (torch.float32, torch.float64)]
"""
_FLAG = """
@torch.compile(backend="eager")
def f(x, flag):
    return x * 2 if flag else x + 1

result = [f(torch.ones(3), flag) for flag in (True, False)]
"""
_NONE = """
@torch.compile(backend="eager")
def f(x, mask):
    if mask is not None:
        x = x * mask
    return x + 1

result = [f(torch.ones(3), None), f(torch.ones(3), torch.ones(3))]
"""
_KEPT = """
@torch.compile(backend="eager")
def f(x):
    y = x + 1
    total = y.sum().item()
    return y * total

result = [f(torch.ones(3) * scale) for scale in (1, 2, 3)]
"""
_MADE_BEFORE = """
def label(x, kinds):
    names = [kind for kind in kinds if kind != "-"]
    print("labelled")
    return x * len(names)

@torch.compile(backend="eager")
def f(x):
    return label(x, "a") + label(x, "a-b")

result = f(torch.ones(3))
"""
_CLASSES = """
@torch.compile(backend="eager")
def f(model, x):
    return model(x) * 2

models = [torch.nn.Sequential(part) for part in (torch.nn.Tanh(), torch.nn.SiLU())]
result = [f(model, torch.ones(3)) for model in models]
"""
_BLOCK = """
class Block(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layer = torch.nn.ModuleList(torch.nn.Tanh() for _ in range(count))

    def forward(self, x):
        for one in self.layer:
            x = one(x)
        return x
"""
_MODULES = (
    _BLOCK
    + """
@torch.compile(backend="eager")
def f(model, x):
    return model(x) * 2

result = [f(Block(count), torch.ones(3)) for count in (2, 3)]
"""
)
_TOKENIZER = """
vocabulary = {"the": 0, "cat": 1, "sat": 2}
table = torch.arange(12.0).reshape(3, 4)

def tokenize(text):
    return torch.tensor([vocabulary[word] for word in text.split()])

@torch.compile(backend="eager", dynamic=True)
def embed(text):
    return table[tokenize(text)].sum(0)

result = [embed(text) for text in ("the cat", "the cat sat", "cat the sat the")]
"""
_SET_LATER = """
class Config:
    def __init__(self):
        self.kind = None

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()

    def forward(self, x):
        if self.config.kind is None:
            self.config.kind = "single"
        return x * 2 if self.config.kind == "single" else x

model = torch.compile(Model(), backend="eager")
result = [model(torch.ones(3)) for _ in range(3)]
"""
ROWS = (
    row(
        "type",
        "",
        [
            helps(
                "Pass the same type at each call; numbers that change may be passed as tensors.",
                _TYPE,
                """
@torch.compile(backend="eager", dynamic=True)
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.tensor(2.0)), f(torch.ones(3), torch.tensor(2.0))]
""",
            )
        ],
    ),
    row(
        "class of a module",
        "",
        [
            helps(
                "Each class of module needs separate code: one compile for each is normal and "
                "needs no action. Code that does not call such a module can be compiled apart, "
                "once for all of them.",
                _CLASSES,
                """
@torch.compile(backend="eager")
def double(y):
    return y * 2

models = [torch.nn.Sequential(part) for part in (torch.nn.Tanh(), torch.nn.SiLU())]
result = [double(model(torch.ones(3))) for model in models]
""",
            )
        ],
    ),
    row(
        "number of modules",
        "",
        [
            helps(
                "Torch compiles the modules in a container one by one: one compile for each number "
                "of them is normal and needs no action. Code that does not call them can be "
                "compiled apart, once for all.",
                _MODULES,
                _BLOCK
                + """
@torch.compile(backend="eager")
def double(y):
    return y * 2

result = [double(Block(count)(torch.ones(3))) for count in (2, 3)]
""",
            )
        ],
    ),
    row(
        "container's type",
        "",
        [
            helps(
                "Pass the same kind of container at each call: tuple({name}), or list({name}), "
                "before the compiled function is called.",
                _CONTAINER,
                """
@torch.compile(backend="eager")
def f(x, past):
    return x + past[0]

result = [f(torch.ones(3), tuple(past)) for past in ((torch.ones(3),), [torch.ones(3)])]
""",
                "{name} = tuple({name})",
            )
        ],
    ),
    row(
        "given or None",
        "",
        [
            helps(
                "The code with and without {name} differs: one compile for each is normal. To "
                "avoid one, replace None by an empty container, or by tensors that change "
                "nothing (ones, zeros).",
                _GIVEN,
                """
@torch.compile(backend="eager")
def f(x, past):
    return x + past[0]

result = [f(torch.ones(3), past) for past in ((torch.ones(3),), (torch.zeros(3),))]
""",
            )
        ],
    ),
    row(
        "tensor or not",
        "",
        [
            helps(
                "Pass the same type at each call, or convert before the compiled function is "
                "called.",
                _TENSOR_TYPE,
                """
@torch.compile(backend="eager")
def f(x, scale):
    return x * scale

result = [f(torch.ones(3), torch.as_tensor(scale)) for scale in (torch.tensor(2.0), 2.0)]
""",
                "{name} = torch.as_tensor({name})",
            )
        ],
    ),
    row(
        "kept value",
        "",
        [
            helps(
                "The value comes from the code before the graph break at {at}. A tensor, or a "
                "value computed in the graph without that break, causes no recompile; a Python "
                "value that is passed in, or that an object or a global holds, still does.",
                _KEPT,
                _KEPT.replace(".item()", ""),
            )
        ],
    ),
    row(
        "made before a break",
        "",
        [
            helps(
                "The value is made in the same call, up to the graph break at {at}. torch guards "
                "it only because a break stands between what makes it and what uses it. Remove "
                "the breaks there, as the advice for them says: for this value, torch then "
                "compiles again only where what it is made of differs (arguments, what objects "
                "and globals hold).",
                _MADE_BEFORE,
                _MADE_BEFORE.replace('    print("labelled")\n', ""),
            )
        ],
    ),
    row(
        "value of each object",
        "",
        [
            helps(
                "{name} is set when its object is made, such as the index of a layer. So each "
                "object has separate compiles, and together they may reach torch's limit. "
                "Of objects that are used one after the other, such as one for each trial, these "
                "are normal. Of objects that each call uses, such as layers, compile the code "
                "that calls all of them: the module that holds them, as torch.compile(model), or "
                "a function that takes them as an argument and loops over them. torch unrolls the "
                "loop into one compile.",
                _SCALES,
                _SCALES.replace('    @torch.compile(backend="eager")\n', "")
                .replace("result = torch.ones(3)\n", "")
                .replace(
                    "for layer in layers:\n    result = layer(result, scales)",
                    '@torch.compile(backend="eager")\ndef f(x):\n    for layer in layers:\n'
                    "        x = layer(x, scales)\n    return x\n\nresult = f(torch.ones(3))",
                ),
            ),
            helps(
                "torch._dynamo.config.{setting} = True makes integer attributes of modules "
                "symbolic from the second value on; with torch.compile(dynamic=True), from the "
                "first on.",
                _LAYERS,
                "torch._dynamo.config.allow_unspec_int_on_nn_module = True\n"
                + _LAYERS.replace('backend="eager"', 'backend="eager", dynamic=True'),
                "torch._dynamo.config.{setting} = True",
            ),
        ],
    ),
    row(
        "value of objects in turn",
        "",
        [
            helps(
                "{name} is set when its object is made, and the objects are used one after the "
                "other: one compile for each value is normal and needs no action. Code that does "
                "not use it can be compiled apart, once for all of them.",
                _TRIALS,
                """
@torch.compile(backend="eager")
def double(y):
    return y * 2 + 1

class Trial:
    def __init__(self, kind):
        self.kind = kind

    def run(self, x):
        return double(x.sin() if self.kind == "wave" else x.cos())

result = []
for kind in ("wave", "turned", "other"):
    trial = Trial(kind)
    result.append(trial.run(torch.ones(3)))
""",
            ),
        ],
    ),
    row(
        "flag",
        "",
        [
            helps(
                "Each of the two values needs separate code: one compile for each is normal. To "
                "avoid one, decide with a tensor: torch.where(flag, a, b).",
                _FLAG,
                """
@torch.compile(backend="eager")
def f(x, flag):
    return torch.where(flag, x * 2, x + 1)

result = [f(torch.ones(3), torch.tensor(flag)) for flag in (True, False)]
""",
            )
        ],
    ),
    row(
        "value",
        "",
        [
            helps(
                "If it is one of a few values (a dtype, a device), one compile for each is "
                "normal. If the code uses only a result computed from it, compute that before "
                "the call, and pass it as a tensor.",
                _VALUE,
                """
@torch.compile(backend="eager")
def f(x, size):
    return x * size

sizes = (torch.float32, torch.float64)
result = [f(torch.ones(3), torch.tensor(kind.itemsize)) for kind in sizes]
""",
            )
        ],
    ),
    row(
        "text that chooses",
        "",
        [
            helps(
                "The string selects what is computed, so one compile for each is normal and "
                "needs no action. To compile the shared code once, select outside of the "
                "compiled function.",
                _CHOOSING,
                _CHOOSING.replace("f(x, kind)", "f(x)", 1)
                .replace("heads[kind](x.sin())", "x.sin()")
                .replace("f(torch.ones(3), kind)", "heads[kind](f(torch.ones(3)))"),
            ),
        ],
    ),
    row(
        "text",
        "",
        [
            helps(
                "If the string selects what is computed, one compile for each string is normal. "
                "If the code uses only a result computed from it (its length, a number from a "
                "table), compute that before the call, and pass it as a tensor.",
                _TEXT,
                """
@torch.compile(backend="eager")
def f(x, length):
    return x * length

result = [f(torch.ones(3), torch.tensor(len(name))) for name in ("ab", "abc", "abcd")]
""",
            ),
            helps(
                "A tokenizer, or another lookup by string, belongs before the call: compile the "
                "function that takes its numbers.",
                _TOKENIZER,
                """
vocabulary = {"the": 0, "cat": 1, "sat": 2}
table = torch.arange(12.0).reshape(3, 4)

def tokenize(text):
    return torch.tensor([vocabulary[word] for word in text.split()])

@torch.compile(backend="eager", dynamic=True)
def embed(tokens):
    return table[tokens].sum(0)

result = [embed(tokenize(text)) for text in ("the cat", "the cat sat", "cat the sat the")]
""",
            ),
        ],
    ),
    row(
        "none that is set",
        "",
        [
            helps(
                "Give {name} its value before the compiled function is called for the first time, "
                "as where the object is made: then it is the same at all calls. If the function "
                "itself sets it, look up what it sets.",
                _SET_LATER,
                _SET_LATER.replace("self.kind = None", 'self.kind = "single"'),
            )
        ],
    ),
    row(
        "none",
        "",
        [
            helps(
                "Each of the two needs separate code: one compile for each is normal. To avoid "
                "one, replace None by a value that changes nothing (a tensor of ones or zeros, a "
                "function that returns its argument).",
                _NONE,
                """
@torch.compile(backend="eager")
def f(x, mask):
    return x * mask + 1

result = [f(torch.ones(3), torch.ones(3)), f(torch.ones(3), torch.ones(3))]
""",
            )
        ],
    ),
)
