"""Runs small programs under torch.compile and leaves a dump of each: `program.py FOLDER`."""

import os
import sys

import torch

import depyf

torch.manual_seed(0)


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def toy(folder):
    with depyf.prepare_debug(folder):
        compiled = torch.compile(toy_example)
        a, b = torch.linspace(-3, 3, 10), torch.linspace(-1, 2, 10)
        compiled(a, b)
        compiled(a, -b)


class Layer(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = torch.nn.Linear(size, size)
        self.outer = torch.nn.Linear(size, size)

    def forward(self, x):
        return x + self.outer(torch.relu(self.inner(x)))


class Model(torch.nn.Module):
    def __init__(self, size, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(size) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def training(folder, depth=20):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        compiled = torch.compile(Model(8, depth), backend="aot_eager")
        compiled(torch.ones(2, 8)).sum().backward()


def provenance(folder):
    torch._dynamo.reset()
    with torch._inductor.config.patch({"trace.provenance_tracking_level": 1}):
        with depyf.prepare_debug(folder):
            torch.compile(toy_example)(torch.linspace(-3, 3, 10), torch.linspace(-1, 2, 10))


def warm(folder):
    """The toy again: its graphs and kernels come from torch's caches."""
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        torch.compile(toy_example)(torch.linspace(-3, 3, 10), torch.linspace(-1, 2, 10))


def weights(q, k):
    scores = q @ k.transpose(-1, -2) * 0.25
    return torch.softmax(scores, dim=-1)


def rewritten(folder):
    """A softmax that a pass of Inductor's replaces by other nodes, which name no source line."""
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        torch.compile(weights)(torch.ones(2, 8, 16), torch.ones(2, 8, 16))


class Norm(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def rotated(x, angles):
    low, high = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-high, low), dim=-1) * angles.sin()


class Decoder(torch.nn.Module):
    """A layer as Llama has it: RMS norm, rotary positions, fewer heads for keys than for queries,
    gated units.
    """

    def __init__(self, size, heads, shared):
        super().__init__()
        self.heads, self.shared, self.each = heads, shared, size // heads
        self.before, self.after = Norm(size), Norm(size)
        self.q, self.o = (
            torch.nn.Linear(size, size, bias=False),
            torch.nn.Linear(size, size, bias=False),
        )
        self.k, self.v = (torch.nn.Linear(size, shared * self.each, bias=False) for _ in range(2))
        self.gate, self.up = (torch.nn.Linear(size, 2 * size, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(2 * size, size, bias=False)

    def forward(self, x, angles):
        batch, length, _ = x.shape
        y = self.before(x)
        q = rotated(self.q(y).view(batch, length, self.heads, self.each).transpose(1, 2), angles)
        k = rotated(self.k(y).view(batch, length, self.shared, self.each).transpose(1, 2), angles)
        v = self.v(y).view(batch, length, self.shared, self.each).transpose(1, 2)
        k, v = (one.repeat_interleave(self.heads // self.shared, dim=1) for one in (k, v))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        y = self.after(x)
        return x + self.down(torch.nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(torch.nn.Module):
    def __init__(self, words=64, size=32, depth=2):
        super().__init__()
        self.embed = torch.nn.Embedding(words, size)
        self.layers = torch.nn.ModuleList([Decoder(size, 4, 2) for _ in range(depth)])
        self.norm, self.head = Norm(size), torch.nn.Linear(size, words, bias=False)

    def forward(self, input_ids, labels):
        x = self.embed(input_ids)
        steps = torch.arange(input_ids.shape[1])[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)
        angles = torch.cat((steps, steps), dim=-1)
        for layer in self.layers:
            x = layer(x, angles)
        logits = self.head(self.norm(x))
        return torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        )


def llama(folder):
    torch._dynamo.reset()
    words = torch.randint(0, 64, (2, 12))
    with depyf.prepare_debug(folder):
        torch.compile(Llama(), backend="aot_eager")(words, words).backward()


class Bert(torch.nn.Module):
    def __init__(self, words=64, size=32, depth=2):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, size), torch.nn.Embedding(40, size)
        self.norm = torch.nn.LayerNorm(size)
        layer = torch.nn.TransformerEncoderLayer(
            size, 4, 2 * size, activation="gelu", batch_first=True
        )
        self.layers = torch.nn.ModuleList([layer for _ in range(depth)])

    def forward(self, input_ids):
        x = self.norm(self.words(input_ids) + self.places(torch.arange(input_ids.shape[1])))
        for layer in self.layers:
            x = layer(x)
        return x[:, 0].tanh()


def bert(folder):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder), torch.no_grad():
        compiled = torch.compile(Bert(), backend="aot_eager")
        for length in (12, 13):
            compiled(torch.randint(0, 64, (2, length)))


def transformers_models(folder):
    """The same two of transformers, from configurations, where that is installed."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM
    except ImportError:
        return
    size = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    words = torch.randint(0, 64, (2, 12))
    torch._dynamo.reset()
    with depyf.prepare_debug(folder + "_llama"):
        model = LlamaForCausalLM(
            LlamaConfig(num_key_value_heads=2, max_position_embeddings=64, **size)
        )
        torch.compile(model, backend="aot_eager")(input_ids=words, labels=words).loss.backward()
    torch._dynamo.reset()
    with depyf.prepare_debug(folder + "_bert"), torch.no_grad():
        compiled = torch.compile(
            BertModel(BertConfig(max_position_embeddings=64, **size)).eval(), backend="aot_eager"
        )
        for length in (12, 13):
            compiled(input_ids=words[:, :1].expand(2, length).contiguous())


def scaled(x, factor, values):
    y = x * factor
    for value in values:
        y = y + value
    return y


def recompiles(folder):
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        compiled = torch.compile(scaled, backend="eager")
        compiled(torch.ones(3), 1.0, [1])
        compiled(torch.ones(4), 1.0, [1])
        compiled(torch.ones(4), 2.0, [1])
        compiled(torch.ones(4), 2.0, [1, 2])
        compiled(torch.ones(4, dtype=torch.float64), 2.0, [1, 2])


def summed(values, limit):
    total = values.sum()
    for value in values:
        if value.item() > limit:
            total = total - value
    return total


def given_up(folder):
    """A graph break in a loop, where torch skips the whole function."""
    torch._dynamo.reset()
    with depyf.prepare_debug(folder):
        torch.compile(summed, backend="eager")(torch.ones(3), 2.0)


def ranks(folder):
    for rank, sizes in ((0, [3]), (1, [3, 3])):
        torch._dynamo.reset()
        with depyf.prepare_debug(os.path.join(folder, "rank_%d" % rank)):
            torch.compile(scaled, backend="eager")(torch.ones(3), 1.0, sizes)


class Methods(torch.nn.Module):
    def forward(self, x):
        y = x.sum(dim=0)
        return y.view(2, -1).relu() + x.mean()


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(8, 8)

    def forward(self, x):
        state = torch.zeros_like(x)
        for _ in range(3):
            state = self.cell(x, state)
        return state


class Conditional(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x.sin(), (x,))


class Indexed(torch.nn.Module):
    def forward(self, x):
        low, high = x.chunk(2, dim=-1)
        values, places = torch.cat((high, low), -1).topk(2)
        return {"values": values, "rest": [x[places[0] % 4], x[..., None]]}


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x[None], x[None], x[None], need_weights=False)[0]


class Residual(torch.nn.Module):
    """What is computed first is read in each layer."""

    def __init__(self, depth=12):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(depth)])

    def forward(self, x):
        first = x.tanh()
        for layer in self.layers:
            x = layer(x) + first
        return x * first


def models(folder):
    """Ten models with the edges that their graphs have, as the graphs themselves say."""
    import json  # here, since tests name lines of this file

    convolution = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 2, 4)), torch.nn.Conv2d(1, 2, 1), torch.nn.Flatten()
    )
    normalised = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
    table = {
        "methods": Methods(),
        "linear": torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()),
        "convolution": convolution,
        "attention": Attention(),
        "recurrent": Recurrent(),
        "normalised": normalised,
        "conditional": Conditional(),
        "indexed": Indexed(),
        "nested": Model(8, 3),
        "residual": Residual(),
    }
    told = {}
    for name, model in table.items():

        def backend(module, inputs, name=name):
            nodes = list(module.graph.nodes)
            told[name] = {
                "edges": [
                    [read.name, node.name] for node in nodes for read in node.all_input_nodes
                ],
                "parameters": [
                    node.name
                    for node in nodes
                    if node.op == "get_attr"
                    or node.op == "placeholder"
                    and ("_parameters_" in node.target or "_buffers_" in node.target)
                ],
            }
            return module.forward

        torch._dynamo.reset()
        with depyf.prepare_debug(os.path.join(folder, name)):
            torch.compile(model, backend=backend)(torch.ones(4, 8))
    with open(os.path.join(os.path.dirname(folder), "edges.json"), "w") as file:
        json.dump(told, file)


def nothing(folder):
    with depyf.prepare_debug(folder):
        pass


if __name__ == "__main__":
    for program in (
        toy,
        warm,
        provenance,
        rewritten,
        training,
        llama,
        bert,
        transformers_models,
        recompiles,
        given_up,
        ranks,
        models,
        nothing,
    ):
        program(os.path.join(sys.argv[1], program.__name__))
