"""Tiny models of transformers and timm, made offline from configurations: what to build and what to
feed it.
"""

import torch

#: Sizes under the names that configurations have for them; each configuration gets those that it knows.
SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "d_model": 32,
    "dim": 32,
    "n_embd": 32,
    "n_embed": 32,
    "embed_dim": 32,
    "emb_dim": 32,
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layers": 2,
    "n_layer": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_decoder_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_heads": 4,
    "n_heads": 4,
    "n_head": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "head_dim": 8,
    "d_kv": 8,
    "intermediate_size": 64,
    "ffn_dim": 64,
    "ffn_hidden_size": 64,
    "hidden_dim": 64,
    "d_ff": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "n_inner": 64,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "max_seq_len": 64,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_labels": 3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "image_size": 32,
    "patch_size": 8,
    "projection_dim": 16,
    "max_source_positions": 64,
    "max_target_positions": 64,
}

BATCH = 2
LENGTH = 12


class Model:
    """One model: a class of transformers or a network of timm, its sizes, and its inputs."""

    def __init__(self, name, kind, group, inputs, sizes=None, config=None, train=True):
        self.name = name
        self.kind = kind  # "transformers" or "timm"
        self.group = group
        self.inputs = inputs  # batch size -> keyword arguments
        self.sizes = sizes or {}
        self.config = config  # makes the configuration where sizes are not enough
        self.train = train

    def build(self):
        """The model with random weights; needs no network."""
        if self.kind == "timm":
            import timm

            return timm.create_model(self.name, pretrained=False, **self.sizes)
        import transformers

        model_class = getattr(transformers, self.name)
        if self.config is not None:
            return model_class(self.config(transformers))
        return model_class(tiny(model_class.config_class, **self.sizes))


def tiny(config_class, **sizes):
    """A configuration of that class with the small sizes that it knows, and those given."""
    known = config_class()
    chosen = {key: value for key, value in SMALL.items() if getattr(known, key, None) is not None}
    chosen.update(sizes)
    return config_class(**{key: value for key, value in chosen.items() if value is not ABSENT})


ABSENT = object()  #: as a size: leave the configuration's own


def tokens(batch, length=LENGTH, most=99):
    return torch.randint(3, most, (batch, length))


def text(labels=None, **extra):
    """Token ids with padding, and labels: one for each token, one for each text, or none."""

    def make(batch):
        ids = tokens(batch)
        mask = torch.ones_like(ids)
        mask[0, -2:] = 0
        found = {"input_ids": ids, "attention_mask": mask}
        if labels == "tokens":
            found["labels"] = ids.clone()
        elif labels == "text":
            found["labels"] = torch.arange(batch) % 3
        found.update({key: value(batch) for key, value in extra.items()})
        return found

    return make


def ids_only(labels=None):
    def make(batch):
        ids = tokens(batch)
        return {"input_ids": ids, "labels": ids.clone()} if labels else {"input_ids": ids}

    return make


def two_texts(labels=True):
    """Inputs of an encoder-decoder."""

    def make(batch):
        found = {"input_ids": tokens(batch), "attention_mask": torch.ones(batch, LENGTH).long()}
        found["labels" if labels else "decoder_input_ids"] = tokens(batch, 7)
        return found

    return make


def image(size=32, labels="image", channels=3, frames=None, **extra):
    def make(batch):
        shape = (
            (batch, channels, size, size)
            if frames is None
            else (batch, frames, channels, size, size)
        )
        found = {"pixel_values": torch.randn(shape)}
        if labels == "image":
            found["labels"] = torch.arange(batch) % 3
        elif labels == "map":
            found["labels"] = torch.randint(0, 3, (batch, size, size))
        found.update({key: value(batch) for key, value in extra.items()})
        return found

    return make


def wave(labels=None, samples=1600):
    def make(batch):
        found = {"input_values": torch.randn(batch, samples)}
        if labels == "text":
            found["labels"] = torch.arange(batch) % 3
        elif labels == "tokens":
            found["labels"] = torch.randint(3, 30, (batch, 3))
        return found

    return make


