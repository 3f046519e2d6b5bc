"""The fields of a run as plain data, with placements, tasks and overrides, for an engine in another language."""

from dataclasses import asdict
from functools import cache
from typing import Any

from models.spec.fields import Fields, knobs
from models.spec.overrides import OVERRIDE_KEYS
from models.spec.parametrization import BASE_DEPTH, BASE_WIDTH, BY_DEPTH
from models.spec.placement import PLACEMENTS
from models.spec.tasks import TASKS
from models.spec.vocabulary import INITS

SLOTS = ("norm_in", "norm_mid", "norm_out", "norm_add", "final_norm")


@cache
def schema() -> dict[str, Any]:
    """`fields` with default, types and legal values, `placements`, `tasks` and `overrides`, each by name.

    `fixed`: the initialisations whose spread no width changes. `base`: the net from which a parametrization counts.
    """
    fields = {
        name: {
            "label": knob.label,
            "default": getattr(Fields, name),
            "types": [kind.__name__ for kind in kinds],
            "low": knob.low,
            "high": knob.high,
            "choices": knob.choices and list(knob.choices),
            "rules": list(knob.rules or ()),
            "legal": knob.legal_values(),
        }
        for name, (kinds, knob) in knobs().items()
    }
    return {
        "fields": fields,
        "placements": {name: [slot for slot in SLOTS if getattr(entry, slot)] for name, entry in PLACEMENTS.items()},
        "tasks": {name: asdict(task) for name, task in TASKS.items()},
        "overrides": {key: list(values) for key, values in OVERRIDE_KEYS.items()},
        "fixed": [name for name, entry in INITS.items() if entry.fixed],
        "base": {"width": BASE_WIDTH, "depth": BASE_DEPTH, "by_depth": BY_DEPTH},
    }
