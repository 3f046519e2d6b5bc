"""A configuration resolved, sublayer by sublayer: the one
value behind the model, the equation, the diagram and the code.
"""

from dataclasses import dataclass
from functools import lru_cache

from models.spec.config import RunConfig
from models.spec.placement import PLACEMENTS
from models.spec.scales import GATES, gate_start, scale_value
from models.spec.vocabulary import NORMS

SUBLAYER_KINDS = {"mlp": ("mlp",), "transformer": ("attn", "ffn")}


@dataclass(frozen=True)
class SublayerPlan:
    """One sublayer with every slot named and every number resolved: y = N_add(skip x + scale N_out(F(c_in N_in x))).

    `scale` is the first value of the branch weight; `gate` names its kind where it is learned, else it is "".
    An `identity` sublayer hands its stream on untouched.
    """

    site: str
    block: int
    kind: str
    norm_in: str
    norm_mid: str
    norm_out: str
    norm_add: str
    skip: float
    scale: float
    gate: str
    input_scale: float
    repeats: int
    identity: bool


@dataclass(frozen=True)
class StackPlan:
    """All sublayers in forward order, and the norm before the head ("none" where there is none)."""

    sublayers: tuple[SublayerPlan, ...]
    final_norm: str

    def of_block(self, block: int) -> tuple[SublayerPlan, ...]:
        """The sublayers of one block, in forward order."""
        return tuple(sublayer for sublayer in self.sublayers if sublayer.block == block)

    def left_of_block(self, block: int) -> tuple[SublayerPlan, ...]:
        """The sublayers of one block that were not taken out; all of them where none is left."""
        own = self.of_block(block)
        return tuple(sublayer for sublayer in own if not sublayer.identity) or own

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the sublayers, which are also the sites after them."""
        return tuple(sublayer.site for sublayer in self.sublayers)

    @property
    def sites(self) -> tuple[str, ...]:
        """The points of the stream in forward order: x0, then after each sublayer."""
        return ("x0", *self.branches)


@lru_cache(maxsize=256)
def plan(cfg: RunConfig) -> StackPlan:
    """Resolves rules, placements and overrides of a configuration."""
    kinds = SUBLAYER_KINDS[cfg.net]
    sublayers = tuple(_sublayer(cfg, block, kind) for block in range(1, cfg.depth + 1) for kind in kinds)
    return StackPlan(sublayers, cfg.norm if PLACEMENTS[cfg.placement].final_norm else "none")


def norms_of(cfg: RunConfig) -> set[str]:
    """The norms that a net has, in its slots, at its end, and those that stacks of several streams bring along."""
    arranged = plan(cfg)
    slots = {
        norm for s in arranged.sublayers if not s.identity for norm in (s.norm_in, s.norm_mid, s.norm_out, s.norm_add)
    }
    return (slots | {arranged.final_norm, cfg.norm if cfg.stack != "single" else "none"}) - {"none"}


def normed_over_batch(cfg: RunConfig) -> bool:
    """Whether some norm of a net takes its statistics over the batch."""
    return any(NORMS[norm].over == "batch" for norm in norms_of(cfg))


def block_name(block: int) -> str:
    """b01, b02, ...: the name of a block in sites, parameters and charts."""
    return f"b{block:02d}"


def _sublayer(cfg: RunConfig, block: int, kind: str) -> SublayerPlan:
    own = {key: value for at, key, value in cfg.overrides if at == block}
    norm = str(own.get("norm", cfg.norm))
    slots = PLACEMENTS[str(own.get("placement", cfg.placement))]
    gate = cfg.branch_scale if cfg.branch_scale in GATES else ""
    return SublayerPlan(
        site=block_name(block) if kind == "mlp" else f"{block_name(block)}.{kind}",
        block=block,
        kind=kind,
        norm_in=norm if slots.norm_in else "none",
        norm_mid=norm if slots.norm_mid else "none",
        norm_out=norm if slots.norm_out else "none",
        norm_add=norm if slots.norm_add else "none",
        skip=scale_value(cfg.skip_scale, cfg.sublayers) if own.get("residual", cfg.residual) else 0.0,
        scale=gate_start(str(gate), cfg.depth) if gate else scale_value(cfg.branch_scale, cfg.sublayers),
        gate=str(gate),
        input_scale=block**-0.5 if cfg.input_scale == "1/sqrt(block)" else 1.0,
        repeats=cfg.skip_repeats,
        identity=own.get("identity", False) in (True, kind),
    )
