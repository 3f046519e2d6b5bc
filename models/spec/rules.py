"""Illegal combinations of fields, each with its sentence and the nearest legal change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.spec.fields import BY_DEPTH, Fields
from models.spec.overrides import PARTS
from models.spec.scales import GATES
from models.spec.vocabulary import NORMS

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
    Rule(
        lambda c: c.parametrization == BY_DEPTH and c.branch_scale in GATES,
        lambda c: (
            f"branch scale {c.branch_scale} is learned, and parametrization {BY_DEPTH} sets it by the depth; choose "
            "another branch scale, or parametrization muP"
        ),
        lambda c: {"parametrization": "muP"},
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
