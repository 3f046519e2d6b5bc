"""Models of other people's, tiny and with random weights, and the sites that their source says they have."""

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

IDS = torch.arange(16).reshape(2, 8)
IMAGES = torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32).sin()
WIDTH = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
TEXT = {"vocab_size": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@dataclass(frozen=True)
class Case:
    """A model with its input, and the names of its sites in order of depth as read off the model's source."""

    build: Callable[[], tuple[nn.Module, dict[str, Any]]]
    sites: list[str]


def transformers(
    model: str, inputs: dict[str, Any] | None = None, **config: Any
) -> Callable[[], tuple[nn.Module, dict[str, Any]]]:
    """A model of Hugging Face's from the configuration class of its family."""

    def build() -> tuple[nn.Module, dict[str, Any]]:
        library = pytest.importorskip("transformers", reason="transformers is not installed")
        kind = getattr(library, model)
        return kind(kind.config_class(**config)), {"input_ids": IDS} if inputs is None else inputs

    return build


def module_of(package: str, name: str) -> types.ModuleType:
    """A module of a package whose `__init__` imports torchvision,
    which not every torch can; that `__init__` is not run.
    """
    if package not in sys.modules:
        found = importlib.util.find_spec(package)
        if found is None:
            pytest.skip(f"{package} is not installed")
        sys.modules[package] = stand_in = types.ModuleType(package)
        stand_in.__path__ = list(found.submodule_search_locations or [])
    return importlib.import_module(f"{package}.{name}")


def vit_pytorch(module: str, kind: str, **config: Any) -> Callable[[], tuple[nn.Module, dict[str, Any]]]:
    """A model of lucidrains' vit-pytorch."""

    def build() -> tuple[nn.Module, dict[str, Any]]:
        return getattr(module_of("vit_pytorch", module), kind)(**config), {"x" if kind == "CCT" else "img": IMAGES}

    return build


def x_transformers(**layers: Any) -> Callable[[], tuple[nn.Module, dict[str, Any]]]:
    """A decoder of lucidrains' x-transformers."""

    def build() -> tuple[nn.Module, dict[str, Any]]:
        library = pytest.importorskip("x_transformers", reason="x-transformers is not installed")
        decoder = library.Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **layers)
        return library.TransformerWrapper(num_tokens=64, max_seq_len=16, attn_layers=decoder), {"x": IDS}

    return build


def hyper_connections(kind: str) -> Callable[[], tuple[nn.Module, dict[str, Any]]]:
    """Three layers between four streams of lucidrains' hyper-connections."""

    def build() -> tuple[nn.Module, dict[str, Any]]:
        library = pytest.importorskip("hyper_connections", reason="hyper-connections is not installed")
        layer = getattr(library, kind)
        init, expand, reduce = layer.get_init_and_expand_reduce_stream_functions(4)
        branches = [nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16)) for _ in range(3)]
        layers = [init(dim=16, layer_index=at, branch=branch) for at, branch in enumerate(branches)]
        model = nn.Sequential(nn.Embedding(64, 16), expand, *layers, reduce, nn.LayerNorm(16), nn.Linear(16, 64))
        return model, {"input": IDS}

    return build


def torch_encoder(*, norm_first: bool) -> Callable[[], tuple[nn.Module, dict[str, Any]]]:
    """torch's own encoder."""

    def build() -> tuple[nn.Module, dict[str, Any]]:
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=norm_first)
        x = torch.linspace(-1, 1, 160).reshape(2, 5, 16).requires_grad_()
        return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), {"src": x}

    return build


def torch_transformer() -> tuple[nn.Module, dict[str, Any]]:
    """torch's own encoder and decoder, post-norm."""
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    x = torch.linspace(-1, 1, 160).reshape(2, 5, 16).requires_grad_()
    return model, {"src": x, "tgt": x.flip(1)}


def alternating(start: str, block: str, first: str, second: str, blocks: int = 2) -> list[str]:
    """Two sums in every block: `block` has the block's number in it, `first` and `second` are added to it."""
    return [start, *(block.format(at) + part for at in range(blocks) for part in (first, second))]


