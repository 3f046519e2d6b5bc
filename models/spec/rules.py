"""Illegal combinations of fields, each with its sentence and the nearest legal change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.spec.fields import BY_DEPTH, Fields
from models.spec.overrides import PARTS
from models.spec.placement import PLACEMENTS
from models.spec.scales import GATES
from models.spec.vocabulary import CONNECTED, NORMS

MAX_TRANSFORMER_DEPTH = 48  # blocks
BATCH_NORMS = {norm for norm, entry in NORMS.items() if entry.over == "batch"}


@dataclass(frozen=True)
class Rule:
    """An illegal combination of fields.

    Each callable takes the fields: `is_broken` detects the clash, `sentence` explains it, `repair` returns the fields
    to change.
    """

    is_broken: Callable[[Any], bool]
    sentence: Callable[[Any], str]
    repair: Callable[[Any], dict[str, object]]


def _many(broken: Callable[[Any], bool], why: str, repair: Callable[[Any], dict[str, object]]) -> Rule:
    """A rule of the stacks that have another place for the residual; `why` goes on from the name of the stack."""
    return Rule(
        lambda c: c.stack in CONNECTED and broken(c),
        lambda c: f"stack {c.stack} {why}",
        repair,
    )


def _adds_norm(placement: object) -> bool:
    return placement in PLACEMENTS and PLACEMENTS[str(placement)].norm_add


def _without(cfg: Any, is_illegal: Callable[[str, object], bool]) -> dict[str, object]:
    """The overrides without the illegal ones."""
    return {"overrides": tuple(override for override in cfg.overrides if not is_illegal(*override[1:]))}


def _legal_heads(cfg: Any) -> int:
    return max(heads for heads in range(1, cfg.heads + 1) if cfg.width % heads == 0)


RULES = (
    Rule(
        lambda c: c.net == "transformer" and c.depth > MAX_TRANSFORMER_DEPTH,
        lambda c: f"Depth {c.depth} is out of range for a transformer (1 to {MAX_TRANSFORMER_DEPTH})",
        lambda c: {"depth": MAX_TRANSFORMER_DEPTH},
    ),
    Rule(
        lambda c: c.net == "transformer" and c.width % c.heads != 0,
        lambda c: f"width {c.width} does not divide into {c.heads} heads; {_legal_heads(c)} would fit",
        lambda c: {"heads": _legal_heads(c)},
    ),
    Rule(
        lambda c: c.net == "transformer" and c.position == "rotary" and (c.width // c.heads) % 2 == 1,
        lambda c: (
            f"position rotary turns pairs of features, and a head of {c.width // c.heads} has no pairs; "
            "choose an even head size, or another position"
        ),
        lambda c: {"position": "sinusoidal"},
    ),
    Rule(
        lambda c: c.net != "transformer" and any(value in PARTS for _, _, value in c.overrides),
        lambda c: (
            "overrides takes attention or a feed-forward net out, and an MLP's block has neither; choose identity true"
        ),
        lambda c: {"overrides": tuple(override for override in c.overrides if override[2] not in PARTS)},
    ),
    Rule(
        lambda c: (
            c.batch * c.tokens == 1 and not BATCH_NORMS.isdisjoint({c.norm, *(value for _, _, value in c.overrides)})
        ),
        lambda c: "batch is 1 and batch norm needs two tokens or more to take a variance; choose a batch of 2 or more",
        lambda c: {"batch": 2},
    ),
    Rule(
        lambda c: c.stack == "residual" and not c.residual,
        lambda c: (
            "stack residual (ResiDual) is made of residuals, and residual is off; turn it on, or choose stack single"
        ),
        lambda c: {"residual": True},
    ),
    Rule(
        lambda c: c.stack == "residual" and c.skip_repeats > 1,
        lambda c: "skip repeats is 2 and stack residual (ResiDual) has one add per stream; choose skip repeats 1",
        lambda c: {"skip_repeats": 1},
    ),
    _many(
        lambda c: not c.residual,
        "is another form of the residual, and residual is off; turn it on, or choose stack single",
        lambda c: {"residual": True},
    ),
    _many(
        lambda c: any(key == "residual" and not value for _, key, value in c.overrides),
        "is another form of the residual, which a single block cannot lack; remove the exception",
        lambda c: _without(c, lambda key, value: key == "residual"),
    ),
    _many(
        lambda c: _adds_norm(c.placement),
        "has no single sum that a norm could follow; choose placement pre-norm",
        lambda c: {"placement": "pre-norm"},
    ),
    _many(
        lambda c: any(key == "placement" and _adds_norm(value) for _, key, value in c.overrides),
        "has no single sum that a norm could follow, in no block; remove the exception",
        lambda c: _without(c, lambda key, value: key == "placement" and _adds_norm(value)),
    ),
    _many(
        lambda c: c.skip_scale != 1,
        "learns the weight of the residual, and skip weight sets it; choose skip weight 1",
        lambda c: {"skip_scale": 1.0},
    ),
    _many(
        lambda c: c.skip_repeats > 1,
        "has no single sum to repeat, and skip repeats is 2; choose skip repeats 1",
        lambda c: {"skip_repeats": 1},
    ),
    _many(
        lambda c: c.stream_dropout > 0,
        "has no single stream to drop numbers of; choose stream dropout 0",
        lambda c: {"stream_dropout": 0.0},
    ),
    _many(
        lambda c: c.parametrization != "standard",
        "has no known scaling with width or depth; choose parametrization standard",
        lambda c: {"parametrization": "standard"},
    ),
    Rule(
        lambda c: c.parametrization == BY_DEPTH and c.branch_scale in GATES,
        lambda c: (
            f"branch scale {c.branch_scale} is learned, and parametrization {BY_DEPTH} sets it by the depth; choose "
            "another branch scale, or parametrization muP"
        ),
        lambda c: {"parametrization": "muP"},
    ),
    Rule(
        lambda c: c.optimizer == "muon" and c.parametrization != "standard",
        lambda c: (
            f"parametrization {c.parametrization} has rates for SGD and Adam, and optimizer muon scales its own by the "
            "shape of a matrix; choose parametrization standard, or another optimizer"
        ),
        lambda c: {"parametrization": "standard"},
    ),
)


def repairs(values: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yields the sentence and the repair of every broken rule; each repair applies before the next rule is checked."""
    fields = dict(values)
    for rule in RULES:
        probe = Fields(**fields)
        if rule.is_broken(probe):
            change = rule.repair(probe)
            fields |= change
            yield rule.sentence(probe), change


def all_repairs(values: Mapping[str, Any]) -> dict[str, object]:
    """The repairs of all broken rules as one change of fields."""
    return {field: value for _, change in repairs(values) for field, value in change.items()}
