"""The estimated cost of a run on one CPU thread of this machine, from its configuration alone.

A step's cost is a sum over sublayers, norms, elements, weights and multiply-adds on a reference machine. At its start
the trainer measures two small nets to see how much slower this machine is. `python -m benchmarks budget` compares
estimates with measurements.
"""

import math
from bisect import bisect
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.spec.config import RunConfig
from models.spec.fields import knobs
from models.spec.limits import LIMITS
from models.spec.plan import SUBLAYER_KINDS, SublayerPlan, is_one_layer, matrices, sublayers_by_cost
from models.spec.vocabulary import MANY_STREAMS

MAX_STEP_SECONDS = LIMITS.step_seconds  # of a training step, and of the signal at initialisation
MAX_RUN_SECONDS = LIMITS.run_seconds
MAX_STEPS = LIMITS.steps
MAX_MEMORY_BYTES = LIMITS.memory * 1e6
MAX_SHRINKS = 40  # changes until a configuration fits

PER_EXTRA_SEED = 0.4  # share of a step, for each seed after the first
# Seconds on one core of the reference machine, from non-negative least squares of relative errors over 217 random
# configurations; 97 % of those with a step of 6 ms or more lie within a factor of 1.3. PER_HEAD was measured apart,
# with 1 to 8 heads. An element is a number of an activation tensor.
PER_STEP = 0.5e-3
PER_SUBLAYER = {"one layer": 0.102e-3, "two layers": 0.17e-3, "attn": 0.398e-3}
PER_NORM = 0.08e-3
PER_COSTLY_NORM = 0.03e-3  # on top of PER_NORM, for a norm of several kernels
PER_FACTOR = 0.036e-3  # per multiplication by a weight other than 1
PER_POSITION = {"rotary": 0.225e-3, "alibi": 0.17e-3, "relative bias": 0.3e-3}  # positions inside attention
PER_ELEMENT = 2.3e-9  # of the stream and inside a branch
PER_NORMED_ELEMENT = 2.5e-9  # on top of PER_ELEMENT, in a norm
PER_COSTLY_ELEMENT = 1.6e-9  # on top of PER_ELEMENT, in a costly operation
PER_MASK = 0.045e-3  # of dropout
PER_MASK_ELEMENT = 5e-9
PER_HEAD = 2.2e-7  # per token
PER_BIASED_HEAD = 4.8e-8  # per token, on top of PER_HEAD, for positions added to the scores
PER_WEIGHT = {"sgd": 1.8e-9, "momentum": 1.8e-9, "adam": 2.8e-9, "adamw": 2.8e-9, "muon": 2.8e-9}  # for any batch size
PER_MULTIPLY_ADD = 1 / 44e9
PER_ORTHOGONAL = 0.15e-3  # per matrix that Muon makes orthogonal, on top of its products
PER_TERM = 3e-6  # of DLCL's sums over earlier blocks
PER_TERM_ELEMENT = 1.2e-9
# Measured apart on the same scale, at 16 to 64 sublayers of 256 to 65,536 elements.
PER_CONNECTION = {"hyper-connections": 0.32e-3, "dynamic hyper-connections": 0.62e-3, "mHC": 0.62e-3}
PER_STREAM_ELEMENT = 17e-9  # of each of n streams, per sublayer
PER_SINKHORN = 0.07e-3  # per iteration
PER_SINKHORN_TOKEN = 0.3e-6
PER_READ = 0.34e-3  # of attention over depth
PER_READ_ELEMENT = 7.5e-9  # of each output that is read
STORED_PER_STREAM, STORED_PER_READ = 6, 3  # tensors that a backward pass keeps
ONE_KERNEL_NORMS = ("none", "layer norm", "batch norm")
CHEAP_ACTIVATIONS = ("relu", "identity")  # any other costs as much per element as a norm
ATTENTION_TENSORS = 5  # of the stream's size: queries, keys, values, the heads' output, the branch's output