def features(*shape, name="input_features", decoder=False, **extra):
    def make(batch):
        found = {name: torch.randn((batch,) + shape)}
        if decoder:
            found["labels"] = tokens(batch, 7)
        found.update({key: value(batch) for key, value in extra.items()})
        return found

    return make


def text_and_image(size=32, **extra):
    def make(batch):
        ids = tokens(batch)
        ids[:, -1] = 2
        found = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "pixel_values": torch.randn(batch, 3, size, size),
        }
        found.update({key: value(batch) for key, value in extra.items()})
        return found

    return make


def constant(value):
    return lambda batch: value


def transformer(name, group, inputs, sizes=None, config=None, train=True):
    return Model(name, "transformers", group, inputs, sizes, config, train)


AUDIO = {
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 4, 4),
    "conv_kernel": (10, 5, 5),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0.0,
    "layerdrop": 0.0,
    "head_dim": ABSENT,
}
STAGES = {
    "hidden_sizes": [8, 16, 16, 32],
    "depths": [1, 1, 1, 1],
    "patch_size": ABSENT,
    "num_hidden_layers": ABSENT,
}


def clip_like(name):
    def make(transformers):
        parts = {
            part: {
                key: SMALL[key]
                for key in (
                    "hidden_size",
                    "intermediate_size",
                    "num_hidden_layers",
                    "num_attention_heads",
                    "vocab_size",
                    "projection_dim",
                    "image_size",
                    "patch_size",
                    "max_position_embeddings",
                    "pad_token_id",
                    "bos_token_id",
                    "eos_token_id",
                )
                if (part == "text_config") or key not in ("vocab_size",)
            }
            for part in ("text_config", "vision_config")
        }
        for key in ("image_size", "patch_size"):
            parts["text_config"].pop(key)
        for key in ("max_position_embeddings", "pad_token_id", "bos_token_id", "eos_token_id"):
            parts["vision_config"].pop(key)
        return getattr(transformers, name)(projection_dim=16, **parts)

    return make


def _encoder_decoder(transformers):
    encoder = tiny(transformers.BertConfig)
    decoder = tiny(transformers.BertConfig, is_decoder=True, add_cross_attention=True)
    config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id = 1, 0
    return config


def _vision_text(transformers):
    return transformers.VisionTextDualEncoderConfig.from_vision_text_configs(
        tiny(transformers.ViTConfig), tiny(transformers.BertConfig), projection_dim=16
    )


def _llava(transformers):
    return transformers.LlavaConfig(
        vision_config=tiny(transformers.CLIPVisionConfig),
        text_config=tiny(transformers.LlamaConfig),
        image_token_index=98,
        image_token_id=98,
        vision_feature_layer=-1,
        image_seq_length=16,
    )


def _llava_inputs(batch):
    found = text_and_image()(batch)
    found["input_ids"] = torch.cat(
        [torch.full((batch, 16), 98), found["input_ids"].clamp(max=97)], 1
    )
    found["attention_mask"] = torch.ones_like(found["input_ids"])
    found["labels"] = found["input_ids"].clone()
    return found


def _series(batch):
    return {
        "past_values": torch.randn(batch, 31),
        "past_time_features": torch.randn(batch, 31, 2),
        "past_observed_mask": torch.ones(batch, 31),
        "future_values": torch.randn(batch, 8),
        "future_time_features": torch.randn(batch, 8, 2),
    }


SERIES = {
    "prediction_length": 8,
    "context_length": 24,
    "lags_sequence": [1, 2, 7],
    "num_time_features": 2,
    "d_model": 16,
    "vocab_size": ABSENT,
}


def _patches(batch):
    return {"past_values": torch.randn(batch, 32, 3), "future_values": torch.randn(batch, 8, 3)}


def _boxes(batch):
    corners = torch.randint(0, 40, (batch, LENGTH, 2))
    return torch.cat([corners, corners + 10], -1)


