"""The plan of a net: a configuration resolved sublayer by sublayer, behind model, equation, diagram and code."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from models.spec.config import RunConfig
from models.spec.parametrization import branch_factor
from models.spec.placement import PLACEMENTS
from models.spec.scales import GATES, initial_gate, scale_value
from models.spec.vocabulary import NORMED_SUMS, NORMS

SUBLAYER_KINDS = {"mlp": ("mlp",), "transformer": ("attn", "ffn")}


@dataclass(frozen=True)
class SublayerPlan:
    """A sublayer y = N_add( skip x + scale N_out( F( c_in N_in(x) ) ) ) with all norms and numbers resolved.

    `scale` is the branch weight, and its initial value if it is learned; `gate` is then its kind, else "".
    `values` says whether attention lends its values to later ones ("first") or mixes in those of the first ("mixed").
    `drop_branch` and `drop_stream` are the dropout rates of the branch and of y. `activation` is "" for attention. An
    `identity` sublayer is ablated: y = x.
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
    values: str = ""

    @property
    def norms(self) -> tuple[str, str, str, str]:
        """The norms of the slots, from the inside of the equation out: in, mid, out, add."""
        return self.norm_in, self.norm_mid, self.norm_out, self.norm_add


@dataclass(frozen=True)
class StackPlan:
    """All sublayers in forward order, and the norm before the head or "none".

    The stream at a site is the tensor after a sublayer. Between n streams (MANY_STREAMS) it is their mean, and its
    gradient the sum of theirs; with attention residuals it is what the next sublayer, or the head, reads.
    """

    sublayers: tuple[SublayerPlan, ...]
    final_norm: str

    def block_sublayers(self, block: int) -> tuple[SublayerPlan, ...]:
        """The sublayers of one block, in forward order."""
        return tuple(sublayer for sublayer in self.sublayers if sublayer.block == block)

    def active_sublayers(self, block: int) -> tuple[SublayerPlan, ...]:
        """The sublayers of one block that are not ablated; all of them if all are."""
        sublayers = self.block_sublayers(block)
        return tuple(sublayer for sublayer in sublayers if not sublayer.identity) or sublayers

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, which are also those of the sites after them."""
        return tuple(sublayer.site for sublayer in self.sublayers)

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites of the stream in forward order: x0, then the output of each sublayer."""
        return ("x0", *self.branches)


@lru_cache(maxsize=128)
def plan(cfg: RunConfig) -> StackPlan:
    """The plan of a configuration, with its rules, placement and overrides resolved."""
    kinds = SUBLAYER_KINDS[cfg.net]
    sublayers = tuple(_sublayer(cfg, block, kind) for block in range(1, cfg.depth + 1) for kind in kinds)
    return StackPlan(sublayers, cfg.norm if PLACEMENTS[cfg.placement].final_norm else "none")


def sublayers_by_cost(cfg: RunConfig) -> list[tuple[SublayerPlan, int]]:
    """Sublayers of different cost, each with its number of occurrences; their costs add up to that of the net.

    All blocks without overrides cost the same, except the first. So the time to list them does not grow with depth.
    """
    distinct = {1} | {block for block, _, _ in cfg.overrides}
    equal = [block for block in range(1, cfg.depth + 1) if block not in distinct]
    counts = dict.fromkeys(sorted(distinct), 1)
    if equal:
        counts[equal[0]] = len(equal)
    return [(_sublayer(cfg, block, kind), count) for block, count in counts.items() for kind in SUBLAYER_KINDS[cfg.net]]


def norms_of(cfg: RunConfig) -> set[str]:
    """The norms of a net: in its slots, before the head, and in a stack of several streams."""
    stack_plan = plan(cfg)
    norms = {norm for sublayer in stack_plan.sublayers if not sublayer.identity for norm in sublayer.norms}
    norms.add(stack_plan.final_norm)
    if cfg.stack in NORMED_SUMS:
        norms.add(cfg.norm)
    return norms - {"none"}


def activations_of(cfg: RunConfig) -> set[str]:
    return {sublayer.activation for sublayer in plan(cfg).sublayers if not sublayer.identity} - {""}


