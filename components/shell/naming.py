"""The short names of configurations, and the loss of guessing."""

from collections.abc import Iterable, Sequence

from components.shell.hidden_parts import any_hidden, is_hidden
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig, arrangement_of, knobs
from models.spec.arrangements import architecture_fields
from models.spec.overrides import display_value
from models.spec.pairings import differing_fields

ARRANGEMENT_FIELDS = tuple(architecture_fields("pre-norm", 1))  # the fields that an arrangement sets


def name_of(cfg: RunConfig) -> str:
    """A configuration in a few words, for a legend, without hidden fields."""
    arrangement = None if any_hidden(ARRANGEMENT_FIELDS) else arrangement_of(cfg)
    parts = {"residual": "residual" if cfg.residual else "no residual", "placement": cfg.placement, "norm": cfg.norm}
    words = [arrangement] if arrangement else [word for name, word in parts.items() if not is_hidden(name)]
    if not any_hidden(["depth", "width"]):
        words.append(f"{cfg.depth}x{cfg.width}")
    return ", ".join(words)


def names_of(nets: Sequence[RunConfig]) -> list[str]:
    """The short names of several configurations; equal names are followed by the fields that differ, unless hidden."""
    short_names = [name_of(cfg) for cfg in nets]
    names: list[str] = []
    for cfg, name in zip(nets, short_names, strict=True):
        namesakes = [other for other, other_name in zip(nets, short_names, strict=True) if other_name == name]
        fields = [field for field in differing_fields(namesakes) if not is_hidden(field)]
        names.append(", ".join(filter(None, (name, settings_text(cfg, fields)))))
    return names


def settings_text(cfg: RunConfig, fields: Iterable[str]) -> str:
    """Fields of a configuration in words: "depth 8, norm layer norm"."""
    return ", ".join(f"{knobs()[field][1].label.lower()} {display_value(getattr(cfg, field))}" for field in fields)


def guessing_loss(cfg: RunConfig) -> float:
    return loss_of_guessing(cfg.task)