ENCODERS = [
    transformer("BertForMaskedLM", "encoder", text("tokens")),
    transformer("BertForSequenceClassification", "encoder", text("text")),
    transformer("RobertaForMaskedLM", "encoder", text("tokens")),
    transformer("XLMRobertaForTokenClassification", "encoder", text()),
    transformer("DistilBertForMaskedLM", "encoder", text("tokens")),
    transformer("AlbertForMaskedLM", "encoder", text("tokens")),
    transformer("ElectraForPreTraining", "encoder", text()),
    transformer("DebertaForMaskedLM", "encoder", text("tokens")),
    transformer(
        "DebertaV2ForMaskedLM",
        "encoder",
        text("tokens"),
        {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 16},
    ),
    transformer("MPNetForMaskedLM", "encoder", text("tokens")),
    transformer(
        "FunnelForMaskedLM",
        "encoder",
        text("tokens"),
        {
            "block_sizes": [1, 1],
            "d_model": 32,
            "n_head": 4,
            "d_head": 8,
            "d_inner": 64,
            "num_hidden_layers": ABSENT,
        },
    ),
    transformer("LongformerForMaskedLM", "encoder", text("tokens"), {"attention_window": 4}),
    transformer(
        "BigBirdForMaskedLM", "encoder", text("tokens"), {"attention_type": "original_full"}
    ),
    transformer("ConvBertForMaskedLM", "encoder", text("tokens")),
    transformer("FNetForMaskedLM", "encoder", ids_only(True)),
    transformer("IBertForMaskedLM", "encoder", text("tokens")),
    transformer("LayoutLMForTokenClassification", "encoder", text(bbox=_boxes)),
    transformer("LiltForTokenClassification", "encoder", text(bbox=_boxes), {"hidden_size": 48}),
    transformer(
        "MobileBertForMaskedLM",
        "encoder",
        text("tokens"),
        {"embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": ABSENT},
    ),
    transformer("ModernBertForMaskedLM", "encoder", text("tokens")),
    transformer(
        "NystromformerForMaskedLM",
        "encoder",
        text("tokens"),
        {"num_landmarks": LENGTH, "segment_means_seq_len": LENGTH},
    ),
    transformer("RemBertForMaskedLM", "encoder", text("tokens")),
    transformer("RoFormerForMaskedLM", "encoder", text("tokens")),
    transformer("SqueezeBertForMaskedLM", "encoder", text("tokens")),
    transformer("ErnieForMaskedLM", "encoder", text("tokens")),
    transformer(
        "EsmForMaskedLM",
        "encoder",
        text("tokens"),
        {"mask_token_id": 3, "vocab_size": 99, "pad_token_id": 0},
    ),
    transformer("MegatronBertForMaskedLM", "encoder", text("tokens")),
    transformer("Data2VecTextForMaskedLM", "encoder", text("tokens")),
    transformer("CanineForSequenceClassification", "encoder", text("text")),
    transformer("XLMWithLMHeadModel", "encoder", text("tokens")),
    transformer(
        "XLNetLMHeadModel",
        "encoder",
        text("tokens"),
        {
            "d_inner": 64,
            "n_layer": 2,
            "num_hidden_layers": ABSENT,
            "d_head": ABSENT,
            "max_position_embeddings": ABSENT,
        },
    ),
    transformer("YosoForMaskedLM", "encoder", text("tokens"), {"use_expectation": True}),
    transformer(
        "PerceiverForSequenceClassification",
        "encoder",
        lambda batch: {"inputs": tokens(batch), "labels": torch.arange(batch) % 3},
        {
            "num_latents": 4,
            "d_latents": 16,
            "d_model": 32,
            "num_blocks": 1,
            "num_self_attends_per_block": 2,
            "num_self_attention_heads": 2,
            "num_cross_attention_heads": 2,
            "num_attention_heads": ABSENT,
            "num_hidden_layers": ABSENT,
            "hidden_size": ABSENT,
        },
    ),
]

MOE_ROPE = {"head_dim": ABSENT}