def mixes_values(cfg: RunConfig) -> bool:
    """Whether any attention mixes in the values of the first."""
    return any(sublayer.values == "mixed" for sublayer in plan(cfg).sublayers if not sublayer.identity)


def depth_sources(cfg: RunConfig) -> tuple[tuple[SublayerPlan, ...], ...]:
    """What attention over depth reads beside x0: groups of sublayers, not ablated, whose branches are added up."""
    active = (sublayer for sublayer in plan(cfg).sublayers if not sublayer.identity)
    groups = groupby(active, key=lambda sublayer: layer_of(cfg, sublayer) // cfg.depth_block)
    return tuple(tuple(group) for _, group in groups)


def has_dropout(cfg: RunConfig) -> bool:
    return cfg.branch_dropout > 0 or cfg.stream_dropout > 0


def uses_batch_statistics(cfg: RunConfig) -> bool:
    """Whether any norm of a net takes its statistics over the batch."""
    return any(NORMS[norm].over == "batch" for norm in norms_of(cfg))


def is_one_layer(cfg: RunConfig, kind: str) -> bool:
    """Whether a branch of this kind has a single layer."""
    return kind == "mlp" and cfg.layers_per_branch == 1


def matrices(cfg: RunConfig, kind: str) -> dict[str, tuple[int, int]]:
    """The shapes (inputs, outputs) of the matrices of a branch of this kind by name, in forward order."""
    width, hidden = cfg.width, cfg.expansion * cfg.width
    if kind == "attn":
        return dict.fromkeys(("Wq", "Wk", "Wv", "Wo"), (width, width))
    return {"W": (width, width)} if is_one_layer(cfg, kind) else {"W1": (width, hidden), "W2": (hidden, width)}


def layer_of(cfg: RunConfig, sublayer: SublayerPlan) -> int:
    """The number of a sublayer in forward order, counted from 0."""
    kinds = SUBLAYER_KINDS[cfg.net]
    return (sublayer.block - 1) * len(kinds) + kinds.index(sublayer.kind)


def block_name(block: int) -> str:
    """The name of a block in sites, parameters and charts: b01, b02, ..."""
    return f"b{block:02d}"


def _branch_scale(cfg: RunConfig) -> float:
    return branch_factor(cfg) * scale_value(cfg.branch_scale, cfg.sublayers)


def _sublayer(cfg: RunConfig, block: int, kind: str) -> SublayerPlan:
    overrides = {key: value for overridden, key, value in cfg.overrides if overridden == block}
    norm = str(overrides.get("norm", cfg.norm))
    slots = PLACEMENTS[str(overrides.get("placement", cfg.placement))]
    has_residual = overrides.get("residual", cfg.residual)
    gate = str(cfg.branch_scale) if cfg.branch_scale in GATES else ""
    return SublayerPlan(
        site=block_name(block) if kind == "mlp" else f"{block_name(block)}.{kind}",
        block=block,
        kind=kind,
        norm_in=norm if slots.norm_in else "none",
        norm_mid=norm if slots.norm_mid else "none",
        norm_out=norm if slots.norm_out else "none",
        norm_add=norm if slots.norm_add else "none",
        skip=scale_value(cfg.skip_scale, cfg.sublayers) if has_residual else 0.0,
        scale=initial_gate(gate, cfg.depth) if gate else _branch_scale(cfg),
        gate=gate,
        input_scale=block**-0.5 if cfg.input_scale == "1/sqrt(block)" else 1.0,
        repeats=cfg.skip_repeats,
        identity=overrides.get("identity", False) in (True, kind),
        activation="" if kind == "attn" else str(overrides.get("activation", cfg.activation)),
        drop_branch=cfg.branch_dropout,
        drop_stream=cfg.stream_dropout,
        values=_values(cfg, block) if kind == "attn" and cfg.value_residual else "",
    )


def _values(cfg: RunConfig, block: int) -> str:
    """Part in the value residual of a block's attention, which counts from the first that is not taken out."""
    ablated = {number for number, key, value in cfg.overrides if key == "identity" and value in (True, "attn")}
    first = next((number for number in range(1, cfg.depth + 1) if number not in ablated), 0)
    return "first" if block == first else "mixed"
