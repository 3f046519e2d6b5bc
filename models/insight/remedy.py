"""One change that helps a run that diverged."""

from dataclasses import dataclass
from typing import Any

from models.spec import NET_DEFAULTS, RunConfig, plan
from models.spec.plan import SublayerPlan
from models.spec.scales import GATES


@dataclass(frozen=True)
class Remedy:
    """What to press, in words, and the fields that it sets."""

    label: str
    fields: dict[str, Any]


def remedy(cfg: RunConfig) -> Remedy:
    """The likeliest single change after a divergence: bound the stream, then its growth, then take smaller steps."""
    sublayers = plan(cfg).sublayers
    lighter: dict[str, Any] = {"skip_scale": 1.0} if any(_doubling(part) for part in sublayers) else {}
    if cfg.residual and cfg.branch_scale not in GATES and all(_bare(part) for part in sublayers):
        also = ", skip weight 1" if lighter else ""
        return Remedy(f"Set layer norm, pre-norm{also}", {"norm": "layer norm", "placement": "pre-norm"} | lighter)
    if lighter:
        return Remedy("Set skip weight 1", lighter)
    if cfg.init_gain > 1:
        return Remedy("Set init gain 1", {"init_gain": 1.0})
    slower = min(cfg.lr / 10, float(str(NET_DEFAULTS[cfg.net]["lr"])))
    return Remedy(f"Set learning rate {slower:.2g}", {"lr": max(slower, 1e-6)})


def _bare(part: SublayerPlan) -> bool:
    """Whether nothing bounds what a branch adds, nor the sum."""
    return {part.norm_in, part.norm_mid, part.norm_out, part.norm_add} == {"none"}


def _doubling(part: SublayerPlan) -> bool:
    """Whether the skip makes the stream larger in every block and no norm takes it back."""
    return part.skip > 1 and part.norm_add == "none"
