"""The named arrangements: what their papers set, as fields of one configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.spec.fields import Fields
from models.spec.overrides import mix_ln
from models.spec.vocabulary import NET_DEFAULTS


@dataclass(frozen=True)
class Arrangement:
    """A paper's arrangement: a sentence about it, its source, who used it, and the fields it sets."""

    reading: str
    source: str
    used_by: str
    fields: Mapping[str, object] = field(default_factory=dict)
    mixed: bool = False


# Every arrangement sets all of these, so that choosing one leaves no trace of the last.
PLAIN_FIELDS: dict[str, object] = {
    "residual": True,
    "placement": "none",
    "norm": "layer norm",
    "qk_norm": False,
    "skip_scale": 1.0,
    "branch_scale": 1.0,
    "input_scale": "one",
    "stack": "single",
    "skip_repeats": 1,
    "init": "fan-in",
    "overrides": (),
}

ARRANGEMENTS = {
    "plain": Arrangement(
        "Layers on layers: signal and gradient are products over depth.",
        "Simonyan & Zisserman 2014 (VGG), 1409.1556",
        "The usual deep network before 2015.",
        {"residual": False, "norm": "none"},
    ),
    "plain + norm": Arrangement(
        "A norm inside every layer keeps the signal's size (layer, RMS or batch norm), yet no path leads past the "
        "layers.",
        "Ioffe & Szegedy 2015, 1502.03167; Yang 2019, 1902.08129",
        "Inception v2 (2015), the plain nets that ResNet was compared with; the mean-field studies of depth.",
        {"residual": False, "placement": "mid-norm"},
    ),
    "residual only": Arrangement(
        "The residual keeps the signal alive, and every branch adds to it: it grows with depth.",
        "He 2016, 1603.05027",
        "The bare idea of ResNet (2015); on its own the starting point of Fixup, SkipInit and ReZero.",
        {"norm": "none"},
    ),
    "post-norm": Arrangement(
        "The original Transformer: each sum is normalised, so the residual path runs through every norm.",
        "Vaswani 2017, 1706.03762",
        "The Transformer (2017), BERT (2018), RoBERTa (2019).",
        {"placement": "post-norm"},
    ),
    "pre-norm": Arrangement(
        "The branch reads a normalised copy and the residual path is left untouched; the stream grows, so later "
        "branches count for less.",
        "Xiong 2020, 2002.04745; GPT-2",
        "GPT-2 (2019), GPT-3, ViT, LLaMA and most language models since.",
        {"placement": "pre-norm"},
    ),
    "pre-norm + GPT-2 init": Arrangement(
        "Pre-norm whose output matrices start smaller by sqrt(M): at the start all branches together (of two layers, "
        "with ReLU) add at most about half to the mean square of the stream, at any depth (formula).",
        "Radford 2019 (GPT-2)",
        "GPT-2 (2019), Megatron-LM, nanoGPT.",
        {"placement": "pre-norm", "init": "gpt2"},
    ),
    "sandwich": Arrangement(
        "A norm before and after the branch: with layer, RMS or batch norm every branch adds the same amount, whatever "
        "its weights (Peri-LN, Gemma 2).",
        "Ding 2021 (CogView), 2105.13290; Kim 2025 (Peri-LN), 2502.02732",
        "CogView (2021), Gemma 2 and Gemma 3 (2024, 2025).",
        {"placement": "sandwich"},
    ),
    "res-post-norm": Arrangement(
        "The branch's output is normalised before the add; the branch itself reads the raw stream (Swin v2).",
        "Liu 2021 (Swin v2), 2111.09883",
        "Swin Transformer v2 (2021).",
        {"placement": "res-post-norm"},
    ),
    "res-post-norm + QK-norm": Arrangement(
        "Res-post-norm with normalised queries and keys, which keep attention from saturating on a growing stream. "
        "OLMo 2 normalises the queries of all heads as one vector, this app those of each head.",
        "OLMo 2, 2501.00656",
        "OLMo 2 (2024).",
        {"placement": "res-post-norm", "norm": "rms norm", "qk_norm": True},
    ),
    "DeepNorm": Arrangement(
        "Post-norm with a heavier residual, M^(1/4), and smaller initial weights, (4M)^(-1/4).",
        "Wang 2022 (DeepNet), 2203.00555",
        "DeepNet with 1,000 layers (2022), GLM-130B (2022, other constants).",
        {"placement": "post-norm", "skip_scale": "deepnorm", "init": "deepnorm"},
    ),
    "ReZero": Arrangement(
        "No norm: every branch starts switched off behind one learned number (in the authors' code attention and "
        "feed-forward share one).",
        "Bachlechner 2020, 2003.04887",
        "Deep character-level transformers (2020).",
        {"norm": "none", "branch_scale": "zero gate"},
    ),
    "LayerScale": Arrangement(
        "Pre-norm whose branches start nearly off, behind one small learned number per channel.",
        "Touvron 2021 (CaiT), 2103.17239",
        "CaiT (2021), ConvNeXt (2022), DINOv2 (2023).",
        {"placement": "pre-norm", "branch_scale": "layer scale"},
    ),
    "LayerNorm scaling": Arrangement(
        "Pre-norm whose norm in block l is divided by sqrt(l): at the start the mean square of the stream grows like "
        "a logarithm of depth where branches have two layers with ReLU.",
        "Sun 2025 (Curse of Depth), 2502.05795",
        "Studies of large language models whose deep layers do little (2025).",
        {"placement": "pre-norm", "input_scale": "1/sqrt(block)"},
    ),
    "ResiDual": Arrangement(
        "Post-norm, beside a second stream that collects the branches unnormalised and is normalised and added at the "
        "end.",
        "Xie 2023, 2304.14802",
        "Machine translation (2023).",
        {"placement": "post-norm", "stack": "residual"},
    ),
    "DLCL": Arrangement(
        "Dynamic linear combination of layers: every block reads a learned weighted sum of all earlier ones.",
        "Wang 2019, 1906.01787",
        "Machine translation with 30 encoder layers (2019).",
        {"placement": "pre-norm", "stack": "dlcl"},
    ),
    "scaled skip": Arrangement(
        "Post-norm with a residual twice as heavy as the branch: N(2x + f(x)).",
        "Liu 2020, Rethinking skip connection with layer normalization",
        "Studies on image classification and translation (2020).",
        {"placement": "post-norm", "skip_scale": 2.0},
    ),
    "recursive skip": Arrangement(
        "Post-norm twice: the stream is added and normalised again, which makes the residual heavier.",
        "Liu 2020, Rethinking skip connection with layer normalization",
        "Studies on image classification and translation (2020).",
        {"placement": "post-norm", "skip_repeats": 2},
    ),
    "Keel": Arrangement(
        "Post-norm with a residual M times heavier and a normalised branch input. The paper's first block differs, "
        "which is not built here.",
        "Chen & Wei 2026, 2601.19895",
        "Studies of very deep language models (2026).",
        {"placement": "pre+post", "skip_scale": "depth"},
    ),
    "Mix-LN": Arrangement(
        "The first quarter of the blocks is post-norm, the rest pre-norm (the paper's share up to 1B; at 7B it takes a "
        "sixteenth).",
        "Li 2024, 2412.13795",
        "Studies of language models from 71M to 7B (2024).",
        {"placement": "pre-norm"},
        mixed=True,
    ),
}


