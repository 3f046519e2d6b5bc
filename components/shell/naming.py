"""The short names of configurations, and the loss of guessing."""

from collections.abc import Iterable, Sequence

from components.shell.hide import any_hidden, hidden
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig, arrangement_of, knobs
from models.spec.arrangements import architecture_fields
from models.spec.overrides import value_in_words
from models.spec.pairings import differing

ARRANGED = tuple(architecture_fields("pre-norm", 1))  # the fields that an arrangement sets


def name_of(cfg: RunConfig) -> str:
    """A configuration in a few words, for a legend, without what a link hides."""
    arrangement = None if any_hidden(ARRANGED) else arrangement_of(cfg)
    parts = {"residual": "residual" if cfg.residual else "no residual", "placement": cfg.placement, "norm": cfg.norm}
    words = [arrangement] if arrangement else [word for name, word in parts.items() if not hidden(name)]
    size = [str(value) for name, value in (("depth", cfg.depth), ("width", cfg.width)) if not hidden(name)]
    return ", ".join([*words, "x".join(size)] if len(size) == 2 else words)


def names_of(nets: Sequence[RunConfig]) -> list[str]:
    """The short names of several configurations; equal ones also say what differs, without what a link hides."""
    names, differences = [name_of(cfg) for cfg in nets], []
    for cfg, name in zip(nets, names, strict=True):
        equal = [other for other, own in zip(nets, names, strict=True) if own == name]
        more = [field for field in differing(equal) if not hidden(field)]
        differences.append(", ".join(filter(None, (name, settings(cfg, more)))))
    return differences


def settings(cfg: RunConfig, fields: Iterable[str]) -> str:
    """Fields of a configuration in words: "depth 8, norm layer norm"."""
    return ", ".join(f"{knobs()[field][1].label.lower()} {value_in_words(getattr(cfg, field))}" for field in fields)


def chance(cfg: RunConfig) -> float:
    """The loss of guessing in a configuration's task."""
    return loss_of_guessing(cfg.task)
