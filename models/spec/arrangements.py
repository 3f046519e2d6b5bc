"""Named arrangements: the fields of a configuration that a paper sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.spec.fields import Fields
from models.spec.knob import VOCABULARY, VocabularyChoice, describe
from models.spec.overrides import Override, mix_ln_overrides
from models.spec.vocabulary import NET_DEFAULTS


@dataclass(frozen=True)
class Arrangement(VocabularyChoice):
    """A paper's arrangement and the fields that it sets; `mixed` adds the overrides of Mix-LN."""

    source: str
    fields: Mapping[str, object] = field(default_factory=dict)
    mixed: bool = False

    @property
    def used_by(self) -> str:
        """The models that use it, in words."""
        _, name = self.place
        return VOCABULARY["used_by"][name]


# Every arrangement sets all of these fields, so that nothing of the previous one remains.
PLAIN_FIELDS: dict[str, object] = {
    "residual": True,
    "placement": "none",
    "norm": "layer norm",
    "qk_norm": False,
    "value_residual": False,
    "skip_scale": 1.0,
    "branch_scale": 1.0,
    "input_scale": "one",
    "stack": "single",
    "mixing_noise": 0.0,
    "skip_repeats": 1,
    "init": "fan-in",
    "overrides": (),
}

ARRANGEMENTS = {
    "plain": Arrangement("Simonyan & Zisserman 2014 (VGG), 1409.1556", {"residual": False, "norm": "none"}),
    "plain + norm": Arrangement(
        "Ioffe & Szegedy 2015, 1502.03167; Yang 2019, 1902.08129", {"residual": False, "placement": "mid-norm"}
    ),
    "residual only": Arrangement("He 2016, 1603.05027", {"norm": "none"}),
    "post-norm": Arrangement("Vaswani 2017, 1706.03762", {"placement": "post-norm"}),
    "pre-norm": Arrangement("Xiong 2020, 2002.04745; GPT-2", {"placement": "pre-norm"}),
    "pre-norm + GPT-2 init": Arrangement("Radford 2019 (GPT-2)", {"placement": "pre-norm", "init": "gpt2"}),
    "sandwich": Arrangement(
        "Ding 2021 (CogView), 2105.13290; Kim 2025 (Peri-LN), 2502.02732", {"placement": "sandwich"}
    ),
    "res-post-norm": Arrangement("Liu 2021 (Swin v2), 2111.09883", {"placement": "res-post-norm"}),
    "res-post-norm + QK-norm": Arrangement(
        "OLMo 2, 2501.00656", {"placement": "res-post-norm", "norm": "rms norm", "qk_norm": True}
    ),
    "DeepNorm": Arrangement(
        "Wang 2022 (DeepNet), 2203.00555", {"placement": "post-norm", "skip_scale": "deepnorm", "init": "deepnorm"}
    ),
    "ReZero": Arrangement("Bachlechner 2020, 2003.04887", {"norm": "none", "branch_scale": "zero gate"}),
    "LayerScale": Arrangement(
        "Touvron 2021 (CaiT), 2103.17239", {"placement": "pre-norm", "branch_scale": "layer scale"}
    ),
    "LayerNorm scaling": Arrangement(
        "Sun 2025 (Curse of Depth), 2502.05795", {"placement": "pre-norm", "input_scale": "1/sqrt(block)"}
    ),
    "ResiDual": Arrangement("Xie 2023, 2304.14802", {"placement": "post-norm", "stack": "residual"}),
    "DLCL": Arrangement("Wang 2019, 1906.01787", {"placement": "pre-norm", "stack": "dlcl"}),
    "hyper-connections": Arrangement("Zhu 2024, 2409.19606", {"placement": "pre-norm", "stack": "hyper-connections"}),
    "dynamic hyper-connections": Arrangement(
        "Zhu 2024, 2409.19606", {"placement": "pre-norm", "stack": "dynamic hyper-connections"}
    ),
    "mHC": Arrangement("Xie 2025, 2512.24880", {"placement": "pre-norm", "stack": "mHC"}),
    "attention residuals": Arrangement(
        "Chen 2026, 2603.15031", {"placement": "pre-norm", "stack": "attention residuals"}
    ),
    "scaled skip": Arrangement(
        "Liu 2020, Rethinking skip connection with layer normalization", {"placement": "post-norm", "skip_scale": 2.0}
    ),
    "recursive skip": Arrangement(
        "Liu 2020, Rethinking skip connection with layer normalization", {"placement": "post-norm", "skip_repeats": 2}
    ),
    "Keel": Arrangement("Chen & Wei 2026, 2601.19895", {"placement": "pre+post", "skip_scale": "depth"}),
    "Mix-LN": Arrangement("Li 2024, 2412.13795", {"placement": "pre-norm"}, mixed=True),
}

describe(arrangements=ARRANGEMENTS)


def arranged_fields(arrangement: str, overrides: Mapping[str, object]) -> dict[str, Any]:
    """The fields of a named arrangement for the net and depth in `overrides`, updated by `overrides`.

    Raises ValueError for an unknown name.
    """
    if arrangement not in ARRANGEMENTS:
        raise ValueError(f"arrangement is {arrangement!r}; legal is one of {', '.join(ARRANGEMENTS)}")
    net = overrides.get("net", Fields.net)
    depth = overrides.get("depth", Fields.depth)
    blocks = depth if isinstance(depth, int) and depth > 0 else Fields.depth
    return architecture_fields(arrangement, blocks) | dict(NET_DEFAULTS.get(str(net), {})) | dict(overrides)


def architecture_fields(arrangement: str, depth: int) -> dict[str, Any]:
    """The architecture fields of a named arrangement in a net of `depth` blocks, without those of training."""
    entry = ARRANGEMENTS[arrangement]
    fields = PLAIN_FIELDS | dict(entry.fields)
    return fields | {"overrides": mix_ln_overrides(depth)} if entry.mixed else fields


def overrides_at_depth(arrangement: str | None, overrides: tuple[Override, ...], depth: int) -> tuple[Override, ...]:
    """The exceptions of single blocks at another depth: a mixed arrangement's own, else those of blocks that stay."""
    if arrangement in ARRANGEMENTS and ARRANGEMENTS[arrangement].mixed:
        return mix_ln_overrides(depth)
    return tuple(override for override in overrides if override[0] <= depth)


def arrangement_of(cfg: Fields) -> str | None:
    """The name of the arrangement that a configuration follows, or None.

    Which norm fills the slots does not matter, and without a norm neither does the placement.
    """
    has_norm = cfg.norm != "none"
    for name in ARRANGEMENTS:
        fields = architecture_fields(name, cfg.depth)
        if has_norm == (fields["norm"] != "none"):
            del fields["norm" if has_norm else "placement"]
        if all(getattr(cfg, key) == value for key, value in fields.items()):
            return name
    return None
