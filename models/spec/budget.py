"""What a run would cost on this machine, one processor thread, estimated from its configuration alone.

The estimate is a sum over what a step does: so much per sublayer and norm, per number that is touched, per weight, per
multiply-add. It holds for the reference machine; the trainer measures two small nets when it starts and says how much
slower this one is. `python -m benchmarks budget` prints estimate and measurement side by side.
"""

import math
from bisect import bisect
from dataclasses import dataclass, replace
from functools import lru_cache

from models.spec.config import RunConfig
from models.spec.fields import knobs
from models.spec.limits import LIMITS
from models.spec.plan import SublayerPlan, plan

STEP_LIMIT = LIMITS.step_seconds  # one training step, and with it the signal at initialisation
RUN_LIMIT = LIMITS.run_seconds  # a whole run
STEPS_LIMIT = LIMITS.steps
MEMORY_LIMIT = LIMITS.memory * 1e6  # bytes
MOST_CUTS = 40

PER_FURTHER_SEED = 0.4  # of a step, beyond the first seed
# Seconds on one core of the reference machine, from non-negative least squares of relative errors over 217
# configurations drawn at random; of those whose step takes 6 ms or more, 97 of 100 lie within a factor of 1.3.
PER_STEP = 0.5e-3
PER_SUBLAYER = {"one layer": 0.102e-3, "two layers": 0.17e-3, "attn": 0.398e-3}
PER_NORM, PER_COSTLY_NORM = 0.08e-3, 0.03e-3  # the second further, of norms that take more than one kernel
PER_FACTOR = 0.036e-3
PER_POSITION = {"rotary": 0.225e-3, "alibi": 0.17e-3, "relative bias": 0.3e-3}  # where attention is told the places
PER_NUMBER = 2.3e-9  # of the stream and inside a branch
PER_NORMED, PER_COSTLY = 2.5e-9, 1.6e-9  # further, where a norm reads it, and where it takes more than one kernel
PER_HEAD, PER_BIASED_HEAD = 2.6e-7, 4.8e-8  # of one token; the second further, where positions are added to scores
PER_WEIGHT = {"sgd": 1.8e-9, "momentum": 1.8e-9, "adam": 2.8e-9, "adamw": 2.8e-9}  # however small the batch
PER_MULTIPLY_ADD = 1 / 44e9
PER_TERM, PER_SUMMED = 3e-6, 1.2e-9  # of DLCL's sums over all earlier blocks, and of each of their numbers
CHEAP = ("relu", "identity")  # activations; all others cost as much as a norm per number
ATTENTION_NUMBERS = 5  # per feature: queries, keys, values, what heads return, what is handed on


@dataclass(frozen=True)
class Machine:
    """How many times slower than the reference machine this one is, in what
    a step costs however small the net is, and in what grows with its sizes.
    """

    fixed: float = 1.0
    growing: float = 1.0


_machine = Machine()


def calibrated(machine: Machine) -> None:
    """From now on estimates are for this machine."""
    global _machine  # noqa: PLW0603 - a process runs on one machine
    _machine = machine


def step_seconds(cfg: RunConfig) -> float:
    """Seconds of one probed training step on this machine."""
    fixed, growing = step_parts(cfg)
    return _machine.fixed * fixed + _machine.growing * growing


@lru_cache(maxsize=1024)
def step_parts(cfg: RunConfig) -> tuple[float, float]:
    """Seconds of one probed step on the reference machine: what
    every net of so many parts costs, and what its sizes add.
    """
    fixed, growing = PER_STEP, 0.0
    for one in plan(cfg).sublayers:
        if not one.identity:
            fixed += _fixed(cfg, one)
            growing += _growing(cfg, one)
    numbers = cfg.batch * cfg.tokens * cfg.width
    if cfg.stack == "dlcl":
        terms = cfg.depth**2 / 2
        fixed += PER_TERM * terms + PER_NORM * (cfg.depth + 1)
        growing += numbers * (PER_SUMMED * terms + PER_NORMED * (cfg.depth + 1))
    elif cfg.stack == "residual":
        growing += PER_NUMBER * numbers * cfg.sublayers
    return fixed, growing


def _fixed(cfg: RunConfig, one: SublayerPlan) -> float:
    attention = one.kind == "attn"
    kind = "attn" if attention else "one layer" if _one_layer(cfg, one.kind) else "two layers"
    norms = sum(norm != "none" for norm in _norms(one)) + (one.repeats - 1) + 2 * (attention and cfg.qk_norm)
    placed = PER_POSITION.get(cfg.position, 0.0) * attention
    costly = sum(norm in ("rms norm", "dynamic tanh") for norm in _norms(one))
    return PER_SUBLAYER[kind] + PER_NORM * norms + PER_COSTLY_NORM * costly + PER_FACTOR * _factors(one) + placed


def _growing(cfg: RunConfig, one: SublayerPlan) -> float:
    tokens, attention = cfg.batch * cfg.tokens, one.kind == "attn"
    features = tokens * cfg.width
    hidden = features * (ATTENTION_NUMBERS if attention else _hidden(cfg, one.kind))
    inside = features if attention else hidden
    normed = dict.fromkeys(_norms(one), 0)
    for norm, size in zip(_norms(one), (features, inside, features, features), strict=True):
        normed[norm] += size
    normed["none"] = 0
    costly = sum(size for norm, size in normed.items() if norm != "layer norm") + features * _factors(one)
    costly += hidden * (not attention and cfg.activation not in CHEAP) + 4 * features * (
        attention and cfg.position == "rotary"
    )
    weights = _weights(cfg, one.kind)
    return (
        PER_NUMBER * (features + hidden)
        + PER_NORMED * (sum(normed.values()) + features * (one.repeats - 1))
        + PER_COSTLY * costly
        + (PER_HEAD + PER_BIASED_HEAD * (cfg.position in ("alibi", "relative bias"))) * tokens * cfg.heads * attention
        + PER_WEIGHT[cfg.optimizer] * weights
        + PER_MULTIPLY_ADD * 3 * tokens * weights
    )