@dataclass(frozen=True)
class Machine:
    """How many times slower a machine is than the reference, in a step's fixed cost and in the cost that grows."""

    fixed: float = 1.0
    growing: float = 1.0


class StepCost(NamedTuple):
    """Seconds of a step on the reference machine: its fixed cost, and the cost that grows with tensor sizes."""

    fixed: float
    growing: float


_machine = Machine()


def set_machine(machine: Machine) -> None:
    """Sets the machine of all further estimates."""
    global _machine  # noqa: PLW0603 - a process runs on one machine
    _machine = machine


def this_machine() -> Machine:
    return _machine


def step_seconds(cfg: RunConfig) -> float:
    """Seconds of one recorded training step on this machine."""
    cost = reference_step_cost(cfg)
    return _machine.fixed * cost.fixed + _machine.growing * cost.growing


def reference_step_cost(cfg: RunConfig) -> StepCost:
    """The cost of one recorded training step."""
    fixed, growing = PER_STEP, 0.0
    for sublayer, count in sublayers_by_cost(cfg):
        if not sublayer.identity:
            fixed += count * _fixed_seconds(cfg, sublayer)
            growing += count * _growing_seconds(cfg, sublayer)
    elements = cfg.batch * cfg.tokens * cfg.width
    if cfg.stack == "dlcl":
        terms = cfg.depth**2 / 2
        fixed += PER_TERM * terms + PER_NORM * (cfg.depth + 1)
        growing += elements * (PER_TERM_ELEMENT * terms + PER_NORMED_ELEMENT * (cfg.depth + 1))
    elif cfg.stack == "learned scalars":
        fixed += 2 * PER_FACTOR * cfg.depth
        growing += 3 * PER_COSTLY_ELEMENT * elements * cfg.depth
    elif cfg.stack == "residual":
        growing += PER_ELEMENT * elements * cfg.sublayers
    elif cfg.stack in MANY_STREAMS:
        iterations = cfg.sinkhorn * cfg.sublayers if cfg.stack == "mHC" else 0
        fixed += PER_CONNECTION[cfg.stack] * cfg.sublayers + PER_SINKHORN * iterations
        growing += PER_STREAM_ELEMENT * elements * cfg.streams * cfg.sublayers
        growing += PER_SINKHORN_TOKEN * cfg.batch * cfg.tokens * iterations
    elif cfg.stack == "attention residuals":
        fixed += PER_READ * cfg.sublayers
        growing += PER_READ_ELEMENT * elements * _reads(cfg)
    return StepCost(fixed, growing)


def _reads(cfg: RunConfig) -> float:
    """The sources that all sublayers and the head read by attention over depth."""
    return cfg.sublayers * (cfg.sublayers / cfg.depth_block + 3) / 2


def _fixed_seconds(cfg: RunConfig, sublayer: SublayerPlan) -> float:
    """Seconds of a sublayer that do not depend on tensor sizes."""
    norms = sum(norm != "none" for norm in sublayer.norms) + (sublayer.repeats - 1)
    costly_norms = sum(norm not in ONE_KERNEL_NORMS for norm in sublayer.norms)
    factors = PER_FACTOR * _factors(sublayer) + PER_MASK * _masks(sublayer)
    positions = 0.0
    if sublayer.kind == "attn":
        branch = "attn"
        norms += 2 if cfg.qk_norm else 0
        factors += 2 * PER_FACTOR if sublayer.values == "mixed" else 0.0
        positions = PER_POSITION.get(cfg.position, 0.0)
    else:
        branch = "one layer" if is_one_layer(cfg, sublayer.kind) else "two layers"
    orthogonal = PER_ORTHOGONAL * len(matrices(cfg, sublayer.kind)) if cfg.optimizer == "muon" else 0.0
    return PER_SUBLAYER[branch] + PER_NORM * norms + PER_COSTLY_NORM * costly_norms + factors + positions + orthogonal