def arranged_fields(arrangement: str, overrides: Mapping[str, object]) -> dict[str, Any]:
    """The fields of a named arrangement, for the net and depth in `overrides`, which win.

    ValueError for an unknown name.
    """
    if arrangement not in ARRANGEMENTS:
        raise ValueError(f"arrangement is {arrangement!r}; legal is one of {', '.join(ARRANGEMENTS)}")
    net = overrides.get("net", Fields.net)
    depth = overrides.get("depth", Fields.depth)
    blocks = depth if isinstance(depth, int) and depth > 0 else Fields.depth
    return architecture_fields(arrangement, blocks) | dict(NET_DEFAULTS.get(str(net), {})) | dict(overrides)


def architecture_fields(arrangement: str, depth: int) -> dict[str, Any]:
    """The fields that a named arrangement sets in a net of `depth` blocks, without those of training."""
    chosen = ARRANGEMENTS[arrangement]
    return PLAIN_FIELDS | dict(chosen.fields) | ({"overrides": mix_ln(depth)} if chosen.mixed else {})


def arrangement_of(cfg: Fields) -> str | None:
    """The name of the arrangement that a configuration follows, or None.

    Any norm may fill the slots: pre-norm with RMS norm is still pre-norm. Without a norm the placement does not matter.
    """
    for name in ARRANGEMENTS:
        fields = architecture_fields(name, cfg.depth)
        normless = cfg.norm == "none", fields["norm"] == "none"
        ignored = {(True, True): {"placement"}, (False, False): {"norm"}}.get(normless, set())
        if all(getattr(cfg, key) == value for key, value in fields.items() if key not in ignored):
            return name
    return None
