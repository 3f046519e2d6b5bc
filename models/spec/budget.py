"""The cost of a run on one CPU thread of this machine, estimated from its configuration alone.

The estimate is a sum over what a step does: per sublayer and norm, per number touched, per weight, per multiply-add. It
is for the reference machine; at its start the trainer measures two small nets to see how much slower this one is.
`python -m benchmarks budget` prints estimates beside measurements.
"""

import math
from bisect import bisect
from dataclasses import dataclass, replace

from models.spec.config import RunConfig
from models.spec.fields import knobs
from models.spec.limits import LIMITS
from models.spec.plan import SUBLAYER_KINDS, SublayerPlan, is_one_layer, sublayers_by_cost

MAX_STEP_SECONDS = LIMITS.step_seconds  # one training step, and with it the signal at initialisation
MAX_RUN_SECONDS = LIMITS.run_seconds  # a whole run
MAX_STEPS = LIMITS.steps
MAX_MEMORY_BYTES = LIMITS.memory * 1e6  # bytes
MAX_CUTS = 40

PER_FURTHER_SEED = 0.4  # of a step, for each seed after the first
# Seconds on one core of the reference machine, from non-negative least squares of relative errors over 217 random
# configurations; of those whose step takes 6 ms or more, 97 % lie within a factor of 1.3.
# PER_HEAD was then measured by itself, from 1 to 8 heads.
PER_STEP = 0.5e-3
PER_SUBLAYER = {"one layer": 0.102e-3, "two layers": 0.17e-3, "attn": 0.398e-3}
PER_NORM, PER_COSTLY_NORM = 0.08e-3, 0.03e-3  # the second on top, for norms that take more than one kernel
PER_FACTOR = 0.036e-3
PER_POSITION = {"rotary": 0.225e-3, "alibi": 0.17e-3, "relative bias": 0.3e-3}  # where attention itself adds positions
PER_NUMBER = 2.3e-9  # in the stream and inside a branch
PER_NORMED, PER_COSTLY = 2.5e-9, 1.6e-9  # on top: for a number that is normed, or takes more than one kernel
PER_DROPOUT, PER_DROPPED = 0.045e-3, 5e-9  # a mask, and a number in it
PER_HEAD, PER_BIASED_HEAD = 2.2e-7, 4.8e-8  # per token; the second on top, where positions are added
PER_WEIGHT = {"sgd": 1.8e-9, "momentum": 1.8e-9, "adam": 2.8e-9, "adamw": 2.8e-9}  # however small the batch
PER_MULTIPLY_ADD = 1 / 44e9
PER_TERM, PER_SUMMED = 3e-6, 1.2e-9  # in DLCL's sums over all earlier blocks, and per number in them
ONE_KERNEL = ("none", "layer norm", "batch norm")  # norms; any other launches several
CHEAP = ("relu", "identity")  # activations; any other costs as much per number as a norm
ATTENTION_NUMBERS = 5  # per feature: queries, keys, values, the heads' output, the branch's output


@dataclass(frozen=True)
class Machine:
    """How many times slower this machine is than the reference: in a step's fixed cost, and in what grows with size."""

    fixed: float = 1.0
    growing: float = 1.0


_machine = Machine()


def set_machine(machine: Machine) -> None:
    """Makes estimates be for this machine from now on."""
    global _machine  # noqa: PLW0603 - a process runs on one machine
    _machine = machine


def this_machine() -> Machine:
    """The machine that estimates are for."""
    return _machine


def step_seconds(cfg: RunConfig) -> float:
    """The seconds of one probed training step on this machine."""
    fixed, growing = reference_step_cost(cfg)
    return _machine.fixed * fixed + _machine.growing * growing


def reference_step_cost(cfg: RunConfig) -> tuple[float, float]:
    """The seconds of one probed step on the reference machine: its fixed cost, and what grows with size."""
    fixed, growing = PER_STEP, 0.0
    for sublayer, count in sublayers_by_cost(cfg):
        if not sublayer.identity:
            fixed += count * _fixed(cfg, sublayer)
            growing += count * _growing(cfg, sublayer)
    numbers = cfg.batch * cfg.tokens * cfg.width
    if cfg.stack == "dlcl":
        terms = cfg.depth**2 / 2
        fixed += PER_TERM * terms + PER_NORM * (cfg.depth + 1)
        growing += numbers * (PER_SUMMED * terms + PER_NORMED * (cfg.depth + 1))
    elif cfg.stack == "residual":
        growing += PER_NUMBER * numbers * cfg.sublayers
    return fixed, growing


def _fixed(cfg: RunConfig, sublayer: SublayerPlan) -> float:
    attention = sublayer.kind == "attn"
    kind = "attn" if attention else "one layer" if is_one_layer(cfg, sublayer.kind) else "two layers"
    norms = sum(norm != "none" for norm in sublayer.norms) + (sublayer.repeats - 1) + 2 * (attention and cfg.qk_norm)
    positions = PER_POSITION.get(cfg.position, 0.0) * attention
    costly = sum(norm not in ONE_KERNEL for norm in sublayer.norms)
    factors = PER_FACTOR * _factors(sublayer) + PER_DROPOUT * _masks(sublayer)
    return PER_SUBLAYER[kind] + PER_NORM * norms + PER_COSTLY_NORM * costly + factors + positions