def one_each(start: str, block: str, blocks: int = 2) -> list[str]:
    """One sum in every block."""
    return [start, *(block.format(at) for at in range(blocks))]


VIT = {"image_size": 32, "patch_size": 8, "num_classes": 4, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 32}
PIXELS = {"pixel_values": IMAGES}
LLAMA_SITES = alternating("model.embed_tokens", "model.layers.{}", ".self_attn", "")
BERT_SITES = alternating("embeddings", "encoder.layer.{}", ".attention.output", ".output")
STAGES = [f"encoder.stages.{stage}.layers.{layer}" for stage in (0, 1) for layer in (0, 1)]
X_SITES = ["post_emb_norm", *(f"attn_layers.layers.{at}.2" for at in range(4))]
VIT_SITES = ["dropout", *(f"transformer.layers.{block}.{part}" for block in (0, 1) for part in (0, 1))]

# Families: GPT-2, Llama and its relatives, parallel branches, BERT, encoder-decoders, ViT, ResNet and other
# convolutions, windows (Swin), state spaces (Mamba), experts (Mixtral), x-transformers, vit-pytorch, torch's own.
CASES: dict[str, Case] = {
    "GPT-2": Case(
        transformers("GPT2LMHeadModel", n_layer=2, n_head=2, n_embd=16, **TEXT),
        alternating("transformer.drop", "transformer.h.{}", ".attn", ""),
    ),
    "OPT": Case(
        transformers("OPTForCausalLM", **{**WIDTH, "ffn_dim": 32, "word_embed_proj_dim": 16}, **TEXT),
        alternating("model.decoder.layers.0 (input)", "model.decoder.layers.{}", ".self_attn", ""),
    ),
    "Bloom": Case(
        transformers("BloomForCausalLM", n_layer=2, n_head=2, hidden_size=16, **TEXT),
        alternating("transformer.word_embeddings_layernorm", "transformer.h.{}", ".self_attention", ".mlp"),
    ),
    "Llama": Case(transformers("LlamaForCausalLM", **WIDTH, **TEXT), LLAMA_SITES),
    "Mistral": Case(transformers("MistralForCausalLM", num_key_value_heads=1, **WIDTH, **TEXT), LLAMA_SITES),
    "Qwen2": Case(transformers("Qwen2ForCausalLM", num_key_value_heads=1, **WIDTH, **TEXT), LLAMA_SITES),
    "Mixtral": Case(transformers("MixtralForCausalLM", num_key_value_heads=1, **WIDTH, **TEXT), LLAMA_SITES),
    "Granite": Case(  # its embedding is multiplied by a number on the way
        transformers("GraniteForCausalLM", num_key_value_heads=1, **WIDTH, **TEXT),
        ["model.layers.0 (input)", *LLAMA_SITES[1:]],
    ),
    "Gemma 2": Case(  # norms on both sides of the branch
        transformers("Gemma2ForCausalLM", num_key_value_heads=1, head_dim=8, **WIDTH, **TEXT),
        alternating("model.embed_tokens", "model.layers.{}", ".post_attention_layernorm", ""),
    ),
    "OLMo 2": Case(
        transformers("Olmo2ForCausalLM", num_key_value_heads=1, **WIDTH, **TEXT),
        alternating("model.embed_tokens", "model.layers.{}", ".post_attention_layernorm", ""),
    ),
    "GPT-J": Case(
        transformers("GPTJForCausalLM", n_layer=2, n_head=2, n_embd=16, rotary_dim=4, **TEXT),
        one_each("transformer.wte", "transformer.h.{}"),
    ),
    "GPT-NeoX": Case(
        transformers("GPTNeoXForCausalLM", **WIDTH, **TEXT), one_each("gpt_neox.embed_in", "gpt_neox.layers.{}")
    ),
    "Cohere": Case(
        transformers("CohereForCausalLM", num_key_value_heads=1, **WIDTH, **TEXT),
        one_each("model.embed_tokens", "model.layers.{}"),
    ),
    "Phi": Case(transformers("PhiForCausalLM", **WIDTH, **TEXT), one_each("model.embed_tokens", "model.layers.{}")),
    "Falcon": Case(
        transformers("FalconForCausalLM", **WIDTH, **TEXT), one_each("transformer.word_embeddings", "transformer.h.{}")
    ),
    "Mamba": Case(
        transformers("MambaForCausalLM", num_hidden_layers=2, hidden_size=16, state_size=4, **TEXT),
        one_each("backbone.embeddings", "backbone.layers.{}"),
    ),
    "BERT": Case(transformers("BertModel", **WIDTH, **TEXT), BERT_SITES),
    "RoBERTa": Case(transformers("RobertaModel", **WIDTH, **TEXT), BERT_SITES),
    "DeBERTa": Case(transformers("DebertaV2Model", **WIDTH, **TEXT), BERT_SITES),
    "ELECTRA": Case(transformers("ElectraModel", **WIDTH, **TEXT), ["embeddings_project", *BERT_SITES[1:]]),
    "ModernBERT": Case(
        transformers("ModernBertModel", cls_token_id=0, sep_token_id=0, **WIDTH, **TEXT),
        alternating("embeddings", "layers.{}", ".attn", ""),
    ),
    "DistilBERT": Case(
        transformers("DistilBertModel", n_layers=2, n_heads=2, dim=16, hidden_dim=32, **TEXT),
        alternating("embeddings", "transformer.layer.{}", ".sa_layer_norm", ""),
    ),
    "ALBERT": Case(  # one layer, used twice
        transformers("AlbertModel", embedding_size=16, **WIDTH, **TEXT),
        [
            "encoder.embedding_hidden_mapping_in",
            *(
                f"encoder.albert_layer_groups.0.albert_layers.0{part}"
                for part in (".attention", "", ".attention #2", " #2")
            ),
        ],
    ),
    "T5": Case(
        transformers(
            "T5ForConditionalGeneration",
            {"input_ids": IDS, "labels": IDS},
            num_layers=2,
            num_heads=2,
            d_model=16,
            d_kv=8,
            d_ff=32,
            decoder_start_token_id=0,
            **TEXT,
        ),
        [
            *alternating("encoder.dropout", "encoder.block.{}", ".layer.0", ".layer.1"),
            "decoder.dropout",
            *(f"decoder.block.{block}.layer.{layer}" for block in (0, 1) for layer in (0, 1, 2)),
        ],
    ),
    "BART": Case(
        transformers(
            "BartForConditionalGeneration",
            {"input_ids": IDS, "labels": IDS},
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            d_model=16,
            encoder_ffn_dim=32,
            decoder_ffn_dim=32,
            **TEXT,
        ),
        [
            *alternating("model.encoder.layers.0 (input)", "model.encoder.layers.{}", ".self_attn_layer_norm", "", 1),
            "model.decoder.layers.0 (input)",
            *(f"model.decoder.layers.0{part}" for part in (".self_attn_layer_norm", ".encoder_attn_layer_norm", "")),
        ],
    ),
    "ViT": Case(
        transformers("ViTModel", PIXELS, image_size=32, patch_size=8, **WIDTH),
        alternating("embeddings", "layers.{}", ".attention", ""),
    ),
    "DeiT": Case(
        transformers("DeiTModel", PIXELS, image_size=32, patch_size=8, **WIDTH),
        alternating("embeddings", "layers.{}", ".attention", ""),
    ),
    "DINOv2": Case(
        transformers("Dinov2Model", PIXELS, image_size=32, patch_size=8, **WIDTH),
        alternating("embeddings", "encoder.layer.{}", ".layer_scale1", ""),
    ),
    "ResNet": Case(
        transformers("ResNetModel", PIXELS, embedding_size=8, hidden_sizes=[16, 32], depths=[2, 2]),
        ["embedder", *STAGES],
    ),
    "ResNet, basic": Case(
        transformers("ResNetModel", PIXELS, embedding_size=8, hidden_sizes=[8, 16], depths=[2, 2], layer_type="basic"),
        ["embedder", *STAGES],
    ),
    "RegNet": Case(
        transformers("RegNetModel", PIXELS, embedding_size=8, hidden_sizes=[8, 16], depths=[2, 2], groups_width=4),
        ["embedder", *STAGES],
    ),
    "ConvNeXt": Case(
        transformers("ConvNextModel", PIXELS, depths=[2, 2], hidden_sizes=[8, 16], num_stages=2),
        ["embeddings", *STAGES[:2], "encoder.stages.1.downsampling_layer.1", *STAGES[2:]],
    ),
    "ConvNeXt V2": Case(
        transformers("ConvNextV2Model", PIXELS, depths=[2, 2], hidden_sizes=[8, 16], num_stages=2),
        ["embeddings", *STAGES[:2], "encoder.stages.1.downsampling_layer.1", *STAGES[2:]],
    ),
    "Swin": Case(
        transformers(
            "SwinModel",
            PIXELS,
            image_size=32,
            patch_size=2,
            embed_dim=8,
            depths=[1, 1],
            num_heads=[2, 2],
            window_size=4,
            drop_path_rate=0.0,
        ),
        [
            *alternating("embeddings", "encoder.layers.0.blocks.{}", ".attention", "", 1),
            "encoder.layers.0",
            *(f"encoder.layers.1.blocks.0{part}" for part in (".attention", "")),
        ],
    ),
    "torch, pre-norm": Case(
        torch_encoder(norm_first=True), alternating("layers.0 (input)", "layers.{}", ".self_attn", "")
    ),
    "torch, post-norm": Case(
        torch_encoder(norm_first=False), alternating("layers.0 (input)", "layers.{}", ".norm1", "")
    ),
    "torch, encoder and decoder": Case(
        torch_transformer,
        [
            "encoder (input)",
            *(f"encoder.layers.0{part}" for part in (".norm1", "")),
            "decoder (input)",
            *(f"decoder.layers.0{part}" for part in (".norm1", ".norm2", "")),
        ],
    ),
    "x-transformers": Case(x_transformers(), X_SITES),
    "x-transformers, sandwich": Case(x_transformers(sandwich_norm=True), X_SITES),
    "x-transformers, RMS norm and rotary": Case(x_transformers(use_rmsnorm=True, rotary_pos_emb=True), X_SITES),
    "x-transformers, scaled residual": Case(x_transformers(scale_residual=True), X_SITES),
    "x-transformers, post-norm": Case(
        x_transformers(pre_norm=False), ["post_emb_norm", *(f"attn_layers.layers.{at}.0.2" for at in range(4))]
    ),
    "hyper-connections": Case(hyper_connections("HyperConnections"), ["1", "2", "3", "4"]),
    "mHC": Case(hyper_connections("ManifoldConstrainedHyperConnections"), ["1", "2", "3", "4"]),
    "vit-pytorch ViT": Case(vit_pytorch("vit", "ViT", **VIT), VIT_SITES),
    "vit-pytorch SimpleViT": Case(
        vit_pytorch("simple_vit", "SimpleViT", **VIT), ["transformer (input)", *VIT_SITES[1:]]
    ),
    "vit-pytorch DeepViT": Case(vit_pytorch("deepvit", "DeepViT", **VIT), VIT_SITES),
    "vit-pytorch parallel": Case(vit_pytorch("parallel_vit", "ViT", num_parallel_branches=2, **VIT), VIT_SITES),
    "vit-pytorch CCT": Case(
        vit_pytorch(
            "cct",
            "CCT",
            img_size=32,
            embedding_dim=16,
            num_layers=2,
            num_heads=2,
            mlp_ratio=2,
            num_classes=4,
            n_conv_layers=1,
        ),
        alternating("classifier.dropout", "classifier.blocks.{}", ".norm1", ""),
    ),
}
