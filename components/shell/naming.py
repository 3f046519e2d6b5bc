"""The short name of a configuration, and its loss of guessing."""

from components.shell.hide import any_hidden, hidden
from models.insight.baseline import loss_of_guessing
from models.spec import RunConfig, arrangement_of
from models.spec.arrangements import architecture_fields

ARRANGED = tuple(architecture_fields("pre-norm", 1))  # the fields that an arrangement sets


def name_of(cfg: RunConfig) -> str:
    """A configuration in a few words, for a legend, without what a link hides."""
    arrangement = None if any_hidden(ARRANGED) else arrangement_of(cfg)
    parts = {"residual": "skip" if cfg.residual else "no skip", "placement": cfg.placement, "norm": cfg.norm}
    words = [arrangement] if arrangement else [word for name, word in parts.items() if not hidden(name)]
    size = [str(value) for name, value in (("depth", cfg.depth), ("width", cfg.width)) if not hidden(name)]
    return ", ".join([*words, "x".join(size)] if len(size) == 2 else words)


def chance(cfg: RunConfig) -> float:
    """The loss of guessing in a configuration's task."""
    return loss_of_guessing(cfg.task)