def _growing_seconds(cfg: RunConfig, sublayer: SublayerPlan) -> float:
    """Seconds of a sublayer that grow with tensor sizes."""
    is_attention = sublayer.kind == "attn"
    tokens = cfg.batch * cfg.tokens
    features = tokens * cfg.width
    hidden = features * (ATTENTION_TENSORS if is_attention else _hidden_ratio(cfg, sublayer.kind))
    slot_sizes = (features, features if is_attention else hidden, features, features)
    norm_sizes = [(norm, size) for norm, size in zip(sublayer.norms, slot_sizes, strict=True) if norm != "none"]
    normed = sum(size for _, size in norm_sizes) + features * (sublayer.repeats - 1)
    costly = sum(size for norm, size in norm_sizes if norm != "layer norm") + features * _factors(sublayer)
    if not is_attention and sublayer.activation not in CHEAP_ACTIVATIONS:
        costly += hidden
    if is_attention and cfg.position == "rotary":
        costly += 4 * features
    heads = cfg.heads if is_attention else 0
    has_biased_scores = cfg.position in ("alibi", "relative bias")
    per_head = PER_HEAD + (PER_BIASED_HEAD if has_biased_scores else 0.0)
    weights = _weights(cfg, sublayer.kind)
    return (
        PER_ELEMENT * (features + hidden)
        + PER_NORMED_ELEMENT * normed
        + PER_COSTLY_ELEMENT * costly
        + PER_MASK_ELEMENT * features * _masks(sublayer)
        + per_head * tokens * heads
        + PER_WEIGHT[cfg.optimizer] * weights
        + PER_MULTIPLY_ADD * (3 * tokens * weights + _orthogonal_products(cfg, sublayer.kind))
    )


def _orthogonal_products(cfg: RunConfig, kind: str) -> int:
    """Multiply-adds of Muon's five Newton-Schulz steps on the matrices of a branch; 0 for other optimisers."""
    if cfg.optimizer != "muon":
        return 0
    sizes = [(min(shape), max(shape)) for shape in matrices(cfg, kind).values()]
    return 5 * sum(2 * short * short * long + short**3 for short, long in sizes)


def _factors(sublayer: SublayerPlan) -> int:
    """Number of multiplications by skip, branch and input weights other than 1, gates included."""
    has_branch_factor = sublayer.gate != "" or sublayer.scale != 1
    return sum((has_branch_factor, sublayer.skip not in (0, 1), sublayer.input_scale != 1))


def _masks(sublayer: SublayerPlan) -> int:
    """Number of dropout masks."""
    return (sublayer.drop_branch > 0) + (sublayer.drop_stream > 0)


def memory_bytes(cfg: RunConfig) -> float:
    """Bytes of weights, gradients, optimiser state, stored activations and rows."""
    masks = (cfg.branch_dropout > 0) + (cfg.stream_dropout > 0)  # each stores the mask and its output
    per_block = sum(6 + 2 * _hidden_ratio(cfg, kind) + 2 * masks for kind in SUBLAYER_KINDS[cfg.net])
    tensors = float(cfg.depth * per_block)
    if cfg.stack in MANY_STREAMS:
        tensors += STORED_PER_STREAM * cfg.streams * cfg.sublayers
    elif cfg.stack == "attention residuals":
        tensors += STORED_PER_READ * _reads(cfg)
    activations = cfg.batch * cfg.tokens * cfg.width * tensors
    return 4.0 * activations + resident_bytes(cfg)


def resident_bytes(cfg: RunConfig) -> float:
    """Bytes of a run between steps: weights, gradients, optimiser state and rows."""
    weights = cfg.depth * sum(_weights(cfg, kind) for kind in SUBLAYER_KINDS[cfg.net])
    rows = cfg.steps * (3 * cfg.sublayers + cfg.depth + 6)
    return 4.0 * (4 * weights + rows)


