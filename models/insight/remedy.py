"""One change that helps a run that diverged."""

from dataclasses import dataclass

from models.spec import RunConfig


@dataclass(frozen=True)
class Remedy:
    """What to press, in words, and the fields that it sets."""

    label: str
    fields: dict[str, object]


def remedy(cfg: RunConfig) -> Remedy:
    """The likeliest single change after a divergence: bound the stream, then take smaller steps."""
    if cfg.norm == "none" and cfg.branch_scale == 1.0 and cfg.residual:
        return Remedy("Set layer norm, pre-norm", {"norm": "layer norm", "placement": "pre-norm"})
    if cfg.init_gain > 1:
        return Remedy("Set init gain 1", {"init_gain": 1.0})
    return Remedy(f"Set learning rate {cfg.lr / 10:.2g}", {"lr": max(cfg.lr / 10, 1e-6)})