def _norms(one: SublayerPlan) -> tuple[str, ...]:
    return one.norm_in, one.norm_mid, one.norm_out, one.norm_add


def _factors(one: SublayerPlan) -> int:
    """Weights other than 1, and gates."""
    return bool(one.gate or one.scale != 1) + (one.skip not in (0, 1)) + (one.input_scale != 1)


def memory_bytes(cfg: RunConfig) -> float:
    """Bytes of weights, gradients, optimiser state, kept activations and rows."""
    kept = cfg.batch * cfg.tokens * cfg.width * cfg.depth * sum(6 + 2 * _hidden(cfg, kind) for kind in _kinds(cfg))
    return 4.0 * kept + held_bytes(cfg)


def held_bytes(cfg: RunConfig) -> float:
    """Bytes that a run keeps between two of its steps: weights, gradients, optimiser state and rows."""
    weights = cfg.depth * sum(_weights(cfg, kind) for kind in _kinds(cfg))
    rows = cfg.steps * (3 * cfg.sublayers + cfg.depth + 6)
    return 4.0 * (4 * weights + rows)


def over_budget(cfg: RunConfig, seeds: int = 1) -> str | None:
    """Why a configuration is refused, with the numbers and the nearest legal value; None where it fits.

    Several seeds are trained as one computation, which costs less than one after another.
    """
    step, memory = step_seconds(cfg) * (1 + (seeds - 1) * PER_FURTHER_SEED), memory_bytes(cfg) * seeds
    if step > STEP_LIMIT:
        reason = f"one step would take about {step:.2g} s, and {STEP_LIMIT:g} s is the limit"
    elif memory > MEMORY_LIMIT:
        reason = f"it would need about {memory / 1e9:.2g} GB, and {MEMORY_LIMIT / 1e9:g} GB is the limit"
    elif cfg.steps > STEPS_LIMIT:
        reason = f"a run of {cfg.steps} steps is longer than this server trains, and {STEPS_LIMIT} steps is the limit"
    elif step * cfg.steps > RUN_LIMIT:
        reason = f"{cfg.steps} steps would take about {_span(step * cfg.steps)}, and {_span(RUN_LIMIT)} is the limit"
    else:
        return None
    if seeds > 1 and over_budget(cfg) is None:
        return (
            f"This is over budget: with {seeds} seeds {reason} (on one processor thread). Fewer seeds or a smaller net "
            "fit."
        )
    field, value = affordable(cfg)
    advice = "Nearest that fits" if _fits(cfg, field, value) else "No single change is enough; begin with"
    return f"This is over budget: {reason} (on one processor thread). {advice}: {knobs()[field][1].label} {value}."


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.2g} s"


def affordable(cfg: RunConfig) -> tuple[str, int]:
    """One field and its largest value with which the configuration fits, the least painful field first.

    Where no field can do it alone, a quarter of the batch: taken again and again, this leads to one that fits.
    """
    largest = {field: _largest(cfg, field) for field in ("steps", "batch", "width", "depth")}
    if cfg.steps > STEPS_LIMIT:
        return "steps", largest["steps"] or STEPS_LIMIT  # no other field can help
    for field, value in largest.items():
        if value and (field in ("width", "depth") or 4 * value >= getattr(cfg, field)):
            return field, value
    return "batch", largest["batch"] or max(1, cfg.batch // 4)


def fitted(cfg: RunConfig) -> RunConfig:
    """The configuration, made smaller until it fits; the last that could be made where none does."""
    for _ in range(MOST_CUTS):
        if over_budget(cfg) is None:
            break
        try:
            cfg = replace(cfg, **dict([affordable(cfg)]))  # type: ignore[arg-type]
        except ValueError:
            break
    return cfg


def _largest(cfg: RunConfig, field: str) -> int:
    """The largest value of a field, no larger than it is, with which everything else fits; 0 if there is none."""
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
    step = step_seconds(smaller)
    quick = step <= STEP_LIMIT and step * smaller.steps <= RUN_LIMIT
    return quick and memory_bytes(smaller) <= MEMORY_LIMIT and smaller.steps <= STEPS_LIMIT


def _kinds(cfg: RunConfig) -> tuple[str, ...]:
    """The sublayers of a block."""
    return ("attn", "ffn") if cfg.net == "transformer" else ("mlp",)


def _hidden(cfg: RunConfig, kind: str) -> int:
    """Hidden numbers of a branch as a multiple of the width."""
    return cfg.expansion if kind == "ffn" or cfg.layers_per_branch == 2 else 1


def _weights(cfg: RunConfig, kind: str) -> int:
    if kind == "attn":
        return 4 * cfg.width**2
    return (1 if _one_layer(cfg, kind) else 2 * cfg.expansion) * cfg.width**2


def _one_layer(cfg: RunConfig, kind: str) -> bool:
    return kind == "mlp" and cfg.layers_per_branch == 1
