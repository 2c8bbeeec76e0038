"""How readable is the transformed code of real models?

    python bench/readable_dumps.py [--models llama,bert] [--modes training,breaks] [--keep F]

Compiles two-layer models of transformers, from configurations with random weights, writes a dump of
each, and counts in all transformed code: statements with a line over 100 columns, assignments to
more than four targets, assignment expressions, locals with generic names (`value_3`, `tmp_3`), and
code objects that are not proven. Each model runs in a process of its own.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile

WIDEST = 100
MOST_TARGETS = 4
GENERIC = re.compile(r"(value|tmp|temp|__temp)(_\d+)?$")
MODES = ("inference", "training", "breaks")
SMALL = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=64, num_key_value_heads=2, max_position_embeddings=64, **SMALL)
    return LlamaForCausalLM(config), tokens(), "labels"


def bert():
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(BertConfig(vocab_size=64, **SMALL)), tokens(), "labels"


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=4)
    return GPT2LMHeadModel(config), tokens(), "labels"


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    inputs = tokens()
    inputs["decoder_input_ids"] = inputs["input_ids"][:, :5]
    return T5ForConditionalGeneration(config), inputs, None


def vit():
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(image_size=32, patch_size=16, **SMALL)
    return ViTForImageClassification(config), {"pixel_values": torch.randn(2, 3, 32, 32)}, None


def whisper():
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=64, num_mel_bins=8, encoder_layers=2, decoder_layers=2, d_model=32,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, max_source_positions=16, max_target_positions=16, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    inputs = {
        "input_features": torch.randn(2, 8, 32),
        "decoder_input_ids": tokens()["input_ids"][:, :5],
    }
    return WhisperForConditionalGeneration(config), inputs, None


def mamba():
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=64, hidden_size=32, state_size=4, num_hidden_layers=2)
    return MambaForCausalLM(config), tokens(), "labels"


def clip():
    import torch
    from transformers import CLIPConfig, CLIPModel

    text = dict(SMALL, vocab_size=64, max_position_embeddings=16, eos_token_id=2)
    vision = dict(SMALL, image_size=32, patch_size=16)
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    return CLIPModel(config), dict(tokens(), pixel_values=torch.randn(2, 3, 32, 32)), None


def wav2vec2():
    import torch
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(
        vocab_size=16, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
        num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
        apply_spec_augment=False, layerdrop=0.0, **SMALL,
    )  # fmt: skip
    return Wav2Vec2ForCTC(config), {"input_values": torch.randn(2, 800)}, None


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=64, num_key_value_heads=2, num_local_experts=2, num_experts_per_tok=1, **SMALL
    )
    return MixtralForCausalLM(config), tokens(), "labels"


def qwen2_moe():
    from transformers import Qwen2MoeConfig, Qwen2MoeForCausalLM

    config = Qwen2MoeConfig(
        vocab_size=64, num_key_value_heads=2, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=32, shared_expert_intermediate_size=32, **SMALL,
    )  # fmt: skip
    return Qwen2MoeForCausalLM(config), tokens(), "labels"


def deberta():
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM

    config = DebertaV2Config(
        vocab_size=64, max_position_embeddings=32, relative_attention=True, position_buckets=8,
        pos_att_type=["p2c", "c2p"], **SMALL,
    )  # fmt: skip
    return DebertaV2ForMaskedLM(config), tokens(), "labels"


def swin():
    import torch
    from transformers import SwinConfig, SwinForImageClassification

    config = SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    return SwinForImageClassification(config), {"pixel_values": torch.randn(2, 3, 32, 32)}, None


def longformer():
    from transformers import LongformerConfig, LongformerForMaskedLM

    config = LongformerConfig(
        vocab_size=64, attention_window=[4, 4], max_position_embeddings=40, pad_token_id=0, **SMALL
    )
    return LongformerForMaskedLM(config), tokens(), "labels"


def bigbird():
    import torch
    from transformers import BigBirdConfig, BigBirdForMaskedLM

    config = BigBirdConfig(
        vocab_size=64, block_size=4, num_random_blocks=1, max_position_embeddings=128, **SMALL
    )
    return BigBirdForMaskedLM(config), {"input_ids": torch.randint(3, 64, (2, 64))}, "labels"


def xlnet():
    from transformers import XLNetConfig, XLNetLMHeadModel

    config = XLNetConfig(vocab_size=64, d_model=32, n_layer=2, n_head=4, d_inner=64)
    return XLNetLMHeadModel(config), tokens(), "labels"


def detr():
    import torch
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    backbone = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"],
        layer_type="basic",
    )  # fmt: skip
    config = DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=backbone, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_queries=5,
    )  # fmt: skip
    return DetrForObjectDetection(config), {"pixel_values": torch.randn(1, 3, 64, 64)}, None


def rwkv():
    from transformers import RwkvConfig, RwkvForCausalLM

    config = RwkvConfig(
        vocab_size=64, hidden_size=32, attention_hidden_size=32, intermediate_size=64,
        num_hidden_layers=2, context_length=32,
    )  # fmt: skip
    return RwkvForCausalLM(config), tokens(), "labels"


def written(cls, inputs):
    """A model that stands in this file, and its inputs."""
    from types import SimpleNamespace

    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = cls()

        def forward(self, **inputs):
            return SimpleNamespace(logits=self.inner(**inputs))

    return Model(), inputs, None


def resnet():
    """A residual network with blocks of two convolutions, as in torchvision."""
    import torch
    from torch import nn

    class BasicBlock(nn.Module):
        def __init__(self, width, out, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out)
            self.downsample = None
            if stride != 1:
                layers = [nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out)]
                self.downsample = nn.Sequential(*layers)

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            x = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(x)) + identity)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(8)
            self.layer1 = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 8))
            self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16))
            self.self_attention_pool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(16, 10)

        def forward(self, pixels):
            x = torch.relu(self.bn1(self.conv1(pixels)))
            x = self.layer2(self.layer1(x))
            return self.fc(self.self_attention_pool(x).flatten(1))

    return written(ResNet, {"pixels": torch.randn(2, 3, 32, 32)})


def dlrm():
    """Embeddings of categories, dense features and their products, as recommenders have them."""
    import torch
    from torch import nn

    class InteractionAttention(nn.Module):
        def forward(self, features):
            products = features @ features.transpose(1, 2)
            rows, columns = torch.tril_indices(features.shape[1], features.shape[1], -1)
            return products[:, rows, columns]

    class DLRM(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding_bag_collection = nn.ModuleDict(
                {
                    "categorical_feature_number_%d" % i: nn.EmbeddingBag(20, 8, mode="sum")
                    for i in range(6)
                }
            )
            self.bottom_mlp = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
            self.interaction = InteractionAttention()
            self.top_mlp = nn.Sequential(nn.Linear(29, 16), nn.ReLU(), nn.Linear(16, 1))

        def forward(self, dense, categories):
            features = [self.bottom_mlp(dense)]
            for name, bag in self.embedding_bag_collection.items():
                features.append(bag(categories[name]))
            pairs = self.interaction(torch.stack(features, 1))
            return torch.sigmoid(self.top_mlp(torch.cat([features[0], pairs], 1)))

    names = ["categorical_feature_number_%d" % i for i in range(6)]
    categories = {name: torch.randint(0, 20, (3, 2)) for name in names}
    return written(DLRM, {"dense": torch.randn(3, 4), "categories": categories})


MODELS = {f.__name__: f for f in (llama, bert, gpt2, whisper, vit, t5)}
OTHERS = {
    f.__name__: f
    for f in (
        *(mamba, clip, wav2vec2, mixtral, resnet, dlrm, qwen2_moe, deberta, swin, longformer),
        *(bigbird, xlnet, detr, rwkv),
    )
}


def tokens():
    import torch

    return {"input_ids": torch.randint(3, 64, (2, 9))}


def break_inside(model):
    """A graph break in front of each module whose name tells of an attention."""
    import torch

    def with_break(forward):
        def inner(*args, **kwargs):
            torch._dynamo.graph_break()
            return forward(*args, **kwargs)

        return inner

    seen = 0
    for name, module in model.named_modules():
        if (
            re.search(r"(attn|attention|SelfAttention|interaction|layer2|mixer)$", name)
            and seen < 2
        ):
            module.forward = with_break(module.forward)
            seen += 1
    return model


def run(name, mode, folder):
    """Compile the model in one mode inside this process."""
    import torch

    import depyf

    torch.manual_seed(0)
    model, inputs, labels = dict(MODELS, **OTHERS)[name]()
    with depyf.prepare_debug(folder):
        if mode == "training":
            model.train()
            compiled = torch.compile(model, backend="aot_eager")
            if labels:
                inputs[labels] = inputs["input_ids"]
            out = compiled(**inputs)
            first = out.logits if hasattr(out, "logits") else out[0]
            loss = out.loss if labels else first.sum()
            loss.backward()
        else:
            model.eval()
            if mode == "breaks":
                break_inside(model)
            compiled = torch.compile(model, backend="eager")
            with torch.no_grad():
                compiled(**inputs)
                shorter = {
                    key: value[:, :7] if key == "input_ids" else value
                    for key, value in inputs.items()
                }
                compiled(**shorter)


def targets_of(statement):
    """How many names an assignment binds at once."""
    if not isinstance(statement, ast.Assign):
        return 0
    tuples = [t for t in statement.targets if isinstance(t, (ast.Tuple, ast.List))]
    return max([len(statement.targets)] + [len(t.elts) for t in tuples])


def count(text, own=()):
    """The counts of one file of transformed code; `own` are names of the user's locals."""
    lines = text.splitlines()
    found = {"statements": 0, "wide": 0, "targets": 0, "walruses": 0, "locals": 0, "generic": 0}
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            found["statements"] += 1
            last = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno
            own_lines = lines[node.lineno - 1 : max(node.lineno, last)]
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # the user's docstring
            found["wide"] += any(len(line) > WIDEST for line in own_lines)
            found["targets"] += targets_of(node) > MOST_TARGETS
        found["walruses"] += isinstance(node, ast.NamedExpr)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    names -= set(own)
    found["locals"] = len(names)
    found["generic"] = sum(bool(GENERIC.match(name)) for name in names)
    found["generic_names"] = sorted(name for name in names if GENERIC.match(name))
    return found