def budget_refusal(cfg: RunConfig, seeds: int = 1) -> str | None:
    """Why a configuration is refused, with its cost and the nearest value that fits; None if it fits."""
    reason = _excess_reason(cfg, seeds)
    if not reason:
        return None
    if seeds > 1 and budget_refusal(cfg) is None:
        return (
            f"This is over budget: with {seeds} seeds {reason} (on one processor thread). Fewer seeds or a smaller net "
            "fit."
        )
    field, value = affordable_change(cfg)
    advice = "Nearest that fits" if _fits(cfg, field, value) else "No single change is enough; begin with"
    return f"This is over budget: {reason} (on one processor thread). {advice}: {knobs()[field][1].label} {value}."


def _excess_reason(cfg: RunConfig, seeds: int = 1) -> str:
    """The first limit that a configuration exceeds, in words; empty if it fits. Seeds train in one batch."""
    step = step_seconds(cfg) * (1 + (seeds - 1) * PER_EXTRA_SEED)
    memory = memory_bytes(cfg) * seeds
    if step > MAX_STEP_SECONDS:
        return f"one step would take about {step:.2g} s, and {MAX_STEP_SECONDS:g} s is the limit"
    if memory > MAX_MEMORY_BYTES:
        return f"it would need about {memory / 1e9:.2g} GB, and {MAX_MEMORY_BYTES / 1e9:g} GB is the limit"
    if cfg.steps > MAX_STEPS:
        return f"a run of {cfg.steps} steps is longer than this server trains, and {MAX_STEPS} steps is the limit"
    if step * cfg.steps > MAX_RUN_SECONDS:
        run = format_duration(step * cfg.steps)
        return f"{cfg.steps} steps would take about {run}, and {format_duration(MAX_RUN_SECONDS)} is the limit"
    return ""


def format_duration(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.2g} s"


def affordable_change(cfg: RunConfig) -> tuple[str, int]:
    """A field and the largest value with which the configuration fits, preferably one that changes the net least.

    If no single field is enough, a quarter of the batch, so that repeated changes lead to a configuration that fits.
    """
    largest = {field: _largest(cfg, field) for field in ("steps", "batch", "width", "depth")}
    if cfg.steps > MAX_STEPS:
        return "steps", largest["steps"] or MAX_STEPS  # no other field can help
    for field, value in largest.items():
        if value and (field in ("width", "depth") or 4 * value >= getattr(cfg, field)):
            return field, value
    return "batch", largest["batch"] or max(1, cfg.batch // 4)


def fit_to_budget(cfg: RunConfig) -> RunConfig:
    """The configuration made smaller until it fits, or by at most MAX_SHRINKS changes."""
    for _ in range(MAX_SHRINKS):
        if budget_refusal(cfg) is None:
            break
        try:
            field, value = affordable_change(cfg)
            cfg = replace(cfg, **{field: value})  # type: ignore[arg-type]
        except ValueError:
            break
    return cfg


def _largest(cfg: RunConfig, field: str) -> int:
    """The largest value of a field, up to the current one, with which the configuration fits; 0 if there is none."""
    pairs = 2 if cfg.position == "rotary" else 1
    width_stride = math.lcm(8, cfg.heads * pairs) if cfg.net == "transformer" else 8
    stride = {"steps": 10, "width": width_stride}.get(field, 1)
    values = range(stride, getattr(cfg, field) + 1, stride)
    fitting = bisect(values, False, key=lambda value: not _fits(cfg, field, value))
    return values[fitting - 1] if fitting else 0


def _fits(cfg: RunConfig, field: str, value: int) -> bool:
    try:
        smaller = replace(cfg, **{field: value})  # type: ignore[arg-type]
    except ValueError:
        return False
    return not _excess_reason(smaller)


def _hidden_ratio(cfg: RunConfig, kind: str) -> int:
    """The hidden features of a branch as a multiple of the width."""
    return cfg.expansion if kind == "ffn" or cfg.layers_per_branch == 2 else 1


def _weights(cfg: RunConfig, kind: str) -> int:
    """Number of weights in the matrices of a branch."""
    return sum(inputs * outputs for inputs, outputs in matrices(cfg, kind).values())
