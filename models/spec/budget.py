"""What a run would cost on the reference machine, one processor thread, estimated from its configuration alone.

The estimate is a sum over what a step does: so much per sublayer, per number that is touched, per weight, per multiply-add.
`python -m benchmarks budget` prints estimate and measurement side by side.
"""

import math
from bisect import bisect
from dataclasses import replace

from models.spec.config import RunConfig, knobs
from models.spec.limits import LIMITS

STEP_LIMIT = LIMITS.step_seconds  # one training step, and with it the signal at initialisation
RUN_LIMIT = LIMITS.run_seconds  # a whole run
STEPS_LIMIT = LIMITS.steps
MEMORY_LIMIT = LIMITS.memory * 1e6  # bytes
MOST_CUTS = 40

PER_FURTHER_SEED = 0.4  # of a step, beyond the first seed
# Seconds on one quiet core, from least squares over 44 configurations; they hold within a factor of about 1.3.
PER_STEP = 0.2e-3
PER_SUBLAYER = {"mlp": 0.2e-3, "attn": 0.6e-3, "ffn": 0.2e-3}
PER_NUMBER = 1.7e-9  # that a kernel reads or writes for every token
PER_SCORE = 4e-9  # of attention, one for every pair of tokens and head
PER_WEIGHT = 2.2e-9  # read and written by the optimiser, however small the batch
PER_MULTIPLY_ADD = 1 / 42e9


def step_seconds(cfg: RunConfig) -> float:
    """Seconds of one probed training step."""
    tokens = cfg.batch * cfg.tokens
    return PER_STEP + cfg.depth * sum(_sublayer_seconds(cfg, kind, tokens) for kind in _kinds(cfg))


def _sublayer_seconds(cfg: RunConfig, kind: str, tokens: int) -> float:
    weights = _weights(cfg, kind)
    numbers = tokens * cfg.width * (7 if kind == "attn" else 3 + _hidden(cfg, kind))
    seconds = PER_SUBLAYER[kind] + PER_NUMBER * numbers + PER_WEIGHT * weights + PER_MULTIPLY_ADD * 3 * tokens * weights
    if kind == "attn":
        seconds += tokens * cfg.tokens * (PER_SCORE * cfg.heads + PER_MULTIPLY_ADD * 6 * cfg.width)
    return seconds


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
        return f"This is over budget: with {seeds} seeds {reason} (on one processor thread). Fewer seeds or a smaller net fit."
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
    layers = 1 if kind == "mlp" and cfg.layers_per_branch == 1 else 2
    return layers * (cfg.expansion if layers == 2 else 1) * cfg.width**2