def measure(folder):
    """The counts of a dump, and how many code objects there are and how many are not proven."""
    total = {}
    with open(os.path.join(folder, "depyf.json")) as file:
        document = json.load(file)
    entries = [e for f in document["functions"] for e in f["entries"]]
    for entry in entries:
        if not entry.get("path"):
            continue
        with open(os.path.join(folder, entry["path"])) as file:
            found = count(file.read())
        for key, value in found.items():
            total[key] = total.get(key, type(value)()) + value
    total["codes"] = len(entries)
    total["unproven"] = sum(e["verdict"] not in ("exact", "equivalent") for e in entries)
    total["kept"] = sum(not e.get("replaced", True) for e in entries)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models",
        default=",".join(MODELS),
        help="default: %%(default)s; there are %s, too" % ", ".join(OTHERS),
    )
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--keep", help="write the dumps here and leave them")
    parser.add_argument("--count", help="count in this dump, and compile nothing")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        print(summary(measure(options.count)))
        return 0
    if options.one:
        return run(*options.one)
    total = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.models.split(","):
            for mode in options.modes.split(","):
                folder = os.path.join(options.keep or temporary, "%s_%s" % (name, mode))
                try:
                    process = subprocess.run(
                        [sys.executable, __file__, "--one", name, mode, folder],
                        capture_output=True,
                        text=True,
                        timeout=600,
                    )
                except subprocess.TimeoutExpired:
                    print("%s %s took more than 600 s" % (name, mode), flush=True)
                    total["failed"] = total.get("failed", 0) + 1
                    continue
                if process.returncode:
                    print("%s %s failed: %s" % (name, mode, process.stderr[-600:]))
                    total["failed"] = total.get("failed", 0) + 1
                    continue
                found = measure(folder)
                print("%-9s %-10s %s" % (name, mode, summary(found)), flush=True)
                for key, value in found.items():
                    total[key] = total.get(key, type(value)()) + value
    print("all       %-10s %s" % ("", summary(total)))
    good = not any(total.get(k) for k in ("failed", "wide", "targets", "walruses", "unproven"))
    return 0 if good and total["generic"] < 0.05 * total["locals"] else 1


def summary(found):
    shares = ", ".join(
        "%s %d (%.1f %%)" % (what, found[what], 100 * found[what] / max(1, found["statements"]))
        for what in ("wide", "targets", "walruses")
    )
    return "%d codes, %d unproven, %d kept; %d statements: %s; generic %d of %d (%.1f %%)" % (
        found["codes"],
        found["unproven"],
        found["kept"],
        found["statements"],
        shares,
        found["generic"],
        found["locals"],
        100 * found["generic"] / max(1, found["locals"]),
    )


if __name__ == "__main__":
    sys.exit(main())
