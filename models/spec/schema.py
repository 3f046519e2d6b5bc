"""What a run is as plain data, for the engine in a browser (`addnorm/engine/`), and which runs that takes."""

from dataclasses import asdict
from functools import cache
from typing import Any

from models.spec.config import RunConfig
from models.spec.fields import Fields, knobs
from models.spec.overrides import OVERRIDE_KEYS
from models.spec.placement import PLACEMENTS
from models.spec.tasks import TASKS

# The values that the engine takes, of choices and of what it does not take at all: a new choice is refused.
TAKEN: dict[str, tuple[Any, ...]] = {
    "net": ("mlp", "transformer"),
    "task": ("digits", "spiral", "circles", "xor", "linear", "copy", "reverse", "sort", "successor", "book"),
    "position": ("sinusoidal", "learned", "rotary", "alibi", "none"),
    "mask": ("causal", "none"),
    "value_residual": (False,),
    "activation": ("relu", "gelu", "silu", "selu", "tanh", "sigmoid", "identity"),
    "norm": ("none", "layer norm", "rms norm", "batch norm", "dynamic tanh", "dynamic erf"),
    "stack": ("single",),
    "init": ("fan-in", "he", "xavier", "torch", "orthogonal", "normal 0.02", "gpt2", "zero last", "deepnorm"),
    "optimizer": ("sgd", "momentum", "adam", "adamw"),
    "branch_dropout": (0.0,),
    "stream_dropout": (0.0,),
    "parametrization": ("standard",),
    "device": ("auto", "cpu"),
}
MAX_NUMBERS = 7e7  # of a net's activations: half a gigabyte with their gradients
HELD_OUT, SUBSET = 64, 128  # sequences, and windows of the book; rows that a frame measures at once
SLOTS = ("norm_in", "norm_mid", "norm_out", "norm_add", "final_norm")


@cache
def schema() -> dict[str, Any]:
    """`fields` with default, types and legal values, `placements`, `tasks` and `overrides`, each by name.

    `taken`, `most`: the values and the size that the engine takes.
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
            "nets": list(knob.nets),
        }
        for name, (kinds, knob) in knobs().items()
    }
    return {
        "fields": fields,
        "placements": {name: [slot for slot in SLOTS if getattr(entry, slot)] for name, entry in PLACEMENTS.items()},
        "tasks": {name: asdict(task) for name, task in TASKS.items()},
        "overrides": {key: list(values) for key, values in OVERRIDE_KEYS.items()},
        "taken": {name: list(choices) for name, choices in TAKEN.items()},
        "most": MAX_NUMBERS,
    }


def browser_refusal(cfg: RunConfig) -> str:
    """Why a browser does not train a run, in the engine's own sentence; empty if it does."""
    for name, choices in TAKEN.items():
        if cfg.net not in knobs()[name][1].nets:
            continue
        for value in (getattr(cfg, name), *(value for _, key, value in cfg.overrides if key == name)):
            if value not in choices:
                what = f"{knobs()[name][1].label} {value}" if isinstance(value, str) else knobs()[name][1].label
                return f"{what} is not trained in a browser; the app trains it."
    task = TASKS[cfg.task]
    uses_batch = "batch norm" in (cfg.norm, *(value for _, key, value in cfg.overrides if key == "norm"))
    held_out = HELD_OUT if task.vocabulary else task.answers
    rows = max(cfg.tokens * max(cfg.batch, held_out if uses_batch else 0), SUBSET)
    attention = 8 * cfg.width + cfg.tokens * cfg.heads if cfg.net == "transformer" else 0
    if rows * cfg.depth * (cfg.width * (4 + 2 * cfg.expansion) + attention) > MAX_NUMBERS:
        return f"Width {cfg.width} at depth {cfg.depth} needs more memory than a tab has; the app trains it."
    return ""