DECODERS = [
    transformer("GPT2LMHeadModel", "decoder", text("tokens")),
    transformer(
        "GPTNeoForCausalLM",
        "decoder",
        text("tokens"),
        {"attention_types": [[["global", "local"], 1]], "window_size": 4},
    ),
    transformer("GPTNeoXForCausalLM", "decoder", text("tokens")),
    transformer("GPTJForCausalLM", "decoder", text("tokens"), {"rotary_dim": 4}),
    transformer("GPTBigCodeForCausalLM", "decoder", text("tokens")),
    transformer("CodeGenForCausalLM", "decoder", text("tokens"), {"rotary_dim": 4}),
    transformer("LlamaForCausalLM", "decoder", text("tokens")),
    transformer("LlamaForSequenceClassification", "decoder", text("text"), {"pad_token_id": 0}),
    transformer("MistralForCausalLM", "decoder", text("tokens"), {"sliding_window": 4}),
    transformer("MixtralForCausalLM", "decoder", text("tokens")),
    transformer("Qwen2ForCausalLM", "decoder", text("tokens")),
    transformer("Qwen2MoeForCausalLM", "decoder", text("tokens")),
    transformer("Qwen3ForCausalLM", "decoder", text("tokens")),
    transformer("Qwen3MoeForCausalLM", "decoder", text("tokens")),
    transformer("GemmaForCausalLM", "decoder", text("tokens")),
    transformer("Gemma2ForCausalLM", "decoder", text("tokens"), {"sliding_window": 4}),
    transformer("Gemma3ForCausalLM", "decoder", text("tokens"), {"sliding_window": 4}),
    transformer("PhiForCausalLM", "decoder", text("tokens")),
    transformer("Phi3ForCausalLM", "decoder", text("tokens")),
    transformer("OPTForCausalLM", "decoder", text("tokens"), {"word_embed_proj_dim": 32}),
    transformer("BloomForCausalLM", "decoder", text("tokens")),
    transformer("FalconForCausalLM", "decoder", text("tokens"), {"head_dim": ABSENT}),
    transformer("MptForCausalLM", "decoder", text("tokens")),
    transformer("StableLmForCausalLM", "decoder", text("tokens")),
    transformer("Starcoder2ForCausalLM", "decoder", text("tokens")),
    transformer("OlmoForCausalLM", "decoder", text("tokens")),
    transformer("Olmo2ForCausalLM", "decoder", text("tokens")),
    transformer("OlmoeForCausalLM", "decoder", text("tokens")),
    transformer("CohereForCausalLM", "decoder", text("tokens")),
    transformer("Cohere2ForCausalLM", "decoder", text("tokens"), {"sliding_window": 4}),
    transformer("GraniteForCausalLM", "decoder", text("tokens")),
    transformer("MambaForCausalLM", "decoder", ids_only(True), {"state_size": 4}),
    transformer(
        "Mamba2ForCausalLM",
        "decoder",
        ids_only(True),
        {"state_size": 4, "num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8},
    ),
    transformer("BioGptForCausalLM", "decoder", text("tokens")),
    transformer("CTRLLMHeadModel", "decoder", text("tokens"), {"dff": 64}),
    transformer("OpenAIGPTLMHeadModel", "decoder", text("tokens")),
    transformer("XGLMForCausalLM", "decoder", text("tokens"), {"attention_heads": 4}),
    transformer("PersimmonForCausalLM", "decoder", text("tokens")),
    transformer(
        "RecurrentGemmaForCausalLM",
        "decoder",
        text("tokens"),
        {"lru_width": 32, "attention_window_size": 8, "num_hidden_layers": 3},
    ),
    transformer(
        "JambaForCausalLM",
        "decoder",
        text("tokens"),
        {
            "use_mamba_kernels": False,
            "num_hidden_layers": 4,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "mamba_d_state": 4,
            "mamba_dt_rank": 4,
        },
    ),
    transformer(
        "DeepseekV3ForCausalLM",
        "decoder",
        text("tokens"),
        {
            "n_routed_experts": 4,
            "n_group": 2,
            "topk_group": 1,
            "kv_lora_rank": 8,
            "q_lora_rank": 16,
            "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 4,
            "v_head_dim": 8,
            "first_k_dense_replace": 1,
            "num_key_value_heads": 4,
            "head_dim": ABSENT,
        },
    ),
    transformer("GlmForCausalLM", "decoder", text("tokens")),
    transformer("HeliumForCausalLM", "decoder", text("tokens")),
    transformer(
        "NemotronForCausalLM", "decoder", text("tokens"), {"head_dim": 8, "num_key_value_heads": 2}
    ),
    transformer("SmolLM3ForCausalLM", "decoder", text("tokens")),
    transformer("GptOssForCausalLM", "decoder", text("tokens"), {"sliding_window": 4}),
    transformer("RwkvForCausalLM", "decoder", ids_only(True), {"context_length": 64}),
]

START = {"decoder_start_token_id": 0}

SEQ2SEQ = [
    transformer("T5ForConditionalGeneration", "encoder-decoder", two_texts(), START),
    transformer("MT5ForConditionalGeneration", "encoder-decoder", two_texts(), START),
    transformer("UMT5ForConditionalGeneration", "encoder-decoder", two_texts(), START),
    transformer("BartForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer("MBartForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer("PegasusForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer(
        "PegasusXForConditionalGeneration",
        "encoder-decoder",
        two_texts(),
        {"block_size": 4, "num_global_tokens": 4},
    ),
    transformer("MarianMTModel", "encoder-decoder", two_texts()),
    transformer("M2M100ForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer("BlenderbotForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer("BlenderbotSmallForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer(
        "LEDForConditionalGeneration",
        "encoder-decoder",
        two_texts(),
        {"attention_window": 4, "max_encoder_position_embeddings": 64},
    ),
    transformer(
        "LongT5ForConditionalGeneration",
        "encoder-decoder",
        two_texts(),
        dict(START, local_radius=4),
    ),
    transformer(
        "SwitchTransformersForConditionalGeneration",
        "encoder-decoder",
        two_texts(),
        dict(START, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1),
    ),
    transformer(
        "ProphetNetForConditionalGeneration",
        "encoder-decoder",
        two_texts(),
        {
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
            "num_encoder_attention_heads": 4,
            "num_decoder_attention_heads": 4,
            "num_attention_heads": ABSENT,
            "num_hidden_layers": ABSENT,
        },
    ),
    transformer("PLBartForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer("NllbMoeForConditionalGeneration", "encoder-decoder", two_texts()),
    transformer("EncoderDecoderModel", "encoder-decoder", two_texts(), config=_encoder_decoder),
]

VISION = [
    transformer("ViTForImageClassification", "vision", image()),
    transformer("DeiTForImageClassification", "vision", image()),
    transformer("BeitForImageClassification", "vision", image()),
    transformer(
        "SwinForImageClassification",
        "vision",
        image(),
        {
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
            "num_hidden_layers": ABSENT,
            "num_attention_heads": ABSENT,
        },
    ),
    transformer(
        "Swinv2ForImageClassification",
        "vision",
        image(),
        {
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
            "num_hidden_layers": ABSENT,
            "num_attention_heads": ABSENT,
        },
    ),
    transformer("ConvNextForImageClassification", "vision", image(128), STAGES),
    transformer("ConvNextV2ForImageClassification", "vision", image(64), STAGES),
    transformer("ResNetForImageClassification", "vision", image(), dict(STAGES, embedding_size=8)),
    transformer("RegNetForImageClassification", "vision", image(), dict(STAGES, embedding_size=8)),
    transformer("MobileNetV1ForImageClassification", "vision", image(), {"depth_multiplier": 0.25}),
    transformer("MobileNetV2ForImageClassification", "vision", image(), {"depth_multiplier": 0.25}),
    transformer(
        "MobileViTForImageClassification",
        "vision",
        image(),
        {
            "hidden_sizes": [16, 16, 16],
            "neck_hidden_sizes": [8, 8, 8, 8, 8, 8, 16],
            "patch_size": 2,
        },
    ),
    transformer("MobileViTV2ForImageClassification", "vision", image(64), {"patch_size": 2}),
    transformer(
        "EfficientNetForImageClassification",
        "vision",
        image(),
        {
            "width_coefficient": 0.25,
            "depth_coefficient": 0.3,
            "hidden_dim": 320,
            "pooling_type": "mean",
        },
    ),
    transformer(
        "SegformerForSemanticSegmentation",
        "vision",
        image(64, "map"),
        {
            "hidden_sizes": [8, 16, 16, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
            "decoder_hidden_size": 16,
            "image_size": ABSENT,
            "patch_size": ABSENT,
        },
    ),
    transformer("Dinov2ForImageClassification", "vision", image()),
    transformer("PoolFormerForImageClassification", "vision", image(64), {"patch_size": ABSENT}),
    transformer(
        "PvtForImageClassification",
        "vision",
        image(64),
        {
            "image_size": 64,
            "hidden_sizes": [8, 16, 16, 32],
            "depths": [1, 1, 1, 1],
            "num_attention_heads": [1, 2, 2, 4],
            "patch_size": ABSENT,
        },
    ),
    transformer(
        "LevitForImageClassification",
        "vision",
        image(64, None),
        {
            "image_size": 64,
            "hidden_sizes": [16, 32, 48],
            "num_attention_heads": [2, 2, 2],
            "depths": [1, 1, 1],
            "key_dim": [8, 8, 8],
            "patch_size": 16,
        },
    ),
    transformer(
        "CvtForImageClassification",
        "vision",
        image(64),
        {
            "embed_dim": [8, 16, 32],
            "num_heads": [1, 2, 4],
            "depth": [1, 2, 3],
            "patch_size": ABSENT,
        },
    ),
    transformer(
        "DPTForDepthEstimation",
        "vision",
        image(32, None),
        {
            "num_hidden_layers": 4,
            "backbone_out_indices": [0, 1, 2, 3],
            "neck_hidden_sizes": [8, 8, 8, 8],
            "fusion_hidden_size": 8,
        },
    ),
    transformer("YolosForObjectDetection", "vision", image(32, None), {"image_size": [32, 32]}),
    transformer(
        "BitForImageClassification",
        "vision",
        image(64),
        dict(STAGES, embedding_size=32, hidden_sizes=[32, 32, 64, 64], num_groups=8),
    ),
    transformer(
        "FocalNetForImageClassification",
        "vision",
        image(),
        {
            "embed_dim": 16,
            "hidden_sizes": [16, 32],
            "depths": [1, 1],
            "focal_levels": [2, 2],
            "focal_windows": [3, 3],
            "patch_size": 4,
        },
    ),
    transformer(
        "HieraForImageClassification",
        "vision",
        image(64),
        {
            "image_size": [64, 64],
            "embed_dim": 8,
            "patch_size": ABSENT,
            "depths": [1, 1, 1, 1],
            "num_heads": [1, 2, 4, 8],
        },
    ),
    transformer(
        "ViTMAEForPreTraining",
        "vision",
        image(32, None),
        {
            "decoder_hidden_size": 16,
            "decoder_num_hidden_layers": 1,
            "decoder_num_attention_heads": 2,
            "decoder_intermediate_size": 32,
        },
    ),
    transformer("ViTMSNForImageClassification", "vision", image()),
    transformer(
        "VivitForVideoClassification",
        "vision",
        image(frames=4),
        {"num_frames": 4, "tubelet_size": [2, 8, 8], "patch_size": ABSENT},
    ),
    transformer("VideoMAEForVideoClassification", "vision", image(frames=4), {"num_frames": 4}),
    transformer("TimesformerForVideoClassification", "vision", image(frames=4), {"num_frames": 4}),
    transformer("ImageGPTForCausalImageModeling", "vision", ids_only(True), {"vocab_size": 100}),
    transformer(
        "SwiftFormerForImageClassification",
        "vision",
        image(64),
        {
            "image_size": 64,
            "embed_dims": [8, 16, 16, 32],
            "depths": [1, 1, 1, 1],
            "patch_size": ABSENT,
        },
    ),
    transformer("SiglipVisionModel", "vision", image(32, None)),
]

AUDIO_MODELS = [
    transformer("Wav2Vec2ForCTC", "audio", wave("tokens"), AUDIO),
    transformer("Wav2Vec2ForSequenceClassification", "audio", wave("text"), AUDIO),
    transformer("HubertForCTC", "audio", wave("tokens"), AUDIO),
    transformer("WavLMForCTC", "audio", wave("tokens"), AUDIO),
    transformer("UniSpeechForCTC", "audio", wave("tokens"), AUDIO),
    transformer("UniSpeechSatForCTC", "audio", wave("tokens"), AUDIO),
    transformer("SEWForCTC", "audio", wave("tokens"), dict(AUDIO, squeeze_factor=2)),
    transformer(
        "SEWDForCTC", "audio", wave("tokens"), dict(AUDIO, squeeze_factor=2, position_buckets=8)
    ),
    transformer(
        "Data2VecAudioForCTC",
        "audio",
        wave("tokens"),
        dict(AUDIO, conv_pos_kernel_size=5, num_conv_pos_embeddings=2),
    ),
    transformer("Wav2Vec2ConformerForCTC", "audio", wave("tokens"), dict(AUDIO, vocab_size=99)),
    transformer(
        "ASTForAudioClassification",
        "audio",
        features(32, 16, name="input_values", labels=lambda batch: torch.arange(batch) % 3),
        {
            "max_length": 32,
            "num_mel_bins": 16,
            "patch_size": 8,
            "frequency_stride": 8,
            "time_stride": 8,
        },
    ),
    transformer(
        "WhisperForConditionalGeneration",
        "audio",
        features(16, 64, decoder=True),
        {
            "num_mel_bins": 16,
            "max_source_positions": 32,
            "suppress_tokens": None,
            "begin_suppress_tokens": None,
        },
    ),
    transformer(
        "Speech2TextForConditionalGeneration",
        "audio",
        features(40, 16, decoder=True),
        {"input_feat_per_channel": 16, "conv_channels": 32},
    ),
    transformer(
        "Wav2Vec2BertForCTC",
        "audio",
        features(20, 16, labels=lambda batch: torch.randint(3, 30, (batch, 3))),
        {"feature_projection_input_dim": 16, "vocab_size": 99, "mask_time_prob": 0.0},
    ),
    transformer(
        "EncodecModel",
        "audio",
        features(1, 640, name="input_values"),
        {
            "num_filters": 4,
            "hidden_size": 16,
            "codebook_size": 16,
            "codebook_dim": 16,
            "upsampling_ratios": [4, 4],
            "intermediate_size": ABSENT,
        },
        train=False,
    ),
    transformer(
        "MoonshineForConditionalGeneration",
        "audio",
        lambda batch: {"input_values": torch.randn(batch, 3000), "labels": tokens(batch, 7)},
        {
            "encoder_num_hidden_layers": 2,
            "decoder_num_hidden_layers": 2,
            "encoder_num_attention_heads": 4,
            "decoder_num_attention_heads": 4,
            "pad_token_id": 0,
            "encoder_num_key_value_heads": 4,
            "decoder_num_key_value_heads": 4,
            "num_hidden_layers": ABSENT,
            "num_attention_heads": ABSENT,
            "num_key_value_heads": ABSENT,
        },
    ),
]

SEVERAL = [
    transformer(
        "CLIPModel",
        "several",
        text_and_image(return_loss=constant(True)),
        config=clip_like("CLIPConfig"),
    ),
    transformer(
        "SiglipModel",
        "several",
        text_and_image(return_loss=constant(True)),
        config=clip_like("SiglipConfig"),
    ),
    transformer(
        "ChineseCLIPModel",
        "several",
        text_and_image(return_loss=constant(True)),
        config=clip_like("ChineseCLIPConfig"),
    ),
    transformer(
        "GitForCausalLM",
        "several",
        text_and_image(),
        config=lambda t: tiny(
            t.GitConfig,
            vision_config={
                k: SMALL[k]
                for k in (
                    "hidden_size",
                    "intermediate_size",
                    "num_hidden_layers",
                    "num_attention_heads",
                    "image_size",
                    "patch_size",
                )
            },
        ),
    ),
    transformer("ViltForQuestionAnswering", "several", text_and_image(), {"max_image_length": -1}),
    transformer(
        "VisualBertForPreTraining",
        "several",
        text(
            visual_embeds=lambda batch: torch.randn(batch, 4, 16),
            visual_attention_mask=lambda batch: torch.ones(batch, 4),
            visual_token_type_ids=lambda batch: torch.ones(batch, 4).long(),
        ),
        {"visual_embedding_dim": 16},
        train=False,
    ),
    transformer(
        "VisionTextDualEncoderModel",
        "several",
        text_and_image(return_loss=constant(True)),
        config=_vision_text,
    ),
    transformer("LlavaForConditionalGeneration", "several", _llava_inputs, config=_llava),
    transformer(
        "LayoutLMv3ForTokenClassification",
        "several",
        text(bbox=_boxes, pixel_values=lambda batch: torch.randn(batch, 3, 32, 32)),
        {"input_size": 32, "coordinate_size": 6, "shape_size": 4, "max_2d_position_embeddings": 64},
    ),
    transformer("TimeSeriesTransformerForPrediction", "several", _series, SERIES),
    transformer("AutoformerForPrediction", "several", _series, SERIES),
    transformer("InformerForPrediction", "several", _series, SERIES),
    transformer(
        "PatchTSTForPrediction",
        "several",
        _patches,
        {
            "num_input_channels": 3,
            "context_length": 32,
            "prediction_length": 8,
            "patch_length": 8,
            "patch_stride": 8,
        },
    ),
    transformer(
        "PatchTSMixerForPrediction",
        "several",
        _patches,
        {
            "num_input_channels": 3,
            "context_length": 32,
            "prediction_length": 8,
            "patch_length": 8,
            "patch_stride": 8,
        },
    ),
    transformer(
        "DecisionTransformerModel",
        "several",
        lambda batch: {
            "states": torch.randn(batch, 5, 17),
            "actions": torch.randn(batch, 5, 4),
            "rewards": torch.randn(batch, 5, 1),
            "returns_to_go": torch.randn(batch, 5, 1),
            "timesteps": torch.arange(5).repeat(batch, 1),
            "attention_mask": torch.ones(batch, 5),
        },
    ),
]


def _network(name, size=64, **sizes):
    return Model(
        name,
        "timm",
        "timm",
        lambda batch: {"x": torch.randn(batch, 3, size, size)},
        dict({"num_classes": 3}, **sizes),
    )


TIMM = [
    _network("resnet18"),
    _network("resnet50d"),
    _network("seresnet18"),
    _network("regnetx_002"),
    _network("efficientnet_b0"),
    _network("mobilenetv3_small_050"),
    _network("mobilenetv4_conv_small"),
    _network("convnext_atto"),
    _network("convnextv2_atto"),
    _network("densenet121"),
    _network("vgg11_bn"),
    _network("inception_v3", 128),
    _network("dpn48b"),
    _network("dla34"),
    _network("hrnet_w18_small"),
    _network("repvgg_a0"),
    _network("nfnet_l0"),
    _network("ghostnet_050"),
    _network("vit_tiny_patch16_224", img_size=64, depth=2),
    _network("deit_tiny_distilled_patch16_224", img_size=64, depth=2),
    _network("beit_base_patch16_224", img_size=64, depth=2, embed_dim=48, num_heads=3),
    _network(
        "swin_tiny_patch4_window7_224",
        img_size=64,
        window_size=4,
        embed_dim=24,
        depths=(1, 1, 2, 1),
    ),
    _network("mixer_s32_224", img_size=64),
    _network("gmlp_ti16_224", img_size=64),
    _network("cait_xxs24_224", img_size=64, depth=2),
    _network("xcit_nano_12_p16_224", img_size=64, depth=2),
    _network("levit_128s", 224),
    _network("pit_ti_224", 224),
    _network("poolformer_s12"),
    _network("mobilevit_xxs"),
    _network("edgenext_xx_small"),
    _network("maxvit_rmlp_pico_rw_256", 256),
    _network("coatnet_nano_rw_224", 224),
    _network("volo_d1_224", 224),
    _network("davit_tiny", 224, depths=(1, 1, 1, 1)),
    _network("eva02_tiny_patch14_224", 56, img_size=56, depth=2),
]

MODELS = ENCODERS + DECODERS + SEQ2SEQ + VISION + AUDIO_MODELS + SEVERAL + TIMM
