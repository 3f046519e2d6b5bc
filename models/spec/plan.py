"""A configuration resolved sublayer by sublayer: the one value behind model, equation, diagram and code."""

from dataclasses import dataclass
from functools import lru_cache

from models.spec.config import RunConfig
from models.spec.parametrization import branch_factor
from models.spec.placement import PLACEMENTS
from models.spec.scales import GATES, initial_gate, scale_value
from models.spec.vocabulary import NORMS

SUBLAYER_KINDS = {"mlp": ("mlp",), "transformer": ("attn", "ffn")}


@dataclass(frozen=True)
class SublayerPlan:
    """One sublayer with every slot named and every number resolved: y = N_add(skip x + scale N_out(F(c_in N_in x))).

    `scale` is the initial branch weight; `gate` names its kind if it is learned, else it is "". `drop_branch` and
    `drop_stream` are the shares of numbers that a training pass drops, from what is added and from y. `activation` is
    "" for attention. An `identity` sublayer passes the stream on unchanged.
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
    activation: str
    drop_branch: float
    drop_stream: float

    @property
    def norms(self) -> tuple[str, str, str, str]:
        """The norms of its slots, in the order of the equation: in, mid, out, add."""
        return self.norm_in, self.norm_mid, self.norm_out, self.norm_add


@dataclass(frozen=True)
class StackPlan:
    """All sublayers in forward order, and the norm before the output head, or "none"."""

    sublayers: tuple[SublayerPlan, ...]
    final_norm: str

    def block_sublayers(self, block: int) -> tuple[SublayerPlan, ...]:
        """The sublayers of one block, in forward order."""
        return tuple(sublayer for sublayer in self.sublayers if sublayer.block == block)

    def active_sublayers(self, block: int) -> tuple[SublayerPlan, ...]:
        """The sublayers of one block that were not taken out; all of them if all were."""
        sublayers = self.block_sublayers(block)
        return tuple(sublayer for sublayer in sublayers if not sublayer.identity) or sublayers

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the sublayers, which are also those of the sites after them."""
        return tuple(sublayer.site for sublayer in self.sublayers)

    @property
    def sites(self) -> tuple[str, ...]:
        """The points of the stream in forward order: x0, then after each sublayer."""
        return ("x0", *self.branches)


@lru_cache(maxsize=128)
def plan(cfg: RunConfig) -> StackPlan:
    """The plan of a configuration, with its rules, placement and overrides resolved."""
    kinds = SUBLAYER_KINDS[cfg.net]
    sublayers = tuple(_sublayer(cfg, block, kind) for block in range(1, cfg.depth + 1) for kind in kinds)
    return StackPlan(sublayers, cfg.norm if PLACEMENTS[cfg.placement].final_norm else "none")


def sublayers_by_cost(cfg: RunConfig) -> list[tuple[SublayerPlan, int]]:
    """Sublayers that stand for all of them where only cost counts, each with the number of those like it.

    Without exceptions, all blocks but the first cost the same, so no depth takes long to look through.
    """
    single = {1} | {block for block, _, _ in cfg.overrides}
    like = [block for block in range(1, cfg.depth + 1) if block not in single]
    counts = dict.fromkeys(sorted(single), 1) | ({like[0]: len(like)} if like else {})
    return [(_sublayer(cfg, block, kind), count) for block, count in counts.items() for kind in SUBLAYER_KINDS[cfg.net]]


def norms_of(cfg: RunConfig) -> set[str]:
    """The norms of a net: in its slots, at its end, and in a stack of several streams."""
    arranged = plan(cfg)
    slots = {norm for sublayer in arranged.sublayers if not sublayer.identity for norm in sublayer.norms}
    return (slots | {arranged.final_norm, cfg.norm if cfg.stack != "single" else "none"}) - {"none"}


def activations_of(cfg: RunConfig) -> set[str]:
    """The activations of a net's branches."""
    return {sublayer.activation for sublayer in plan(cfg).sublayers if not sublayer.identity} - {""}


def has_dropout(cfg: RunConfig) -> bool:
    """Whether a training pass drops numbers."""
    return cfg.branch_dropout > 0 or cfg.stream_dropout > 0


def uses_batch_statistics(cfg: RunConfig) -> bool:
    """Whether some norm of a net takes its statistics over the batch."""
    return any(NORMS[norm].over == "batch" for norm in norms_of(cfg))


def is_one_layer(cfg: RunConfig, kind: str) -> bool:
    """Whether the branch of a sublayer of this kind is a single layer."""
    return kind == "mlp" and cfg.layers_per_branch == 1


def block_name(block: int) -> str:
    """b01, b02, ...: the name of a block in sites, parameters and charts."""
    return f"b{block:02d}"


def _sublayer(cfg: RunConfig, block: int, kind: str) -> SublayerPlan:
    overridden_here = {key: value for overridden, key, value in cfg.overrides if overridden == block}
    norm = str(overridden_here.get("norm", cfg.norm))
    slots = PLACEMENTS[str(overridden_here.get("placement", cfg.placement))]
    gate = cfg.branch_scale if cfg.branch_scale in GATES else ""
    return SublayerPlan(
        site=block_name(block) if kind == "mlp" else f"{block_name(block)}.{kind}",
        block=block,
        kind=kind,
        norm_in=norm if slots.norm_in else "none",
        norm_mid=norm if slots.norm_mid else "none",
        norm_out=norm if slots.norm_out else "none",
        norm_add=norm if slots.norm_add else "none",
        skip=scale_value(cfg.skip_scale, cfg.sublayers) if overridden_here.get("residual", cfg.residual) else 0.0,
        scale=initial_gate(str(gate), cfg.depth)
        if gate
        else branch_factor(cfg) * scale_value(cfg.branch_scale, cfg.sublayers),
        gate=str(gate),
        input_scale=block**-0.5 if cfg.input_scale == "1/sqrt(block)" else 1.0,
        repeats=cfg.skip_repeats,
        identity=overridden_here.get("identity", False) in (True, kind),
        activation="" if kind == "attn" else str(overridden_here.get("activation", cfg.activation)),
        drop_branch=cfg.branch_dropout,
        drop_stream=cfg.stream_dropout,
    )