def _growing(cfg: RunConfig, sublayer: SublayerPlan) -> float:
    tokens, attention = cfg.batch * cfg.tokens, sublayer.kind == "attn"
    features = tokens * cfg.width
    hidden = features * (ATTENTION_NUMBERS if attention else _hidden(cfg, sublayer.kind))
    inside = features if attention else hidden
    normed = dict.fromkeys(sublayer.norms, 0)
    for norm, size in zip(sublayer.norms, (features, inside, features, features), strict=True):
        normed[norm] += size
    normed["none"] = 0
    costly = sum(size for norm, size in normed.items() if norm != "layer norm") + features * _factors(sublayer)
    costly += hidden * (not attention and sublayer.activation not in CHEAP) + 4 * features * (
        attention and cfg.position == "rotary"
    )
    weights = _weights(cfg, sublayer.kind)
    return (
        PER_NUMBER * (features + hidden)
        + PER_NORMED * (sum(normed.values()) + features * (sublayer.repeats - 1))
        + PER_COSTLY * costly
        + PER_DROPPED * features * _masks(sublayer)
        + (PER_HEAD + PER_BIASED_HEAD * (cfg.position in ("alibi", "relative bias"))) * tokens * cfg.heads * attention
        + PER_WEIGHT[cfg.optimizer] * weights
        + PER_MULTIPLY_ADD * 3 * tokens * weights
    )


def _factors(sublayer: SublayerPlan) -> int:
    """How many weights are not 1, gates among them."""
    return bool(sublayer.gate or sublayer.scale != 1) + (sublayer.skip not in (0, 1)) + (sublayer.input_scale != 1)


def _masks(sublayer: SublayerPlan) -> int:
    return (sublayer.drop_branch > 0) + (sublayer.drop_stream > 0)


def memory_bytes(cfg: RunConfig) -> float:
    """The bytes of weights, gradients, optimiser state, kept activations and rows."""
    masks = (cfg.branch_dropout > 0) + (cfg.stream_dropout > 0)  # each with what it leaves
    per_block = sum(6 + 2 * _hidden(cfg, kind) + 2 * masks for kind in SUBLAYER_KINDS[cfg.net])
    activations = cfg.batch * cfg.tokens * cfg.width * cfg.depth * per_block
    return 4.0 * activations + resident_bytes(cfg)


def resident_bytes(cfg: RunConfig) -> float:
    """The bytes that a run keeps between steps: weights, gradients, optimiser state and rows."""
    weights = cfg.depth * sum(_weights(cfg, kind) for kind in SUBLAYER_KINDS[cfg.net])
    rows = cfg.steps * (3 * cfg.sublayers + cfg.depth + 6)
    return 4.0 * (4 * weights + rows)


def budget_refusal(cfg: RunConfig, seeds: int = 1) -> str | None:
    """Why a configuration is refused, with the numbers and the nearest legal value; None if it fits."""
    reason = _excess(cfg, seeds)
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


def _excess(cfg: RunConfig, seeds: int = 1) -> str:
    """What is too much of a configuration; empty if it fits. Seeds are trained together, at less than their sum."""
    step, memory = step_seconds(cfg) * (1 + (seeds - 1) * PER_FURTHER_SEED), memory_bytes(cfg) * seeds
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
    """A time in words: seconds, minutes or hours."""
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.2g} s"


def affordable_change(cfg: RunConfig) -> tuple[str, int]:
    """A field and the largest value with which the configuration fits; the least painful field comes first.

    Where no single field is enough, a quarter of the batch: repeated, this leads to a configuration that fits.
    """
    largest = {field: _largest(cfg, field) for field in ("steps", "batch", "width", "depth")}
    if cfg.steps > MAX_STEPS:
        return "steps", largest["steps"] or MAX_STEPS  # no other field can help
    for field, value in largest.items():
        if value and (field in ("width", "depth") or 4 * value >= getattr(cfg, field)):
            return field, value
    return "batch", largest["batch"] or max(1, cfg.batch // 4)


def fit_to_budget(cfg: RunConfig) -> RunConfig:
    """The configuration made smaller until it fits, or as far as it can be."""
    for _ in range(MAX_CUTS):
        if budget_refusal(cfg) is None:
            break
        try:
            cfg = replace(cfg, **dict([affordable_change(cfg)]))  # type: ignore[arg-type]
        except ValueError:
            break
    return cfg


def _largest(cfg: RunConfig, field: str) -> int:
    """The largest value of a field, up to its own, with which the configuration fits; 0 if there is none."""
    pairs = 2 if cfg.position == "rotary" else 1
    width = math.lcm(8, cfg.heads * pairs) if cfg.net == "transformer" else 8
    stride = {"steps": 10, "width": width}.get(field, 1)
    values = range(stride, getattr(cfg, field) + 1, stride)
    return values[at - 1] if (at := bisect(values, False, key=lambda value: not _fits(cfg, field, value))) else 0


def _fits(cfg: RunConfig, field: str, value: int) -> bool:
    try:
        smaller = replace(cfg, **{field: value})  # type: ignore[arg-type]
    except ValueError:
        return False
    return not _excess(smaller)


def _hidden(cfg: RunConfig, kind: str) -> int:
    """The hidden features of a branch, as a multiple of the width."""
    return cfg.expansion if kind == "ffn" or cfg.layers_per_branch == 2 else 1


def _weights(cfg: RunConfig, kind: str) -> int:
    if kind == "attn":
        return 4 * cfg.width**2
    return (1 if is_one_layer(cfg, kind) else 2 * cfg.expansion) * cfg.width**2
